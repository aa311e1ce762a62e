import { isSame } from '../../operator/health/admission.ts';
import type { Person } from './person.ts';

/** Tells who somebody is by a token. */
export interface Tokens {
  /** Why nobody can sign in; undefined where somebody can. */
  readonly missing: string | undefined;
  /** A sentence: where one comes from. */
  readonly origin: string;
  person(token: string): Promise<Person | undefined>;
}

/** One token from the environment, whose owner may do everything. */
export function oneToken(token: string | undefined, variable: string): Tokens {
  return {
    missing: token === undefined ? `To sign in and start runs here, set ${variable}.` : undefined,
    origin: `The token is the value of ${variable}.`,
    person: async (given) =>
      token !== undefined && isSame(given, token) ? { name: 'admin', role: 'admin' } : undefined,
  };
}
