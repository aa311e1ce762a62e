import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type CryptoKey, exportJWK, generateKeyPair, type JWTPayload, SignJWT, UnsecuredJWT } from 'jose';
import { newSessionId } from '../../../src/page/access/sessions.ts';

const SECRET = 'client-secret';
const keys = { own: await generateKeyPair('RS256'), other: await generateKeyPair('RS256') };

type Forged = JWTPayload & { readonly [claim: string]: unknown };

export interface Forgery {
  readonly claims?: (claims: Forged) => Forged;
  readonly alg?: 'RS256' | 'none' | 'HS256';
  /** Signs with an unpublished key, under the id of a published key or of its own. */
  readonly key?: 'other' | 'unknown';
}

/** Responses that replace the valid ones, by path. */
type Answers = Readonly<Record<string, (response: ServerResponse) => unknown>>;

/** Starts a provider that signs any claims. It accepts each code once, with its verifier. */
export async function startForgingProvider() {
  const codes = new Map<string, URLSearchParams>();
  const made = {
    url: '',
    forgery: {} as Forgery,
    answers: {} as Answers,
    metadata: {} as Readonly<Record<string, unknown>>,
    userInfo: {} as Readonly<Record<string, unknown>>,
    kid: 'own',
    keys: { ...keys },
    /** The token requests. */
    asked: [] as { readonly form: URLSearchParams; readonly authorization: string | undefined }[],
  };
  const json = (response: ServerResponse, value: unknown, status = 200) =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));

  async function idToken(nonce: string | null): Promise<string> {
    const { claims = (given) => given, alg = 'RS256', key } = made.forgery;
    const now = Math.floor(Date.now() / 1000);
    const forged = claims({
      iss: made.url,
      aud: 'voxform',
      sub: 'user-1',
      nonce,
      iat: now,
      exp: now + 60,
      email: 'ann@example.com',
      groups: ['leads'],
    });
    if (alg === 'none') return new UnsecuredJWT(forged).encode();
    const token = new SignJWT(forged).setProtectedHeader({ alg, kid: key === 'unknown' ? 'unknown' : made.kid });
    const own: CryptoKey = made.keys[key === undefined ? 'own' : 'other'].privateKey;
    return token.sign(alg === 'HS256' ? Buffer.from(SECRET) : own);
  }

  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', made.url);
    const answer = made.answers[pathname];
    if (answer !== undefined) return void answer(response);
    switch (pathname) {
      case '/.well-known/openid-configuration':
        return json(response, {
          issuer: made.url,
          authorization_endpoint: `${made.url}/auth`,
          token_endpoint: `${made.url}/token`,
          userinfo_endpoint: `${made.url}/userinfo`,
          jwks_uri: `${made.url}/jwks`,
          end_session_endpoint: `${made.url}/end`,
          response_types_supported: ['code'],
          subject_types_supported: ['public'],
          id_token_signing_alg_values_supported: ['RS256', 'none', 'HS256'],
          ...made.metadata,
        });
      case '/jwks':
        return json(response, {
          keys: [{ ...(await exportJWK(made.keys.own.publicKey)), kid: made.kid, alg: 'RS256' }],
        });
      case '/auth': {
        const code = newSessionId();
        codes.set(code, searchParams);
        const back = new URL(searchParams.get('redirect_uri') ?? '');
        back.search = String(new URLSearchParams({ code, state: searchParams.get('state') ?? '' }));
        return void response.writeHead(302, { location: back.href }).end();
      }
      case '/end':
        return void response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Bye</h1>');
      case '/userinfo':
        return json(response, { sub: 'user-1', ...made.userInfo });
      case '/token': {
        const form = new URLSearchParams(Buffer.concat(await request.toArray()).toString());
        made.asked.push({ form, authorization: request.headers.authorization });
        const asked = codes.get(form.get('code') ?? '');
        codes.delete(form.get('code') ?? '');
        const challenge = createHash('sha256')
          .update(form.get('code_verifier') ?? '')
          .digest('base64url');
        if (asked?.get('code_challenge') !== challenge) return json(response, { error: 'invalid_grant' }, 400);
        const token = { access_token: 'access', token_type: 'bearer', id_token: await idToken(asked.get('nonce')) };
        return json(response, token);
      }
      default:
        return json(response, {}, 404);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  made.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = async () => {
    if (!server.listening) return;
    const closed = server[Symbol.asyncDispose]();
    server.closeAllConnections();
    await closed;
  };
  return Object.assign(made, { close, [Symbol.asyncDispose]: close });
}
