import { once } from 'node:events';
import { createServer } from 'node:http';
import Provider from 'oidc-provider';

interface RealProvider extends AsyncDisposable {
  readonly url: string;
  close(): Promise<void>;
}

/** The groups of each user of a provider, by sign-in name. */
type People = Readonly<Record<string, readonly string[]>>;

/** Starts `oidc-provider` with its own pages, one client for a page at this address, and any password. */
export async function startRealProvider(
  { port, address, people }: { readonly port: number; readonly address: string; readonly people: People },
  clientSecret: string,
): Promise<RealProvider> {
  const url = `http://127.0.0.1:${port}`;
  const provider = new Provider(url, {
    clients: [
      {
        client_id: 'voxform',
        client_secret: clientSecret,
        redirect_uris: [`${address}/sign-in/callback`],
        post_logout_redirect_uris: [`${address}/`],
      },
    ],
    claims: { email: ['email'], groups: ['groups'] },
    ttl: { AccessToken: 600, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
    cookies: { keys: ['key of the test'] },
    pkce: { required: () => true },
    findAccount: (_: unknown, accountId: string) => ({
      accountId,
      claims: () => ({ sub: accountId, email: `${accountId}@example.com`, groups: people[accountId] }),
    }),
  });
  const server = createServer(provider.callback());
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const close = async () => {
    if (!server.listening) return;
    const closed = server[Symbol.asyncDispose]();
    server.closeAllConnections();
    await closed;
  };
  return { url, close, [Symbol.asyncDispose]: close };
}
