import { createHmac } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isKnownHost, isLocal, isSame, type ListenOptions, type WrongTokens } from '../../operator/health/admission.ts';
import type { Role } from '../../operator/roles.ts';
import type { Person } from './person.ts';
import { newSessionId, type Sessions } from './sessions.ts';
import { isState, type SignInResult, type SingleSignOn, stateIn } from './single-sign-on.ts';

/** Identifies people by their tokens. */
export interface Tokens {
  /** The reason why nobody can sign in with a token, if any. */
  readonly missing: string | undefined;
  /** A sentence that explains where to get a token. */
  readonly origin: string;
  person(token: string): Promise<Person | undefined>;
  /** Returns the owner of a token that `person` accepted before. Does no slow check, so it is absent if tokens may be guessable. */
  known?(token: string): Promise<Person | undefined>;
}

export interface AccessOptions extends ListenOptions {
  readonly tokens: Tokens;
  readonly sessions: Sessions;
  readonly wrongTokens: WrongTokens;
  /** Undefined if single sign-on is not configured. */
  readonly signOn?: SingleSignOn | undefined;
  /** The header in which a trusted proxy names a person, and the role of such people. */
  readonly userHeader: { readonly name: string; readonly role: Role } | undefined;
}

export interface Visitor {
  readonly person: Person | undefined;
  readonly mayRead: boolean;
  /** The form token that prevents forged requests; undefined for visitors who may not send forms. */
  readonly formToken: string | undefined;
  /** A new session cookie for form tokens; undefined if the request has one already, or needs none. */
  readonly newSession: string | undefined;
  /** True if a trusted proxy names the visitor. The visitor then does not sign in. */
  readonly isNamedByProxy: boolean;
  readonly address: string | undefined;
  readonly isSecure: boolean;
}

/** The token is wrong if `wait` is 0; otherwise it was not checked, and `wait` is the number of seconds until the next attempt. */
interface Refusal {
  readonly wait: number;
}

const MAX_NAME_LENGTH = 255;

export class Access {
  readonly #options: AccessOptions;
  /** Token checks in progress, shared by the concurrent requests of a program. */
  readonly #checks = new Map<string, Promise<Person | Refusal>>();

  constructor(options: AccessOptions) {
    this.#options = options;
  }

