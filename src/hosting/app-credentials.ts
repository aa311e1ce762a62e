import { createPrivateKey } from 'node:crypto';
import { z } from 'zod';
import { asDisposable } from '../problems/as-disposable.ts';
import { attempt } from '../problems/attempt.ts';
import { UserError } from '../problems/user-error.ts';
import { lazyObject } from '../values/described.ts';
import { shareRun } from '../values/lazy.ts';
import { Secret } from '../values/value.ts';
import { HostClient, type HostClientOptions, type HostCredentials, HostProblem } from './host-client.ts';

export interface GithubApp {
  readonly id: number;
  /** The contents of the PEM file from the app's settings. */
  readonly privateKey: Secret;
}

export interface CredentialContext extends Omit<HostClientOptions, 'credentials' | 'rights'> {
  readonly repository: string;
  /** Returns the hint of the error for a secret that is not set. */
  howToSet(name: string): string;
  /** Called with each token before its first use, so that output redacts the token. */
  addSecret(text: string): void;
}

interface InstallationToken {
  readonly secret: Secret;
  readonly expiresAt: number;
}

/** A token is renewed this many milliseconds before it expires. GitHub's tokens are valid for one hour. */
const RENEW_BEFORE_EXPIRY_MS = 5 * 60_000;

/** Returns credentials that use the tokens of a GitHub App's installation in the repository. @throws UserError for an invalid key. */
export function appCredentials(app: GithubApp, context: CredentialContext): HostCredentials {
  const { id, privateKey } = app;
  const shown = `the GitHub App ${id}`;
  // Environment variables often contain line breaks as the two characters "\n".
  const key = privateKey.reveal().replaceAll('\\n', '\n');
  if (attempt(() => createPrivateKey(key)) === undefined) {
    throw new UserError(`the private key ${privateKey.name} is not a key in PEM format`, {
      hint: `Generate a private key in the settings of the GitHub App, and store the whole file as ${privateKey.name}.`,
    });
  }
  let current: InstallationToken | undefined;
  const newToken = shareRun(() => issueToken({ id, key, name: shown }, context));

  return {
    shown,
    app: id,
    async token() {
      if (current !== undefined && current.expiresAt - Date.now() > RENEW_BEFORE_EXPIRY_MS) return current.secret;
      current = await newToken();
      return current.secret;
    },
    renew(rejected) {
      // Another request may already have renewed the token.
      if (current?.secret === rejected) current = undefined;
      return true;
    },
  };
}

async function issueToken(
  { id, key, name }: { readonly id: number; readonly key: string; readonly name: string },
  context: CredentialContext,
): Promise<InstallationToken> {
  const [{ createAppAuth }, { request }] = await Promise.all([import('@octokit/auth-app'), import('@octokit/request')]);
  const { api, repository, addSecret } = context;
  const auth = createAppAuth({
    appId: id,
    privateKey: key,
    request: request.defaults({ baseUrl: api, request: { fetch: throughClient } }),
  });
  const client = new HostClient({
    ...context,
    rights: 'an installation in the repository',
    credentials: {
      shown: name,
      app: id,
      async token() {
        const { token } = await auth({ type: 'app' });
        addSecret(token);
        return new Secret(name, token);
      },
    },
  });
  await using _ = asDisposable(client);

  /** Sends a request of Octokit through the client, which adds the proxy, certificates, retries and error messages. */
  async function throughClient(url: string, { method = 'GET', body }: { method?: string; body?: string }) {
    if (!url.startsWith(`${api}/`) || method !== 'POST') throw new Error(`unexpected request: ${method} ${url}`);
    return Response.json(await client.request('POST', url.slice(api.length), z.unknown(), body && JSON.parse(body)));
  }

  const { id: installationId } = await client.request('GET', `/repos/${repository}/installation`, installationForm());
  const { token, expiresAt } = await auth({ type: 'installation', installationId }).catch((error: unknown) => {
    const problem = error instanceof Error && error.cause instanceof HostProblem ? error.cause : error;
    // A retry is safe: if the response was lost, the issued token expires unused.
    if (problem instanceof HostProblem && problem.failure.reason === 'unclear')
      throw new HostProblem(problem.message, { reason: 'unreachable' });
    throw problem;
  });
  addSecret(token);
  return { secret: new Secret(name, token), expiresAt: Date.parse(expiresAt) };
}

const installationForm = lazyObject(() => ({ id: z.number() }));
