import { hash } from 'node:crypto';
import type { Json } from '../values/json.ts';

export type WatchLevel = 'error' | 'warning' | 'info' | 'debug';

/** Details for programs that read the log. */
export type LogFields = Readonly<Record<string, Json>>;

export interface WatchLog {
  entry(level: WatchLevel, message: string, fields?: LogFields): void;
}

/** By topic: digests of reported conditions that still hold. */
export type ReportedConditions = Readonly<Record<string, readonly string[]>>;

/** The length of a digest. There are few conditions at a time. */
const KEPT = 12;

/** Filters repeated messages: each condition is reported once while it holds. */
export class RepeatFilter {
  readonly #topics: Map<string, ReadonlySet<string>>;

  constructor(reported: ReportedConditions = {}) {
    this.#topics = new Map(Object.entries(reported).map(([topic, keys]) => [topic, new Set(keys)]));
  }

  /** The initial contents of another filter. */
  get conditions(): ReportedConditions {
    return Object.fromEntries(
      [...this.#topics].flatMap(([topic, keys]) => (keys.size === 0 ? [] : [[topic, [...keys]]])),
    );
  }

  /** New conditions of a topic, and the number of ended ones. */
  changes(topic: string, keys: readonly string[]): { readonly added: readonly string[]; readonly ended: number } {
    const before = this.#topics.get(topic) ?? new Set<string>();
    const now = new Map(keys.map((key) => [hash('sha256', key, 'base64url').slice(0, KEPT), key]));
    this.#topics.set(topic, new Set(now.keys()));
    return {
      added: [...now].flatMap(([digest, key]) => (before.has(digest) ? [] : [key])),
      ended: [...before].filter((digest) => !now.has(digest)).length,
    };
  }
}
