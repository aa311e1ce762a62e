import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import type { AttemptResult } from './attempt-result.ts';
import type { WritePermission } from './client.ts';

interface ExchangeLimits {
  /** For everything: connecting, sending, the answer's headers and its body. */
  readonly timeoutMilliseconds: number;
  readonly maxBodyBytes: number;
  /** Of a write that needs one. */
  readonly permission?: Pick<WritePermission, 'mayWrite'> | undefined;
}

/** No more is read of an answer that is not a success. */
export const REFUSAL_BYTES = 64 * 1024;

/**
 * One request on its way. It hears from undici directly, because `onRequestStart` is the one moment that tells a request
 * that may have reached the platform from one that cannot have: it comes right before the first byte is written.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly result: Promise<AttemptResult>;
  readonly #maxBodyBytes: number;
  readonly #permission: ExchangeLimits['permission'];
  readonly #timer: NodeJS.Timeout;
  readonly #resolve: (result: AttemptResult) => void;
  readonly #chunks: Buffer[] = [];
  #controller: Dispatcher.DispatchController | undefined;
  #settled = false;
  #sent = false;
  /** From the first byte written, which is after connecting, to the end of the answer. */
  milliseconds = 0;
  #startedAt = performance.now();
  #status: number | undefined;
  #headers: IncomingHttpHeaders = {};
  #size = 0;

  constructor(limits: ExchangeLimits) {
    const { promise, resolve } = Promise.withResolvers<AttemptResult>();
    this.result = promise;
    this.#resolve = resolve;
    this.#maxBodyBytes = limits.maxBodyBytes;
    this.#permission = limits.permission;
    // After a pause of the whole process its timers come before its sockets, which may have the answer.
    const expire = (): unknown => setImmediate(() => this.#fail('timeout', undefined));
    this.#timer = setTimeout(expire, limits.timeoutMilliseconds);
  }

  abort(): void {
    this.#fail('aborted', undefined);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // Given up or forbidden while it waited for a connection, or about to be written a second time: what we know would no longer hold.
    if (this.#settled || this.#sent || this.#permission?.mayWrite === false) {
      controller.abort(new Error('given up'));
      this.#fail('network', undefined);
      return;
    }
    this.#controller = controller;
    this.#sent = true;
    this.#startedAt = performance.now();
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    this.#sent = true;
    if (status < 200) return;
    this.#status = status;
    this.#headers = headers;
    if (isSuccess(status) && Number(headers['content-length']) > this.#maxBodyBytes) {
      this.#fail('too-large', undefined);
    }
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#settled || this.#status === undefined) return;
    this.#size += chunk.length;
    if (isSuccess(this.#status)) {
      if (this.#size > this.#maxBodyBytes) this.#fail('too-large', undefined);
      else this.#chunks.push(chunk);
      return;
    }
    this.#chunks.push(chunk);
    if (this.#size > REFUSAL_BYTES) {
      this.#answer(this.#status);
      this.#controller?.abort(new Error('read enough'));
    }
  }

  onResponseEnd(): void {
    if (this.#status !== undefined) this.#answer(this.#status);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    // A refusal is known from its status: a body that breaks off takes nothing from it.
    if (this.#status !== undefined && !isSuccess(this.#status)) this.#answer(this.#status);
    else this.#fail('network', error);
  }

  #answer(status: number): void {
    if (this.#settled) return;
    const [first] = this.#chunks;
    const body = first !== undefined && this.#chunks.length === 1 ? first : Buffer.concat(this.#chunks);
    this.#settle({ type: 'answer', status, headers: this.#headers, body });
  }

  #fail(reason: 'network' | 'timeout' | 'aborted' | 'too-large', error: Error | undefined): void {
    if (this.#settled) return;
    this.#settle({ type: 'failure', reason, sent: this.#sent, status: this.#status, error });
    this.#controller?.abort(new Error(reason));
  }

  #settle(result: AttemptResult): void {
    this.#settled = true;
    this.milliseconds = performance.now() - this.#startedAt;
    clearTimeout(this.#timer);
    this.#resolve(result);
  }
}

export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}
