import type { ClientAuth, Configuration, CustomFetchOptions } from 'openid-client';
import type { ProcessEnvironment } from '../../files/run-process.ts';
import type { SignInSettings } from '../../fleet/fleet-file.ts';
import { failureWords } from '../../platform/failure.ts';
import { proxyFor } from '../../platform/proxy.ts';
import { WebClient } from '../../platform/web-client.ts';
import { errorChain } from '../../problems/error-code.ts';
import { UserError } from '../../problems/user-error.ts';
import { isLoopback } from '../../values/loopback.ts';

interface ProviderOptions extends Pick<SignInSettings, 'issuer' | 'clientId' | 'clientSecret'> {
  /** The URL that the provider redirects to after the sign-in. */
  readonly redirect: string;
  readonly env: ProcessEnvironment;
  redact(text: string): string;
}

/** The random values that bind a response of the provider to the attempt of one browser. */
export interface SignInChecks {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

export type Claims = Readonly<Record<string, unknown>>;

/** Thrown if an identity is not confirmed: the sign-in was declined, or the response is invalid or forged. The message is for the log. */
export class IdentityNotConfirmed extends Error {
  override readonly name = 'IdentityNotConfirmed';
  /** True if the person or the provider declined the sign-in. */
  readonly isDeclined: boolean;

  constructor(message: string, isDeclined = false) {
    super(message);
    this.isDeclined = isDeclined;
  }
}

const LIMITS = { connections: 8, timeoutMilliseconds: 10_000, maxBodyBytes: 256 * 1024 };
/** The maximum number of seconds by which the clock of the provider may be ahead. */
const MAX_CLOCK_SKEW_SECONDS = 300;
/** Milliseconds for which the metadata of the provider is cached. */
const METADATA_CACHE_MS = 3_600_000;

/** A client of an OpenID Connect provider. `openid-client` checks the responses. Requests use the proxies of the environment. */
export class OpenIdProvider {
  readonly host: string;
  readonly #options: ProviderOptions;
  readonly #web = new WebClient(LIMITS);
  readonly #end = new AbortController();
  #cached: { readonly configuration: Promise<Configuration>; readonly until: number } | undefined;

  constructor(options: ProviderOptions) {
    this.#options = options;
    this.host = new URL(options.issuer).host;
  }

  /** Returns the URL where a person signs in. @param isAgain true to always ask for credentials. @throws UserError */
  async begin(isAgain: boolean): Promise<{ readonly url: URL; readonly checks: SignInChecks }> {
    const client = await import('openid-client');
    const configuration = await this.#configuration();
    const { scopes_supported: scopes = ['email', 'profile'] } = configuration.serverMetadata();
    const checks: SignInChecks = {
      state: client.randomState(),
      nonce: client.randomNonce(),
      verifier: client.randomPKCECodeVerifier(),
    };
    const parameters = {
      redirect_uri: this.#options.redirect,
      scope: ['openid', ...['email', 'profile', 'groups'].filter((each) => scopes.includes(each))].join(' '),
      state: checks.state,
      nonce: checks.nonce,
      code_challenge: await client.calculatePKCECodeChallenge(checks.verifier),
      code_challenge_method: 'S256',
      ...(isAgain && { prompt: 'login' }),
    };
    return { url: client.buildAuthorizationUrl(configuration, parameters), checks };
  }

