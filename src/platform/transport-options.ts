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
  /** Requests at once, each on its own connection. */
  readonly concurrency: Concurrency;
  /** With other clients; not shared where absent. */
  readonly shared?: JointLimit | undefined;
  readonly requestsPerSecond: number | null;
  /** For one attempt, from connecting to the last byte of the response. */
  readonly timeoutSeconds: number;
  /** Longest pause that the platform may ask for; 300 by default. */
  readonly maxWaitSeconds?: number | undefined;
  /** Largest response; 64 MiB by default. */
  readonly maxBodyBytes?: number | undefined;
  /** Stops everything, requests in flight included. */
  readonly signal?: AbortSignal | undefined;
  /** Removes secrets from texts of the platform. The API key is always removed. */
  readonly redact?: ((text: string) => string) | undefined;
  /** Called after every attempt. */
  readonly onRequest?: ((event: RequestEvent) => void) | undefined;
  /** Called with one line when a pause of more than a minute begins. */
  readonly onNotice?: ((text: string) => void) | undefined;
  /** From 0 to 1: how pauses are spread. */
  readonly random?: (() => number) | undefined;
  /** Milliseconds since 1970. */
  readonly now?: (() => number) | undefined;
  readonly wait?: Wait | undefined;
}

export interface RequestEvent {
  readonly method: Method;
  /** With its query, without the path of the base URL. */
  readonly path: string;
  readonly status?: number | undefined;
  /** From 1. */
  readonly attempt: number;
  readonly milliseconds: number;
  /** Why the response is incomplete: a reason of `PlatformError`. */
  readonly error?: string | undefined;
}
