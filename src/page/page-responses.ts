import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { Freeze } from '../fleet/rows/freeze-rows.ts';
import { notFound } from '../operator/health/listener.ts';
import { messageOf } from '../operator/messages.ts';
import type { Html } from '../output/html/html.ts';
import { jsonText } from '../output/json-text.ts';
import type { UserError } from '../problems/user-error.ts';
import type { Access, AccessOptions, Visitor } from './access/access.ts';
import { mayPerform } from './access/person.ts';
import { typedText } from './list-query.ts';
import type { LiveUpdates } from './live.ts';
import { type ActionName, type FreezeAction, NO_SUCH_PAGE, type PageSource } from './page-data.ts';
import type { ViewContext } from './views/parts.ts';
import { layout, type Section } from './views/site-layout.ts';
import { noteView, pageActionWords, signInView } from './views/small-views.ts';

export interface SiteOptions extends AccessOptions {
  readonly source: PageSource;
  /** True if `POST /reconcile` is available. */
  readonly reconciles: boolean;
  now(): Date;
  redact(text: string): string;
  onError(error: unknown): void;
  /** Milliseconds between two queries for changes. */
  readonly pollIntervalMs: number;
}

export interface PageEnv {
  readonly Bindings: HttpBindings;
  readonly Variables: { visitor: Visitor; freeze: Freeze | undefined };
}

export type PageContext = Context<PageEnv>;

/** The subject of live updates: one workspace, or all if `address` is undefined. Read the version before the contents. */
export interface LiveSubject {
  readonly address: string | undefined;
  readonly version: Promise<string>;
}

interface ViewOptions {
  readonly title: string;
  readonly section?: Section;
  /** Undefined for a page without live updates. */
  readonly live?: LiveSubject;
  readonly status?: undefined | 200 | ErrorStatus;
}

type ErrorStatus = 400 | 401 | 403 | 404 | 409 | 429 | 500 | 503;

/** Creates the responses that all routes share: HTML pages, JSON documents and errors. */
export class PageResponses {
  readonly #options: SiteOptions;
  readonly #live: LiveUpdates;
  readonly #access: Access;

  constructor(options: SiteOptions, live: LiveUpdates, access: Access) {
    this.#options = options;
    this.#live = live;
    this.#access = access;
  }

  context(c: PageContext): ViewContext {
    const { source, now, tokens, signOn } = this.#options;
    const { pathname, search, searchParams } = new URL(c.req.url);
    const searched = pathname === '/search' ? (typedText(searchParams.get('q')) ?? '') : '';
    return {
      title: source.title,
      visitor: c.var.visitor,
      now: now(),
      here: c.req.method === 'GET' && !pathname.startsWith('/sign-in') ? pathname + search : '/',
      missingTokens: tokens.missing,
      tokenOrigin: tokens.origin,
      signOn: signOn && { host: signOn.host, startUrl: (to) => signOn.startUrl(to) },
      isSingle: source.only() !== undefined,
      hasPulls: source.pulls !== undefined,
      searchText: source.search && c.var.visitor.mayRead ? searched : undefined,
      canFreeze: source.freezing !== undefined,
      freeze: c.var.freeze,
    };
  }

