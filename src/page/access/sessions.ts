import { createHash, randomBytes } from 'node:crypto';
import type { Person } from './person.ts';

/** Milliseconds after which a session ends. */
export const SESSION_MILLISECONDS = 12 * 3_600_000;

const MAX_SESSIONS = 1000;
export const MAX_SESSIONS_PER_PERSON = 20;

/** Stores sessions under a digest of their id, so that somebody who reads the store cannot use them. */
export interface Sessions {
  /** Begins a session. @returns its id. */
  begin(person: Person): Promise<string>;
  person(id: string): Promise<Person | undefined>;
  end(id: string): Promise<void>;
  /** Returns the key of form tokens for people named by a proxy. For them, another site could set the cookie and so choose the session id. */
  formKey(): Promise<string>;
}

/** Creates a session store in memory, which removes the oldest sessions above its limits. */
export function sessionsInMemory(now: () => Date): Sessions {
  const sessions = new Map<string, { readonly person: Person; readonly until: number }>();
  const formKey = newSessionId();
  const isExpired = ({ until }: { readonly until: number }) => until <= now().getTime();
  return {
    async begin(person) {
      const id = newSessionId();
      for (const [key, each] of sessions) if (isExpired(each)) sessions.delete(key);
      const own = [...sessions].filter(([, each]) => each.person.name === person.name);
      const [oldest] = own.length >= MAX_SESSIONS_PER_PERSON ? own : sessions.size >= MAX_SESSIONS ? [...sessions] : [];
      if (oldest !== undefined) sessions.delete(oldest[0]);
      sessions.set(digestOfId(id), { person, until: now().getTime() + SESSION_MILLISECONDS });
      return id;
    },
    async person(id) {
      const session = sessions.get(digestOfId(id));
      return session === undefined || isExpired(session) ? undefined : session.person;
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