  /** Returns the reason why the request is refused for every visitor, if any. Forms from other sites are refused. */
  refusal(request: IncomingMessage): string | undefined {
    const { headers, method } = request;
    if (!isKnownHost(headers.host, this.#options)) return 'unknown host name: allow it with --listen-host';
    if (this.#userHeader(request)?.includes(','))
      return `${this.#options.userHeader?.name} contains a comma, so it may name two users`;
    if (method === 'GET' || method === 'HEAD') return undefined;
    const site = headers['sec-fetch-site'];
    if (site !== undefined) return site === 'same-origin' ? undefined : 'the form was sent from another site';
    const origin = headers.origin ?? headers.referer;
    if (origin === undefined) return undefined;
    const from = URL.canParse(origin) ? new URL(origin).host : '';
    return from === headers.host?.toLowerCase() ? undefined : 'the form was sent from another site';
  }

  /** Returns the visitor without reading the session, which may be in a database. */
  withoutSession(request: IncomingMessage): Visitor {
    const { proxy, userHeader } = this.#options;
    const { headers, socket } = request;
    const isProxied = proxy.includes(socket.remoteAddress);
    const header = this.#userHeader(request) ?? '';
    const name = header.length > MAX_NAME_LENGTH ? '' : Buffer.from(header, 'latin1').toString().trim();
    const isNamedByProxy = userHeader !== undefined && name !== '';
    return {
      person: isNamedByProxy ? { name, role: userHeader.role } : undefined,
      mayRead: isNamedByProxy || isLocal(request, this.#options),
      formToken: undefined,
      newSession: undefined,
      isNamedByProxy,
      address: isProxied ? lastOf(headers['x-forwarded-for']) : socket.remoteAddress,
      isSecure: this.#isSecure(request),
    };
  }

  async visitor(request: IncomingMessage): Promise<Visitor> {
    const { sessions, signOn } = this.#options;
    const visitor = this.withoutSession(request);
    const id = this.sessionId(request);
    if (visitor.isNamedByProxy) {
      const newSession = id === undefined ? newSessionId() : undefined;
      const signed = `${id ?? newSession} ${visitor.person?.name}`;
      return { ...visitor, newSession, formToken: formTokenOf(await sessions.formKey(), signed) };
    }
    const person = id === undefined ? undefined : ((await sessions.person(id)) ?? (await signOn?.person(id)));
    return id === undefined || person === undefined ? visitor : this.signedIn(visitor, id, person);
  }

  signedIn(visitor: Visitor, session: string, person: Person): Visitor {
    return { ...visitor, person, mayRead: true, formToken: formTokenOf(session, 'form') };
  }

  /** Returns the visitor, who may send a bearer token instead of a session. A wrong token is refused even if reading needs no token. */
  async caller(request: IncomingMessage): Promise<Visitor | Refusal> {
    const visitor = this.withoutSession(request);
    const token = this.#bearer(request);
    if (token === undefined) return this.visitor(request);
    const person = (await this.#options.tokens.known?.(token)) ?? (await this.#checkOnce(token, visitor.address));
    return 'wait' in person ? person : { ...visitor, person, mayRead: true };
  }

  /** True if the sender may read without a session or a token, and sends no token. */
  readsFreely(request: IncomingMessage): boolean {
    return this.withoutSession(request).mayRead && this.#bearer(request) === undefined;
  }

  /** Checks the token. @returns the id of a new session. */
  async signIn(token: string, address: string | undefined): Promise<{ readonly session: string } | Refusal> {
    const person = await this.#check(token, address);
    return 'wait' in person ? person : { session: await this.#options.sessions.begin(person) };
  }

  #checkOnce(token: string, address: string | undefined): Promise<Person | Refusal> {
    const key = `${address} ${token}`;
    const check = this.#checks.get(key) ?? this.#check(token, address).finally(() => this.#checks.delete(key));
    this.#checks.set(key, check);
    return check;
  }

  async #check(token: string, address: string | undefined): Promise<Person | Refusal> {
    const { wrongTokens, tokens } = this.#options;
    const wait = wrongTokens.wait(address);
    if (wait > 0) return { wait };
    wrongTokens.add(address);
    const person = token.length > 1024 ? undefined : await tokens.person(token);
    if (person === undefined) return { wait: 0 };
    wrongTokens.remove(address);
    return person;
  }

  /** Completes a sign-in attempt with the provider. A successful attempt ends the previous session. @throws UserError */
  async finishSignOn(
    signOn: SingleSignOn,
    request: IncomingMessage,
    { search, address }: { readonly search: string; readonly address: string | undefined },
  ): Promise<SignInResult> {
    const cookie = this.#cookie(request, this.attemptName(request, stateIn(search)));
    const result = await signOn.finish(search, { cookie, address });
    if (result.type === 'signed-in') await this.signOut(request);
    return result;
  }

  /** Ends the session. @returns its ID token, if a provider confirmed the identity. */
  async signOut(request: IncomingMessage): Promise<string | undefined> {
    const id = this.sessionId(request);
    if (id === undefined) return undefined;
    await this.#options.sessions.end(id);
    return this.#options.signOn?.end(id);
  }

  /** True if the form contains the form token of the visitor. */
  isOwnForm({ formToken }: Visitor, given: string | null): boolean {
    return formToken !== undefined && given !== null && isSame(given, formToken);
  }

  cookieName(request: IncomingMessage): string {
    return `${this.#prefix(request)}voxform_session_${this.#port(request)}`;
  }

  sessionId(request: IncomingMessage): string | undefined {
    const id = this.#cookie(request, this.cookieName(request)) ?? '';
    return /^[\w-]{43}$/.test(id) ? id : undefined;
  }

  /** Returns the cookie name of a sign-in attempt. Each attempt has its own cookie, so that several tabs can sign in. */
  attemptName(request: IncomingMessage, state: string): string {
    return `${this.#prefix(request)}voxform_sign_in_${this.#port(request)}_${state}`;
  }

  /** Returns the cookie names of all attempts of this browser, oldest first, the order in which browsers send them. */
  attemptNames(request: IncomingMessage): string[] {
    const start = this.attemptName(request, '');
    const names = cookiesOf(request).map((each) => each.split('=', 1)[0] ?? '');
    return names.filter((name) => name.startsWith(start) && isState(name.slice(start.length)));
  }

  /** With TLS, the prefix `__Host-` prevents other subdomains from setting the cookie. */
  #prefix(request: IncomingMessage): string {
    return this.#isSecure(request) ? '__Host-' : '';
  }

  #isSecure({ headers, socket }: IncomingMessage): boolean {
    return this.#options.proxy.includes(socket.remoteAddress) && lastOf(headers['x-forwarded-proto']) === 'https';
  }

  #cookie(request: IncomingMessage, name: string): string | undefined {
    const cookie = cookiesOf(request).find((each) => each.startsWith(`${name}=`));
    return cookie?.slice(name.length + 1);
  }

  /**
   * Returns the port for cookie names, because listeners on different ports of a host share cookies. Processes behind a public address may
   * listen on different ports, so they use the port of the public address.
   */
  #port({ socket }: IncomingMessage): string {
    return this.#options.signOn?.port ?? String(socket.localPort);
  }

  /** Returns the token of the request. Ignores a token that comes with a user header, because it may be the token of the proxy. */
  #bearer(request: IncomingMessage): string | undefined {
    if (this.withoutSession(request).isNamedByProxy) return undefined;
    return /^Bearer +(.+)$/i.exec(request.headers.authorization ?? '')?.[1];
  }

  /** Returns the value of the user header from a trusted proxy. Joins several values with commas, as proxies do. */
  #userHeader({ headersDistinct, socket }: IncomingMessage): string | undefined {
    const { proxy, userHeader } = this.#options;
    if (userHeader === undefined || !proxy.includes(socket.remoteAddress)) return undefined;
    return headersDistinct[userHeader.name.toLowerCase()]?.join(', ');
  }
}

function formTokenOf(secret: string, subject: string): string {
  return createHmac('sha256', secret).update(subject).digest('base64url');
}

function cookiesOf({ headers }: IncomingMessage): string[] {
  return (headers.cookie ?? '').split(/; */);
}

/** Returns the value that the nearest proxy added. */
function lastOf(header: string | string[] | undefined): string | undefined {
  return (Array.isArray(header) ? header.join(',') : header)?.split(',').at(-1)?.trim();
}