  liveSubject(address?: string): LiveSubject {
    return { address, version: this.#live.version(address) };
  }

  async show(c: PageContext, body: Html, shown: ViewOptions): Promise<Response> {
    const { title, section, live, status = 200 } = shown;
    const updates = live && { ...live, version: await live.version };
    const page = layout({ title, section, live: updates, body }, this.context(c));
    return c.html(this.#options.redact(page.text), status);
  }

  sendJson(c: PageContext, document: object, status: ContentfulStatusCode = 200): Response {
    return c.body(this.#options.redact(jsonText(document)), status, { 'content-type': 'application/json' });
  }

  /** Returns a plain error for a request that the page itself never sends. */
  refuse(c: PageContext, status: ContentfulStatusCode, text: string): Response {
    return wantsJson(c) ? this.sendJson(c, { error: text }, status) : c.text(`${text}\n`, status);
  }

  async showNote(
    c: PageContext,
    status: ErrorStatus,
    { heading, text, back = '/', link = 'Back' }: Note,
  ): Promise<Response> {
    if (wantsJson(c)) return this.sendJson(c, { error: text }, status);
    return this.show(c, noteView(heading, text, { back, link }), { title: heading, status });
  }

  showFailure(c: PageContext, status: 409 | 503, error: UserError, back?: string): Promise<Response> {
    const heading = status === 409 ? 'Action refused' : 'Unavailable';
    return this.showNote(c, status, { heading, text: messageOf(error), ...(back !== undefined && { back }) });
  }

  showMissing(c: PageContext, text: string, back = '/workspaces'): Promise<Response> {
    return this.showNote(c, 404, { heading: 'Not found', text, back });
  }

  async showSignIn(c: PageContext, to: string, status: 200 | ErrorStatus, problem?: string): Promise<Response> {
    if (status !== 200 && wantsJson(c)) {
      const { missing, origin } = this.#options.tokens;
      const instructions = `Send a token as "Authorization: Bearer TOKEN". ${missing ?? origin}`;
      if (status === 401) c.header('www-authenticate', 'Bearer');
      return this.sendJson(c, { error: `${problem ?? 'A token is required.'} ${instructions}` }, status);
    }
    return this.show(c, signInView(to, this.context(c), problem), { title: 'Sign in', status });
  }

  /**
   * Returns a page that forwards to another page. Used instead of redirects to and from the identity provider: after a redirect from
   * another site, browsers omit SameSite=Strict cookies, and the `form-action` directive of the page forbids redirecting a form to another site.
   */
  showForwarding(c: PageContext, { heading, text, to, link, status }: Forwarding): Promise<Response> {
    c.header('refresh', `0; url=${to}`);
    return this.show(c, noteView(heading, text, { back: to, link }), { title: heading, status });
  }

  /** Confirms that the visitor is signed out. @param to the URL that ends the session at the provider, if any. */
  showSignedOut(c: PageContext, to: URL | undefined): Promise<Response> {
    c.set('visitor', { ...c.var.visitor, person: undefined, formToken: undefined });
    const heading = 'Signed out';
    if (to !== undefined)
      return this.showForwarding(c, {
        heading,
        text: 'Signing you out of the identity provider.',
        to: to.href,
        link: 'Continue',
      });
    const text = 'You are signed out here, but you may still be signed in to your identity provider.';
    return this.show(c, noteView(heading, text, { back: '/', link: 'Back' }), { title: heading });
  }

  showForbidden(c: PageContext, action: ActionName | FreezeAction, back: string): Promise<Response> {
    const text = `Your role does not allow you to ${pageActionWords[action].heading.toLowerCase()}.`;
    return this.showNote(c, 403, { heading: 'Not allowed', text, back });
  }

  /**
   * Returns the name of the person who sent the form of an action, or the response that refuses the form.
   * @param to the path to return to after the sign-in.
   */
  checkSender(c: PageContext, { action, form, to, back }: ActionForm): string | Promise<Response> {
    const { visitor } = c.var;
    const { person, isNamedByProxy } = visitor;
    if (person === undefined)
      return this.showSignIn(c, to, 401, `Sign in to ${pageActionWords[action].heading.toLowerCase()}.`);
    if (!mayPerform(person, action)) return this.showForbidden(c, action, back);
    if (!this.#access.isOwnForm(visitor, form.get('form'))) return this.refuseForm(c, back);
    // A proxy, an identity provider and a token may use the same name for different people.
    if (isNamedByProxy) return `${person.name} (via proxy)`;
    return person.subject === undefined ? person.name : `${person.name} (sub ${person.subject})`;
  }

  refuseForm(c: PageContext, back?: string): Promise<Response> {
    const text = 'This form belongs to another session. Go back, reload the page and try again.';
    return this.showNote(c, 403, { heading: 'Action refused', text, ...(back !== undefined && { back }) });
  }

  showUnknownPath(c: PageContext): Response | Promise<Response> {
    const isBrowser = !wantsJson(c) && (c.req.header('accept') ?? '').includes('text/html');
    return isBrowser
      ? this.showMissing(c, NO_SUCH_PAGE, '/')
      : this.sendJson(c, { error: notFound(this.#options) }, 404);
  }
}

interface ActionForm {
  readonly action: ActionName | FreezeAction;
  readonly form: URLSearchParams;
  readonly to: string;
  readonly back: string;
}

interface Cookie {
  readonly name: string;
  readonly value: string;
  /** The lifetime in seconds. */
  readonly maxAge: number;
  readonly isSecure: boolean;
  /** The default is `Strict`. */
  readonly sameSite?: 'Lax';
}

/** Sets a cookie that scripts cannot read. */
export function setCookie(c: PageContext, { name, value, maxAge, isSecure, sameSite }: Cookie): void {
  const secure = isSecure ? '; Secure' : '';
  const cookie = `${name}=${value}; Path=/; HttpOnly; SameSite=${sameSite ?? 'Strict'}; Max-Age=${maxAge}${secure}`;
  c.header('set-cookie', cookie, { append: true });
}

/** Matches the paths that a sign-in may return to. Other paths, such as `/sign-out`, are not pages. */
const RETURN_PATH = /^\/((workspaces|pulls)(\/.*)?|search|freeze|unfreeze)?$/;

/** Returns the path if a sign-in may return to it, otherwise `/`. */
export function returnPath(text: string | undefined): string {
  const base = 'http://page';
  if (text === undefined || !URL.canParse(text, base)) return '/';
  const { origin, pathname, search } = new URL(text, base);
  return origin === base && RETURN_PATH.test(pathname) ? pathname + search : '/';
}

interface Note {
  readonly heading: string;
  readonly text: string;
  /** The target of the link. */
  readonly back?: string;
  /** The text of the link. */
  readonly link?: string;
}

interface Forwarding extends Required<Pick<Note, 'heading' | 'text' | 'link'>> {
  readonly to: string;
  readonly status?: ErrorStatus;
}

/** True for requests to the API and for clients that prefer JSON. They receive errors as JSON. */
function wantsJson(c: PageContext): boolean {
  const accept = c.req.header('accept') ?? '';
  return isApi(c) || (accept.includes('application/json') && !accept.includes('text/html'));
}

export function isApi(c: PageContext): boolean {
  return /^\/api(\/|$)/.test(c.req.path);
}

export async function readForm(c: PageContext): Promise<URLSearchParams> {
  return new URLSearchParams(await c.req.text());
}
