import { UserError } from '../problems/user-error.ts';
import type { Secret } from '../values/value.ts';
import { appCredentials, type CredentialContext, type GithubApp } from './app-credentials.ts';
import type { HostCredentials } from './host-client.ts';

export type CredentialForm = { readonly token: Secret } | { readonly app: GithubApp };

/**
 * Returns the credentials for a personal, project or group token, or for a GitHub App.
 * @throws UserError if the secret is not set or invalid.
 */
export function hostCredentials(form: CredentialForm, context: CredentialContext): HostCredentials {
  const secret = 'token' in form ? form.token : form.app.privateKey;
  const shown = 'token' in form ? `the token ${secret.name}` : `the private key ${secret.name}`;
  if (!secret.isSet) throw new UserError(`${shown} is not set`, { hint: context.howToSet(secret.name) });
  context.addSecret(secret.reveal());
  if ('app' in form) return appCredentials(form.app, context);
  if (!/^[\x21-\x7e]+$/.test(secret.reveal()))
    throw new UserError(`${shown} contains spaces, line breaks or invalid characters`);
  return { shown, token: async () => secret };
}
