import type { IncomingHttpHeaders } from 'node:http';

/** What came of sending a request once. */
export type AttemptResult =
  | {
      readonly type: 'answer';
      readonly status: number;
      readonly headers: IncomingHttpHeaders;
      /** Cut short where it is a refusal's and too long, or broke off. */
      readonly body: Buffer;
    }
  | {
      readonly type: 'failure';
      readonly reason: 'network' | 'timeout' | 'aborted' | 'too-large';
      /** False where certainly no byte of it was written to a connection. */
      readonly sent: boolean;
      /** Of an answer that began. */
      readonly status: number | undefined;
      readonly error: Error | undefined;
    };
