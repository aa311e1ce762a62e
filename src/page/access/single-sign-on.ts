import type { SignInSettings } from '../../fleet/fleet-file.ts';
import type { WrongTokens } from '../../operator/health/admission.ts';
import { type Identity, identityOf, roleOf } from './identity.ts';
import { IdentityNotConfirmed, type OpenIdProvider, type SignInChecks } from './openid-provider.ts';
import type { Person } from './person.ts';
import { digestOfId, newSessionId } from './sessions.ts';

/** Stores the sessions of people whose identity a provider confirmed, under a digest of the session id. */
interface IdentitySessions {
  begin(digest: string, identity: Identity, sealedToken: string): Promise<void>;
  identity(digest: string): Promise<Identity | undefined>;
  /** @returns the encrypted ID token; undefined if there is no such session. */
  end(digest: string): Promise<string | undefined>;
}

interface SingleSignOnOptions {
  readonly settings: Pick<SignInSettings, 'address' | 'nameClaim' | 'groupsClaim' | 'roles' | 'session'>;
  readonly provider: OpenIdProvider;
  readonly sessions: IdentitySessions;
  /** Limits the callbacks that the provider does not confirm, because each callback costs a request to the provider. */
  readonly wrongAnswers: WrongTokens;
}

export type SignInResult =
  | { readonly type: 'signed-in'; readonly session: string; readonly person: Person; readonly to: string }
  | { readonly type: 'no-role'; readonly name: string; readonly to: string }
  /** The browser sent no cookie of this attempt. The cookie may have expired. */
  | { readonly type: 'unknown' }
  /** This address sent too many callbacks that the provider did not confirm. */
  | { readonly type: 'wait'; readonly seconds: number }
  | { readonly type: 'refused'; readonly text: string; readonly cause?: IdentityNotConfirmed };

/** The number of seconds within which a person must sign in at the provider. */
export const ATTEMPT_SECONDS = 900;
/** The maximum number of characters of an ID token in a URL. */
const MAX_HINT_LENGTH = 4096;
/** The maximum number of open attempts per browser. Their cookies must fit into the headers of a request. */
export const MAX_ATTEMPTS = 5;
const MAX_TARGET_LENGTH = 1000;

/** Signs in with OpenID Connect: code flow with PKCE. Attempts are in cookies and sessions in the database, for any process. */
export class SingleSignOn {
  readonly #options: SingleSignOnOptions;

  constructor(options: SingleSignOnOptions) {
    this.#options = options;
  }

  get host(): string {
    return this.#options.provider.host;
  }

  get isSecure(): boolean {
    return this.#options.settings.address.startsWith('https:');
  }

