import { createHash, randomBytes } from 'node:crypto';
import type { Person } from './person.ts';

/** Milliseconds: a session ends so long after its sign-in. */
export const SESSION_MILLISECONDS = 12 * 3_600_000;

const MOST_SESSIONS = 1000;
export const MOST_EACH = 20;

/** Where sessions are kept: by a digest of their id, so that whoever reads them can use none. */
export interface Sessions {
  /** @returns the id. */
  begin(person: Person): Promise<string>;
  person(id: string): Promise<Person | undefined>;
  end(id: string): Promise<void>;
  /** Makes form tokens of people whom a proxy names: a browser can be given any id by others. */
  formKey(): Promise<string>;
}

/** Sessions that end with the process, and the oldest of which go where there are many. */
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
