import { hash } from 'node:crypto';
import type { Json } from '../values/json.ts';

export type WatchLevel = 'error' | 'warning' | 'info' | 'debug';

/** Structured fields for programs that read the log. */
export type LogFields = Readonly<Record<string, Json>>;

export interface WatchLog {
  entry(level: WatchLevel, message: string, fields?: LogFields): void;
}

/** Digests of reported conditions that still hold, by topic. */
export type ReportedConditions = Readonly<Record<string, readonly string[]>>;

/** The length of a digest. It can be short, because there are few conditions at a time. */
const DIGEST_LENGTH = 12;

/** Filters repeated messages, so that each condition is reported once while it holds. */
export class RepeatFilter {
  readonly #topics: Map<string, ReadonlySet<string>>;

  constructor(reported: ReportedConditions = {}) {
    this.#topics = new Map(Object.entries(reported).map(([topic, keys]) => [topic, new Set(keys)]));
  }

  /** The reported conditions that still hold. An equal filter can be created from them. */
  get conditions(): ReportedConditions {
    return Object.fromEntries(
      [...this.#topics].flatMap(([topic, keys]) => (keys.size === 0 ? [] : [[topic, [...keys]]])),
    );
  }

  /** Replaces the conditions of a topic. Returns the new ones, and the number of ended ones. */
  update(topic: string, keys: readonly string[]): { readonly added: readonly string[]; readonly ended: number } {
    const before = this.#topics.get(topic) ?? new Set<string>();
    const now = new Map(keys.map((key) => [hash('sha256', key, 'base64url').slice(0, DIGEST_LENGTH), key]));
    this.#topics.set(topic, new Set(now.keys()));
    return {
      added: [...now].flatMap(([digest, key]) => (before.has(digest) ? [] : [key])),
      ended: [...before].filter((digest) => !now.has(digest)).length,
    };
  }
}