  /** The port of the public address; empty for the default port. */
  get port(): string {
    return new URL(this.#options.settings.address).port;
  }

  /** The lifetime of the session cookie in seconds. */
  get sessionSeconds(): number {
    return Math.ceil(this.#options.settings.session / 1000);
  }

  /** Returns the URL that begins an attempt. It must be used in a link, because the policy of the page forbids forms to other sites. */
  startUrl(to: string, isAgain = false): string {
    const query = new URLSearchParams({ to, ...(isAgain && { again: '1' }) });
    return `${this.#options.settings.address}/sign-in/provider?${query}`;
  }

  /** Begins an attempt. The caller must send the cookie to the browser. @throws UserError if the provider cannot be reached. */
  async begin(
    to: string,
    isAgain: boolean,
  ): Promise<{ readonly url: URL; readonly state: string; readonly cookie: string }> {
    const { url, checks } = await this.#options.provider.begin(isAgain);
    const target = Buffer.from(to.length > MAX_TARGET_LENGTH ? '/' : to).toString('base64url');
    return { url, state: checks.state, cookie: [checks.nonce, checks.verifier, target].join('.') };
  }

  /** Completes an attempt. @param sent the cookie of the attempt, and the sender. @throws UserError if the provider cannot be reached. */
  async finish(
    search: string,
    sent: { readonly cookie: string | undefined; readonly address: string | undefined },
  ): Promise<SignInResult> {
    const { wrongAnswers } = this.#options;
    const attempt = parseAttempt(sent.cookie);
    if (attempt === undefined) return { type: 'unknown' };
    const seconds = wrongAnswers.wait(sent.address);
    if (seconds > 0) return { type: 'wait', seconds };
    wrongAnswers.add(sent.address);
    let isWrong = false;
    try {
      const result = await this.#confirm(search, attempt);
      isWrong = result.type === 'refused' && result.cause?.isDeclined === false;
      return result;
    } finally {
      if (!isWrong) wrongAnswers.remove(sent.address);
    }
  }

  async #confirm(search: string, { to, ...attempt }: Attempt): Promise<SignInResult> {
    const { settings, provider, sessions } = this.#options;
    const checks = { ...attempt, state: stateIn(search) };
    try {
      const claimNames = [settings.nameClaim, settings.groupsClaim];
      const { claims, idToken } = await provider.finish(search, checks, claimNames);
      const identity = identityOf(claims, settings);
      if ('problem' in identity) return { type: 'refused', text: identity.problem };
      const person = this.#personOf(identity);
      if (person === undefined) return { type: 'no-role', name: identity.name, to };
      const session = newSessionId();
      await sessions.begin(digestOfId(session), identity, await encrypt(idToken, session));
      return { type: 'signed-in', session, person, to };
    } catch (cause) {
      if (!(cause instanceof IdentityNotConfirmed)) throw cause;
      const text = cause.isDeclined
        ? `${provider.host} did not sign you in.`
        : `${provider.host} did not confirm your identity. See the log.`;
      return { type: 'refused', text, cause };
    }
  }

  /** Returns the person of a session, with the role of their groups in the current settings. */
  async person(id: string): Promise<Person | undefined> {
    const identity = await this.#options.sessions.identity(digestOfId(id));
    return identity && this.#personOf(identity);
  }

  /** Ends a session of the page. @returns its ID token; undefined if there is no such session. */
  async end(id: string): Promise<string | undefined> {
    const token = await this.#options.sessions.end(digestOfId(id));
    return token === undefined ? undefined : decrypt(token, id);
  }

  /** Returns the URL that ends the session at the provider; undefined if there is none or the provider cannot be reached. */
  endUrl(idToken: string): Promise<URL | undefined> {
    const { provider, settings } = this.#options;
    return provider.endSessionUrl(idToken.length > MAX_HINT_LENGTH ? undefined : idToken, `${settings.address}/`);
  }

  close(): Promise<void> {
    return this.#options.provider.close();
  }

  #personOf({ name, subject, groups }: Identity): Person | undefined {
    const role = roleOf(groups, this.#options.settings.roles);
    return role && { name, role, subject };
  }
}

/** Returns the `state` parameter of a callback; empty if it is missing or invalid. */
export function stateIn(search: string): string {
  const state = new URLSearchParams(search).get('state') ?? '';
  return isState(state) ? state : '';
}

export function isState(text: string): boolean {
  return /^[\w-]{43}$/.test(text);
}

interface Attempt extends Omit<SignInChecks, 'state'> {
  readonly to: string;
}

function parseAttempt(cookie = ''): Attempt | undefined {
  const [, nonce, verifier, target = ''] = /^([\w-]{43})\.([\w-]{43})\.([\w-]*)$/.exec(cookie) ?? [];
  if (nonce === undefined || verifier === undefined) return undefined;
  return { nonce, verifier, to: Buffer.from(target, 'base64url').toString() };
}

/** Encrypts the text with the session id, which only the browser stores. */
async function encrypt(text: string, id: string): Promise<string> {
  const { CompactEncrypt } = await import('jose');
  const token = new CompactEncrypt(Buffer.from(text)).setProtectedHeader({ alg: 'dir', enc: 'A256GCM' });
  return token.encrypt(Buffer.from(id, 'base64url'));
}

async function decrypt(token: string, id: string): Promise<string> {
  const { compactDecrypt } = await import('jose');
  return Buffer.from((await compactDecrypt(token, Buffer.from(id, 'base64url'))).plaintext).toString();
}
