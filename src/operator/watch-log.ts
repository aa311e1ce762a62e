import { hash } from 'node:crypto';
import type { Json } from '../values/json.ts';

export type WatchLevel = 'error' | 'warning' | 'info' | 'debug';

/** What a program that reads the log wants to know beside the sentence. */
export type LogFields = Readonly<Record<string, Json>>;

export interface WatchLog {
  entry(level: WatchLevel, message: string, fields?: LogFields): void;
}

/** By topic, digests of what was said and still stands. */
export type SaidBefore = Readonly<Record<string, readonly string[]>>;

/** Characters of a digest: nothing that is said is so often. */
const KEPT = 12;

/** Remembers what was said, so that nothing is said again while it stays as it is. */
export class RepeatFilter {
  readonly #topics: Map<string, ReadonlySet<string>>;

  constructor(said: SaidBefore = {}) {
    this.#topics = new Map(Object.entries(said).map(([topic, keys]) => [topic, new Set(keys)]));
  }

  /** For another filter to go on with. */
  get said(): SaidBefore {
    return Object.fromEntries(
      [...this.#topics].flatMap(([topic, keys]) => (keys.size === 0 ? [] : [[topic, [...keys]]])),
    );
  }

  /** Those of a topic that were not there the last time, and how many are no longer there. */
  news(topic: string, keys: readonly string[]): { readonly added: readonly string[]; readonly gone: number } {
    const before = this.#topics.get(topic) ?? new Set<string>();
    const now = new Map(keys.map((key) => [hash('sha256', key, 'base64url').slice(0, KEPT), key]));
    this.#topics.set(topic, new Set(now.keys()));
    return {
      added: [...now].flatMap(([digest, key]) => (before.has(digest) ? [] : [key])),
      gone: [...before].filter((digest) => !now.has(digest)).length,
    };
  }
}
