import type { Readable } from 'node:stream';
import {
  AbstractMessageReader,
  type DataCallback,
  type Disposable,
  type Message,
} from 'vscode-languageserver-protocol/node';
import { isObject } from '../values/json.ts';

const END_OF_HEADERS = '\r\n\r\n';
/** Matches complete header lines, followed by the start of another line. */
const HEADERS = /^([\w-]+:[^\r\n]*\r\n)*[^\n]*$/;
const LENGTH = /^content-length: *(\d+) *\r?$/im;
/** Matches the start of a message. JSON cannot contain it, because line breaks in JSON strings are escaped. */
const NEXT_MESSAGE = /content-length: *\d+ *\r\n/i;
const MAX_START_LENGTH = 64;

/**
 * Reads the messages of an editor. After a message with a wrong length, the start of the next one is unknown, so reading stops at the
 * first error. The library's reader would wait for bytes that never arrive.
 */
export class MessageReader extends AbstractMessageReader {
  readonly #input: Readable;
  #rest: Buffer = Buffer.alloc(0);
  /** The number of bytes of `#rest` that were searched for the start of another message. */
  #searched = 0;

  constructor(input: Readable) {
    super();
    this.#input = input;
  }

  listen(callback: DataCallback): Disposable {
    const onData = (chunk: Buffer): void => {
      this.#rest = Buffer.concat([this.#rest, chunk]);
      try {
        for (let message = this.#next(); message !== undefined; message = this.#next())
          if (!isInvalidCancellation(message)) callback(message);
      } catch (error) {
        this.#input.off('data', onData);
        this.fireError(error);
      }
    };
    this.#input.on('data', onData).once('close', () => this.fireClose());
    return { dispose: () => this.#input.off('data', onData) };
  }

  #next(): Message | undefined {
    const rest = this.#rest;
    const end = rest.indexOf(END_OF_HEADERS);
    const headers = rest.toString('latin1', 0, end === -1 ? rest.length : end);
    if (!HEADERS.test(headers)) throw new Error('the editor sent an invalid message');
    if (end === -1) return undefined;
    const length = LENGTH.exec(headers)?.[1];
    if (length === undefined) throw new Error('the editor sent a message without a Content-Length');
    const begin = end + END_OF_HEADERS.length;
    const after = begin + Number(length);
    if (rest.length < after) {
      const unsearched = rest.toString('latin1', Math.max(begin, this.#searched - MAX_START_LENGTH));
      this.#searched = rest.length;
      if (!NEXT_MESSAGE.test(unsearched)) return undefined;
      throw new Error(`the editor sent a message that is shorter than its Content-Length, ${length}`);
    }
    this.#rest = rest.subarray(after);
    this.#searched = 0;
    try {
      return JSON.parse(rest.toString('utf8', begin, after)) as Message;
    } catch (cause) {
      throw new Error(`the editor sent a message of ${length} bytes that is not JSON`, { cause });
    }
  }
}

/** Returns true for a cancellation without an id. The library throws at it, as if the stream were broken. */
function isInvalidCancellation(message: unknown): boolean {
  if (!isObject(message) || message.method !== '$/cancelRequest') return false;
  return !isObject(message.params) || !['string', 'number'].includes(typeof message.params.id);
}
