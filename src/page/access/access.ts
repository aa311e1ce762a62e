import { createHmac } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isKnownHost, isLocal, isSame, type Listening } from '../../operator/health/admission.ts';
import type { WrongTokens } from '../../operator/health/wrong-tokens.ts';
import type { Tokens } from './access-tokens.ts';
import type { Person, Role } from './person.ts';
import { newSessionId, type Sessions } from './sessions.ts';

export interface AccessOptions extends Listening {
  readonly tokens: Tokens;
  readonly sessions: Sessions;
  readonly wrongTokens: WrongTokens;
  /** The header in which a trusted proxy names a person, and what that person may do. */
  readonly userHeader: { readonly name: string; readonly role: Role } | undefined;
}

/** Who asks, as far as that is known. */
export interface Visitor {
  readonly person: Person | undefined;
  readonly mayRead: boolean;
  /** What a form must carry; undefined where there is nobody who may send one. */
  readonly formToken: string | undefined;
  /** To be set as the cookie that form tokens are made from, where there is none. */
  readonly newSession: string | undefined;
  /** True where the proxy says who it is: there is nothing to sign in or out of. */
  readonly isNamedByProxy: boolean;
  /** Where the request came from. */
  readonly address: string | undefined;
  readonly isSecure: boolean;
}

/** Longer names of people are none. */
const MOST_NAME = 255;

/** Who may see what. */
export class Access {
  readonly #options: AccessOptions;

  constructor(options: AccessOptions) {
    this.#options = options;
  }

  /** Why the request is turned away whoever sends it; undefined where it is not. A page of another place can send no form here. */
  refusal(request: IncomingMessage): string | undefined {
    const { headers, method } = request;
    if (!isKnownHost(headers.host, this.#options)) return 'unknown host name: allow it with --listen-host';
    if (this.#userHeader(request)?.includes(','))
      return `${this.#options.userHeader?.name} has a comma: it may name two users`;
    if (method === 'GET' || method === 'HEAD') return undefined;
    const site = headers['sec-fetch-site'];
    if (site !== undefined) return site === 'same-origin' ? undefined : 'a form of another site';
    const origin = headers.origin ?? headers.referer;
    if (origin === undefined) return undefined;
    const from = URL.canParse(origin) ? new URL(origin).host : '';
    return from === headers.host?.toLowerCase() ? undefined : 'a form of another site';
  }

  /** The visitor as the request alone tells, without the session, which may be in a database. */
  withoutSession(request: IncomingMessage): Visitor {
    const { proxy, userHeader } = this.#options;
    const { headers, socket } = request;
    const isProxied = proxy.includes(socket.remoteAddress);
    const given = this.#userHeader(request) ?? '';
    const name = given.length > MOST_NAME ? '' : Buffer.from(given, 'latin1').toString().trim();
    const isNamedByProxy = userHeader !== undefined && name !== '';
    return {
      person: isNamedByProxy ? { name, role: userHeader.role } : undefined,
      mayRead: isNamedByProxy || isLocal(request, this.#options),
      formToken: undefined,
      newSession: undefined,
      isNamedByProxy,
      address: isProxied ? lastOf(headers['x-forwarded-for']) : socket.remoteAddress,
      isSecure: isProxied && lastOf(headers['x-forwarded-proto']) === 'https',
    };
  }

  async visitor(request: IncomingMessage): Promise<Visitor> {
    const { sessions } = this.#options;
    const visitor = this.withoutSession(request);
    const id = this.sessionId(request);
    if (visitor.isNamedByProxy) {
      const newSession = id === undefined ? newSessionId() : undefined;
      const signed = `${id ?? newSession} ${visitor.person?.name}`;
      return { ...visitor, newSession, formToken: formTokenOf(await sessions.formKey(), signed) };
    }
    const person = id === undefined ? undefined : await sessions.person(id);
    if (id === undefined || person === undefined) return visitor;
    return { ...visitor, person, mayRead: true, formToken: formTokenOf(id, 'form') };
  }

  /** Signs in: the person with a new session, or how long to wait, or nothing where the token is wrong. */
  async signIn(
    token: string,
    address: string | undefined,
  ): Promise<{ readonly session: string } | { readonly wait: number }> {
    const { wrongTokens, tokens, sessions } = this.#options;
    const wait = wrongTokens.wait(address);
    if (wait > 0) return { wait };
    wrongTokens.add(address);
    const person = token.length > 1024 ? undefined : await tokens.person(token);
    if (person === undefined) return { wait: 0 };
    wrongTokens.remove(address);
    return { session: await sessions.begin(person) };
  }

  async signOut(request: IncomingMessage): Promise<void> {
    const id = this.sessionId(request);
    if (id !== undefined) await this.#options.sessions.end(id);
  }

  /** True where a form carries the token of the session that it was made for. */
  isOwnForm({ formToken }: Visitor, given: string | null): boolean {
    return formToken !== undefined && given !== null && isSame(given, formToken);
  }

  /** Other listeners of this machine share its cookies, so the name has the port. */
  cookieName({ socket }: IncomingMessage): string {
    return `voxform_session_${socket.localPort}`;
  }

  sessionId(request: IncomingMessage): string | undefined {
    const wanted = `${this.cookieName(request)}=`;
    const { headers } = request;
    const found = (headers.cookie ?? '').split(/; */).find((each) => each.startsWith(wanted));
    const id = found?.slice(wanted.length) ?? '';
    return /^[\w-]{43}$/.test(id) ? id : undefined;
  }

  /** Several of them are one with commas, as proxies join them. */
  #userHeader({ headersDistinct, socket }: IncomingMessage): string | undefined {
    const { proxy, userHeader } = this.#options;
    if (userHeader === undefined || !proxy.includes(socket.remoteAddress)) return undefined;
    return headersDistinct[userHeader.name.toLowerCase()]?.join(', ');
  }
}

function formTokenOf(secret: string, of: string): string {
  return createHmac('sha256', secret).update(of).digest('base64url');
}

/** What the proxy nearest to us says. */
function lastOf(header: string | string[] | undefined): string | undefined {
  return (Array.isArray(header) ? header.join(',') : header)?.split(',').at(-1)?.trim();
}
