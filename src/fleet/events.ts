import { createHmac } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isSame } from '../operator/health/admission.ts';
import { UserError } from '../problems/user-error.ts';
import type { FleetDatabase } from './database/fleet-database.ts';
import type { FleetFile } from './fleet-file.ts';
import { requestFetch } from './rows/member-rows.ts';

/** The minimum length of a webhook secret. Attempts are not limited, because an attacker behind a proxy could block the code host. */
const MIN_SECRET_LENGTH = 16;

/**
 * Receives the events that GitHub and GitLab send to `POST /hooks/SOURCE`. An event only makes the fleet fetch the source; its content is
 * not used, so a repeated event does no harm.
 * @returns a function that returns false for an event without a valid signature; undefined if no source has a `webhook`.
 * @throws UserError if a secret is not set or too short.
 */
export function eventReceiver(
  { sources }: FleetFile,
  database: FleetDatabase,
): ((source: string, request: IncomingMessage) => Promise<boolean>) | undefined {
  const secrets = new Map<string, string>();
  for (const source of sources) {
    if (!('git' in source) || source.webhook === undefined) continue;
    const { name, webhook } = source;
    const secret = webhook.isSet ? webhook.reveal() : '';
    if (secret.length < MIN_SECRET_LENGTH) {
      const problem = secret === '' ? 'is not set' : `has fewer than ${MIN_SECRET_LENGTH} characters`;
      throw new UserError(`the webhook secret of the source ${name}, ${webhook.name}, ${problem}`, {
        hint: 'Generate a secret, for example with "openssl rand -hex 32", and set the same secret in the webhook of the code host.',
      });
    }
    secrets.set(name, secret);
  }
  if (secrets.size === 0) return undefined;
  return async (source, request) => {
    const secret = secrets.get(source);
    if (secret === undefined || !(await isSigned(request, secret))) return false;
    await requestFetch(database, source);
    return true;
  };
}

/** Verifies a request: GitHub signs the body, GitLab sends the secret itself. The body is only hashed, not kept in memory. */
async function isSigned(request: IncomingMessage, secret: string): Promise<boolean> {
  const { 'x-gitlab-token': token, 'x-hub-signature-256': signature } = request.headers;
  if (typeof token === 'string') return isSame(token, secret);
  if (typeof signature !== 'string') return false;
  const hmac = createHmac('sha256', secret);
  for await (const chunk of request) hmac.update(chunk as Buffer);
  return isSame(signature, `sha256=${hmac.digest('hex')}`);
}
