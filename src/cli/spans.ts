import type { RequestEvent } from '../platform/transport-options.ts';
import type { Json } from '../values/json.ts';

export type SpanFacts = Readonly<Record<string, Json>>;

/** Spans of runs and of their requests. One run at a time. */
export interface Tracing {
  begin(name: string): void;
  request(event: RequestEvent): void;
  /** `error` says why the run failed, and is absent where it did not. */
  end(facts: SpanFacts, error?: string): void;
  /** Sends what is left; never rejects, and takes no longer than a moment. */
  close(): Promise<void>;
}
