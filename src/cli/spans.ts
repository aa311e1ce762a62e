import type { RequestEvent } from '../platform/transport-options.ts';
import type { Json } from '../values/json.ts';

export type SpanFacts = Readonly<Record<string, Json>>;

/** Spans of runs and their requests. One run at a time. */
export interface Tracing {
  begin(name: string): void;
  request(event: RequestEvent): void;
  /** `error` is why the run failed, if it did. */
  end(facts: SpanFacts, error?: string): void;
  /** Sends remaining spans. Never rejects, and takes only a moment. */
  close(): Promise<void>;
}
