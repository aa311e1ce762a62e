import { isSame } from '../../operator/health/admission.ts';
import type { Person } from './person.ts';

/** Identifies people by token. */
export interface Tokens {
  /** The reason why sign-in is impossible, if it is. */
  readonly missing: string | undefined;
  /** A sentence about where to get a token. */
  readonly origin: string;
  person(token: string): Promise<Person | undefined>;
  /** The owner of a random token that `person` found before, without a slow check; absent if tokens can be guessed. */
  known?(token: string): Promise<Person | undefined>;
}

/** A single token from the environment, whose owner has full access. */
export function oneToken(token: string | undefined, variable: string): Tokens {
  return {
    missing: token === undefined ? `To sign in and start runs here, set ${variable}.` : undefined,
    origin: `The token is the value of ${variable}.`,
    person: async (given) =>
      token !== undefined && isSame(given, token) ? { name: 'admin', role: 'admin' } : undefined,
  };
}
