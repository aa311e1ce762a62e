import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import type { ResponseBudget } from './response-budget.ts';

export type AttemptResult =
  | {
      readonly type: 'response';
      readonly status: number;
      readonly headers: IncomingHttpHeaders;
      /** The body. For an error response, it may be truncated. */
      readonly body: Buffer;
    }
  | {
      readonly type: 'failure';
      readonly reason: 'network' | 'timeout' | 'aborted' | 'too-large';
      /** False only if no byte was written to a connection. */
      readonly sent: boolean;
      /** The status, if a response began. */
      readonly status: number | undefined;
      readonly error: Error | undefined;
    };

interface ExchangeLimits {
  /** The maximum time from connecting to the last byte of the response. */
  readonly timeoutMilliseconds: number;
  readonly maxBodyBytes: number;
  /** The permission that a write requires. */
  readonly permission?: { readonly mayWrite: boolean } | undefined;
  readonly budget?: ResponseBudget | undefined;
}

/** The maximum number of bytes of an error response that are read. */
export const MAX_ERROR_BYTES = 64 * 1024;

/**
 * One request in flight. It handles undici's events directly, because only `onRequestStart`, which is called right before the first byte is
 * written, shows whether a request may have reached the platform.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly result: Promise<AttemptResult>;
  readonly #maxBodyBytes: number;
  readonly #permission: ExchangeLimits['permission'];
  readonly #budget: ResponseBudget | undefined;
  readonly #timer: NodeJS.Timeout;
  readonly #resolve: (result: AttemptResult) => void;
  readonly #chunks: Buffer[] = [];
  #controller: Dispatcher.DispatchController | undefined;
  #settled = false;
  #sent = false;
  /** The time from the first byte written, after connecting, to the end of the response. */
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
    this.#budget = limits.budget;
    // After a suspended process resumes, timers fire before sockets. Wait for sockets that already have the response.
    const expire = (): unknown => setImmediate(() => this.#fail('timeout', undefined));
    this.#timer = setTimeout(expire, limits.timeoutMilliseconds);
  }

  abort(): void {
    this.#fail('aborted', undefined);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // The request was stopped while it waited for a connection, its permission has expired, or undici would write it a second time,
    // which would make `sent` wrong.
    if (this.#settled || this.#sent || this.#permission?.mayWrite === false) {
      controller.abort(new Error('given up'));
      this.#fail('network', undefined);
      return;
    }
    this.#controller = controller;
    this.#sent = true;
    this.#startedAt = performance.now();
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
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
      this.#budget?.addBytes(chunk.length);
      if (this.#size > this.#maxBodyBytes || (this.#budget?.remaining ?? 0) < 0) this.#fail('too-large', undefined);
      else this.#chunks.push(chunk);
      return;
    }
    this.#chunks.push(chunk);
    if (this.#size > MAX_ERROR_BYTES) {
      this.#settleResponse(this.#status);
      this.#controller?.abort(new Error('read enough'));
    }
  }

  onResponseEnd(): void {
    if (this.#status !== undefined) this.#settleResponse(this.#status);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    // The status of an error response is sufficient, even if its body is incomplete.
    if (this.#status !== undefined && !isSuccess(this.#status)) this.#settleResponse(this.#status);
    else this.#fail('network', error);
  }

  #settleResponse(status: number): void {
    if (this.#settled) return;
    const [first] = this.#chunks;
    const body = first !== undefined && this.#chunks.length === 1 ? first : Buffer.concat(this.#chunks);
    this.#settle({ type: 'response', status, headers: this.#headers, body });
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