  /**
   * Exchanges the code in the callback for claims.
   * @param claimNames the names of the required claims. If the ID token lacks one, the user info is read too.
   * @throws IdentityNotConfirmed, or UserError if the provider cannot be reached.
   */
  async finish(
    search: string,
    { state, nonce, verifier }: SignInChecks,
    claimNames: readonly string[],
  ): Promise<{ readonly claims: Claims; readonly idToken: string }> {
    const { authorizationCodeGrant, AuthorizationResponseError, fetchUserInfo } = await import('openid-client');
    const configuration = await this.#configuration();
    try {
      const tokens = await authorizationCodeGrant(configuration, new URL(this.#options.redirect + search), {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      });
      const claims = tokens.claims();
      if (claims === undefined || tokens.id_token === undefined) throw new IdentityNotConfirmed('no ID token');
      // The library checks azp only if there are several audiences, and never whether iat is in the future.
      const { azp = this.#options.clientId, iat } = claims;
      if (azp !== this.#options.clientId) throw new IdentityNotConfirmed('the ID token is for another client (azp)');
      if (iat > Date.now() / 1000 + MAX_CLOCK_SKEW_SECONDS)
        throw new IdentityNotConfirmed('the ID token was issued in the future (iat)');
      const isComplete = claimNames.every((name) => claims[name] !== undefined);
      const userInfo =
        isComplete || configuration.serverMetadata().userinfo_endpoint === undefined
          ? {}
          : await fetchUserInfo(configuration, tokens.access_token, claims.sub);
      return { claims: { ...userInfo, ...claims }, idToken: tokens.id_token };
    } catch (error) {
      const unavailable = userErrorIn(error);
      if (unavailable !== undefined) throw unavailable;
      throw new IdentityNotConfirmed(this.#describe(error), error instanceof AuthorizationResponseError);
    }
  }

  /** Returns the URL that ends the session at the provider; undefined if there is none or the provider cannot be reached. */
  async endSessionUrl(idToken: string | undefined, back: string): Promise<URL | undefined> {
    const { buildEndSessionUrl } = await import('openid-client');
    const configuration = await this.#configuration().catch(() => undefined);
    if (configuration?.serverMetadata().end_session_endpoint === undefined) return undefined;
    return buildEndSessionUrl(configuration, {
      post_logout_redirect_uri: back,
      ...(idToken !== undefined && { id_token_hint: idToken }),
    });
  }

  async close(): Promise<void> {
    this.#end.abort();
    await this.#web.close();
  }

  /** @throws UserError */
  async #configuration(): Promise<Configuration> {
    const now = performance.now();
    if (this.#cached === undefined || this.#cached.until <= now)
      this.#cached = { configuration: this.#discover(), until: now + METADATA_CACHE_MS };
    const cached = this.#cached;
    try {
      return await cached.configuration;
    } catch (error) {
      if (this.#cached === cached) this.#cached = undefined;
      const hint = 'Check sign_in.issuer in the fleet file. Sessions and tokens work without the provider.';
      throw (
        userErrorIn(error) ??
        new UserError(`cannot use ${this.host} for single sign-on: ${this.#describe(error)}`, { hint })
      );
    }
  }

  async #discover(): Promise<Configuration> {
    const { issuer, clientId, clientSecret } = this.#options;
    const client = await import('openid-client');
    const authentication: ClientAuth = (server, registered, body, headers) => {
      if (clientSecret === undefined) return client.None()(server, registered, body, headers);
      const secret = clientSecret.reveal();
      // According to the specification, Basic is the default for the metadata of providers and for registered clients.
      if (server.token_endpoint_auth_methods_supported?.includes('client_secret_basic') === false)
        return client.ClientSecretPost(secret)(server, registered, body, headers);
      // The library's ClientSecretBasic also encodes "-" and ".". Providers that do not decode them would reject the secret.
      headers.set('authorization', `Basic ${btoa([clientId, secret].map(encodeURIComponent).join(':'))}`);
    };
    const configuration = await client.discovery(new URL(issuer), clientId, undefined, authentication, {
      // Without these checks, the library does not verify the signature of an ID token from the token endpoint.
      execute: isLoopback(new URL(issuer).hostname)
        ? [client.enableNonRepudiationChecks, client.allowInsecureRequests]
        : [client.enableNonRepudiationChecks],
      [client.customFetch]: (url: string, options: CustomFetchOptions) => this.#fetch(new URL(url), options),
    });
    const { authorization_endpoint: begin = '', end_session_endpoint: end = begin } = configuration.serverMetadata();
    // The page redirects browsers to both URLs.
    if (![begin, end].every((each) => /^https?:/.test(each))) throw new Error('the metadata has no valid endpoints');
    return configuration;
  }

  /** @throws UserError if the provider is unavailable, and Error for a response that is too large. */
  async #fetch(url: URL, { method, headers, body }: CustomFetchOptions): Promise<Response> {
    const { env, redact } = this.#options;
    const network = { proxy: proxyFor(url, env) };
    const { signal } = this.#end;
    const text = body === undefined || body === null ? undefined : String(body);
    const result = await this.#web.send({ method, url, network, headers, body: text, signal });
    const hint = 'Try again in a minute. Sessions and tokens work without the provider.';
    if (result.type === 'failure') {
      const timeoutSeconds = LIMITS.timeoutMilliseconds / 1000;
      const words = failureWords({ ...LIMITS, ...network, host: url.host, timeoutSeconds, redact }, result);
      throw result.reason === 'too-large' ? new Error(words) : new UserError(words, { hint });
    }
    const { status, headers: received, body: content } = result;
    if (status >= 500) throw new UserError(`${url.host} answered with ${status}`, { hint });
    return new Response(content.length === 0 ? null : new Uint8Array(content), {
      status,
      headers: { 'content-type': received['content-type'] ?? '' },
    });
  }

  #describe(error: unknown): string {
    const errors = [...errorChain(error)].filter((each) => each instanceof Error);
    const messages = errors.slice(0, 3).map(({ message }) => message);
    return this.#options.redact(messages.join(': ')).slice(0, 500);
  }
}

/** Returns the UserError among the causes of an error, if any. The library wraps the errors of requests. */
function userErrorIn(error: unknown): UserError | undefined {
  return [...errorChain(error)].find((each) => each instanceof UserError);
}
