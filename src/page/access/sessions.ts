import { createHash, randomBytes } from 'node:crypto';
import type { Person } from './person.ts';

/** Milliseconds after which a session ends. */
export const SESSION_MILLISECONDS = 12 * 3_600_000;

const MOST_SESSIONS = 1000;
export const MOST_EACH = 20;

/** Stores sessions by a digest of their id, so that readers of the store cannot use them. */
export interface Sessions {
  /** @returns the id. */
  begin(person: Person): Promise<string>;
  person(id: string): Promise<Person | undefined>;
  end(id: string): Promise<void>;
  /** Makes form tokens for people named by a proxy: others could set any id in their browsers. */
  formKey(): Promise<string>;
}

/** Sessions in memory. The oldest ones are removed if there are many. */
export function sessionsInMemory(now: () => Date): Sessions {
  const sessions = new Map<string, { readonly person: Person; readonly until: number }>();
  const formKey = newSessionId();
  const isOver = ({ until }: { readonly until: number }) => until <= now().getTime();
  return {
    async begin(person) {
      const id = newSessionId();
      for (const [key, each] of sessions) if (isOver(each)) sessions.delete(key);
      const own = [...sessions].filter(([, each]) => each.person.name === person.name);
      const [oldest] = own.length >= MOST_EACH ? own : sessions.size >= MOST_SESSIONS ? [...sessions] : [];
      if (oldest !== undefined) sessions.delete(oldest[0]);
      sessions.set(digestOfId(id), { person, until: now().getTime() + SESSION_MILLISECONDS });
      return id;
    },
    async person(id) {
      const found = sessions.get(digestOfId(id));
      return found === undefined || isOver(found) ? undefined : found.person;
    },
    async end(id) {
      sessions.delete(digestOfId(id));
    },
    formKey: async () => formKey,
  };
}

export function newSessionId(): string {
  return randomBytes(32).toString('base64url');
}

export function digestOfId(id: string): string {
  return createHash('sha256').update(id).digest('base64url');
}
