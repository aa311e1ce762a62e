import type { Json } from '../values/json.ts';

export type WatchLevel = 'error' | 'warning' | 'info' | 'debug';

/** What a program that reads the log wants to know beside the sentence. */
export type LogFields = Readonly<Record<string, Json>>;

/** Where a watch logs what happens. */
export interface WatchLog {
  entry(level: WatchLevel, message: string, fields?: LogFields): void;
}

/** Remembers what was said, so that nothing is said again while it stays as it is. */
export class RepeatFilter {
  readonly #topics = new Map<string, ReadonlySet<string>>();

  /** Those of a topic that were not there the last time, and how many are no longer there. */
  news(
    topic: string,
    keys: readonly string[],
  ): { readonly added: readonly string[]; readonly gone: readonly string[] } {
    const before = this.#topics.get(topic) ?? new Set<string>();
    const now = new Set(keys);
    this.#topics.set(topic, now);
    return {
      added: [...now].filter((key) => !before.has(key)),
      gone: [...before].filter((key) => !now.has(key)),
    };
  }
}
