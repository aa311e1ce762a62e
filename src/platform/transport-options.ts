import type { Secret } from '../values/value.ts';
import type { Concurrency } from './concurrency-limit.ts';
import type { JointLimit } from './joint-limit.ts';
import type { ProxySettings } from './proxy.ts';
import type { Method } from './retry.ts';
import type { Wait } from './throttle.ts';

export interface TransportOptions {
  /** http or https; may have a path. */
  readonly baseUrl: string;
  readonly apiKey: Secret;
  readonly proxy?: ProxySettings | undefined;
  /** PEM certificates that are trusted besides Node's own. */
  readonly ca?: string | undefined;
  /** The number of concurrent requests, each on its own connection. */
  readonly concurrency: Concurrency;
  /** The limit shared with other clients, if any. */
  readonly shared?: JointLimit | undefined;
  readonly requestsPerSecond: number | null;
  /** The timeout of one attempt, from connecting to the last byte of the response. */
  readonly timeoutSeconds: number;
  /** The longest pause that the platform may ask for; 300 by default. */
  readonly maxWaitSeconds?: number | undefined;
  /** The maximum size of a response; 64 MiB by default. */
  readonly maxBodyBytes?: number | undefined;
  /** Aborts everything, including requests in flight. */
  readonly signal?: AbortSignal | undefined;
  /** Redacts texts of the platform. The API key is always redacted. */
  readonly redact?: ((text: string) => string) | undefined;
  /** Called after every attempt. */
  readonly onRequest?: ((event: RequestEvent) => void) | undefined;
  /** Called with one line when a pause of more than a minute begins. */
  readonly onNotice?: ((text: string) => void) | undefined;
  /** Between 0 and 1: the spread of pauses. */
  readonly random?: (() => number) | undefined;
  /** Milliseconds since 1970. */
  readonly now?: (() => number) | undefined;
  readonly wait?: Wait | undefined;
}

export interface RequestEvent {
  readonly method: Method;
  /** Path and query, without the path of the base URL. */
  readonly path: string;
  readonly status?: number | undefined;
  /** Starts at 1. */
  readonly attempt: number;
  readonly milliseconds: number;
  /** Why the response is incomplete: a reason of `PlatformError`. */
  readonly error?: string | undefined;
}
