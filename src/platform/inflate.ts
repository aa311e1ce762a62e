import type { Readable } from 'node:stream';
import type { AttemptResult } from './exchange.ts';
import { isSuccess, REFUSAL_BYTES } from './exchange.ts';

type Answer = AttemptResult & { readonly type: 'answer' };

/** A server rarely nests encodings; a few are allowed, each within the same limit. */
const MOST_ENCODINGS = 3;

/**
 * An answer that was compressed, which a server may do unasked, with its body as it was before; any other as it is. undici's own
 * interceptor is experimental, says so on stderr, and stands before every request.
 *
 * @returns a failure where the body is damaged, breaks off, is larger than `maxBodyBytes` once inflated, or is compressed in a
 * way that nobody here knows. A refusal is known from its status: of its body what can be read is kept.
 */
export async function inflated(result: AttemptResult, maxBodyBytes: number): Promise<AttemptResult> {
  if (result.type !== 'answer' || result.body.length === 0) return result;
  const header = result.headers['content-encoding'];
  if (header === undefined) return result;
  const encodings = String(header)
    .toLowerCase()
    .split(',')
    .map((text) => text.trim());
  const isRefusal = !isSuccess(result.status);
  const most = isRefusal ? REFUSAL_BYTES : maxBodyBytes;
  let body = result.body;
  for (const encoding of encodings.filter((each) => each !== '' && each !== 'identity').reverse()) {
    const stream = encodings.length > MOST_ENCODINGS ? undefined : await decoderOf(encoding, body);
    if (stream === undefined) return isRefusal ? { ...result, body: EMPTY } : damaged(result, encoding);
    const { bytes, end } = await readUpTo(most, stream);
    if (end === 'too-large' && !isRefusal) return { ...failure(result), reason: 'too-large' };
    if (end === 'damaged' && !isRefusal) return damaged(result, encoding);
    body = bytes;
  }
  return { ...result, body };
}

const EMPTY = Buffer.alloc(0);
/** RFC 8878 asks of every decoder that it can do with a window of 8 MB; larger ones are for files. */
const ZSTD_WINDOW_LOG = 23;

/** Loads zlib, which runs that meet no compressed answer do without. */
async function decoderOf(encoding: string, body: Buffer): Promise<Readable | undefined> {
  const zlib = await import('node:zlib');
  const decoder = () => {
    switch (encoding) {
      case 'gzip':
      case 'x-gzip':
        return zlib.createGunzip();
      case 'deflate':
        // Some servers leave out the two bytes that zlib begins with.
        return ((body[0] ?? 0) & 0x0f) === 8 ? zlib.createInflate() : zlib.createInflateRaw();
      case 'br':
        return zlib.createBrotliDecompress();
      case 'zstd':
        return zlib.createZstdDecompress({
          params: { [zlib.constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG },
        });
      default:
        return undefined;
    }
  };
  const stream = decoder();
  stream?.end(body);
  return stream;
}

type End = 'whole' | 'too-large' | 'damaged';

/** What a stream gives, and no more than so many bytes of it, which a bomb is not inflated beyond. */
async function readUpTo(
  most: number,
  stream: Readable,
): Promise<{ readonly bytes: Buffer; readonly end: End }> {
  const chunks: Buffer[] = [];
  let size = 0;
  let end: End = 'whole';
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > most) {
        end = 'too-large';
        break;
      }
      chunks.push(chunk);
    }
  } catch {
    end = 'damaged';
  }
  return { bytes: Buffer.concat(chunks), end };
}

type FailedAttempt = AttemptResult & { readonly type: 'failure' };

function failure({ status }: Answer): Omit<FailedAttempt, 'reason'> {
  return { type: 'failure', sent: true, status, error: undefined };
}

function damaged(answer: Answer, encoding: string): FailedAttempt {
  const error = Object.assign(new Error(`content-encoding ${encoding}`), { code: DAMAGED });
  return { ...failure(answer), reason: 'network', error };
}

/** Code of the error of an answer that cannot be inflated. */
export const DAMAGED = 'DAMAGED_ENCODING';
