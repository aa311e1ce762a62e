import { UserError } from '../problems/user-error.ts';
import type { Secret } from '../values/value.ts';

/** Access to a host, for its API and for git over HTTPS. */
export interface HostCredentials {
  /** The name of the secret, for messages. */
  readonly name: string;
  /** The id of the GitHub App that the host shows as the author; undefined for a user. */
  readonly app?: number | undefined;
  /** A valid token. @throws HostProblem */
  token(): Promise<Secret>;
  /** Forgets a token that the host rejected. Returns true if `token` can now return another one. */
  renew?(rejected: Secret): boolean;
}

/**
 * A personal, project or group token, which never changes.
 * @param howToSet the hint for a token that is not set.
 * @throws UserError for an invalid token.
 */
export function tokenCredentials(token: Secret, howToSet: string): HostCredentials {
  const { name } = token;
  if (!token.isSet) throw new UserError(`the token ${name} is not set`, { hint: howToSet });
  if (!/^[\x21-\x7e]+$/.test(token.reveal()))
    throw new UserError(`the token ${name} contains spaces, line breaks or invalid characters`);
  return { name, token: async () => token };
}
