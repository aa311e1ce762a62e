import type { IncomingMessage } from 'node:http';
import type { HttpBindings } from '@hono/node-server';
import { Hono } from 'hono';
import { networkOf } from '../operator/health/admission.ts';
import { attempt } from '../problems/attempt.ts';
import { UserError } from '../problems/user-error.ts';
import { Access } from './access/access.ts';
import { SESSION_MILLISECONDS } from './access/sessions.ts';
import { addApiRoutes } from './api/api-routes.ts';
import { addFreezeRoutes, freezeActionAt } from './freeze-routes.ts';
import { parseListQuery, queryProblems, typedText } from './list-query.ts';
import { LiveUpdates } from './live.ts';
import { MIN_SEARCH_LENGTH, NO_SUCH_PAGE } from './page-data.ts';
import {
  isApi,
  type PageContext,
  type PageEnv,
  PageResponses,
  readForm,
  returnPath,
  type SiteOptions,
  setCookie,
} from './page-responses.ts';
import { addSignOnRoutes, NO_ATTEMPT } from './sign-on-routes.ts';
import { assetPath, assets } from './views/assets.ts';
import { pathOf } from './views/parts.ts';
import { pullsView, pullView } from './views/pulls-view.ts';
import { searchView } from './views/search-view.ts';
import { overviewView, pagesOf, workspacesView } from './views/workspaces-view.ts';
import { addWorkspaceRoutes } from './workspace-routes.ts';

/** The maximum size of a form. The largest fields are a token, an id and a reason. */
const MAX_FORM_BYTES = 16_384;
const FORM_TYPE = /^application\/x-www-form-urlencoded *(;|$)/i;

/** The error for visitors whose session cannot be checked. It replaces the database error, which contains the database address. */
const SESSION_UNCHECKED = new UserError('voxform cannot check your session at the moment', {
  hint: 'Try again in a minute.',
});

export interface Page {
  fetch(request: Request, env: HttpBindings): Response | Promise<Response>;
  mayRead(request: IncomingMessage): Promise<boolean>;
  close(): Promise<void>;
}

/** Creates the HTTP handler of the page: access, contents and actions. */
export function createPage(options: SiteOptions): Page {
  const { source, signOn } = options;
  const access = new Access(options);
  const liveUpdates = new LiveUpdates({
    version: (address) => source.version(address),
    pollIntervalMs: options.pollIntervalMs,
  });
  const app = new Hono<PageEnv>();

  const responses = new PageResponses(options, liveUpdates, access);
  const setSession = (c: PageContext, value: string, maxAge: number): void => {
    setCookie(c, { name: access.cookieName(c.env.incoming), value, maxAge, isSecure: c.var.visitor.isSecure });
  };

  const showWrongToken = (c: PageContext, wait: number, target: string): Promise<Response> => {
    if (wait === 0) return responses.showSignIn(c, target, 401, 'The token is wrong.');
    c.header('retry-after', String(wait));
    return responses.showSignIn(c, target, 429, `Too many wrong tokens. Try again in ${wait} s.`);
  };

  app.use(async (c, next) => {
    for (const [name, value] of Object.entries(pageHeaders)) c.header(name, value);
    c.set('visitor', access.withoutSession(c.env.incoming));
    const refusal = access.refusal(c.env.incoming);
    if (refusal !== undefined) return responses.refuse(c, 403, refusal);
    const allow = allowedMethods(c, signOn !== undefined) ?? c.req.method;
    if (!allow.split(', ').includes(c.req.method)) {
      c.header('allow', allow);
      return responses.refuse(c, 405, `use ${allow}`);
    }
    if (c.req.header('transfer-encoding') !== undefined) return responses.refuse(c, 411, 'Content-Length is required');
    if (Number(c.req.header('content-length') ?? 0) > MAX_FORM_BYTES)
      return responses.refuse(c, 413, 'the form is too large');
    if (c.req.method === 'POST' && !FORM_TYPE.test(c.req.header('content-type') ?? ''))
      return responses.refuse(c, 415, 'send the form as application/x-www-form-urlencoded');
    const { incoming } = c.env;
    const visitor = await (isApi(c) ? access.caller(incoming) : access.visitor(incoming));
    if ('wait' in visitor) return showWrongToken(c, visitor.wait, '/');
    c.set('visitor', visitor);
    if (!isDecodable(c.req.url) && !['/workspaces', '/search'].includes(c.req.path)) {
      const text = 'The URL contains %00 or an escape that is not UTF-8.';
      return responses.showNote(c, 400, { heading: 'Not found', text });
    }
    if (visitor.newSession !== undefined) setSession(c, visitor.newSession, SESSION_MILLISECONDS / 1000);
    return next();
  });

  app.get('/assets/:digest/:file', (c) => {
    const file = c.req.param('file');
    if (file !== 'style.css' && file !== 'page.js') return c.notFound();
    const { content, type } = assets[file];
    if (c.req.path === assetPath(file)) c.header('cache-control', 'max-age=31536000, immutable');
    return c.body(content, 200, { 'content-type': `${type}; charset=utf-8` });
  });
  app.get('/sign-in', async (c) => {
    const target = returnPath(c.req.query('to'));
    if (c.var.visitor.person !== undefined) return c.redirect(target, 302);
    return responses.showSignIn(c, target, 200, c.req.query('late') === undefined ? undefined : NO_ATTEMPT.text);
  });
  app.post('/sign-in', async (c) => {
    const form = await readForm(c);
    const result = await access.signIn((form.get('token') ?? '').trim(), c.var.visitor.address);
    const target = returnPath(form.get('to') ?? undefined);
    if ('session' in result) {
      await access.signOut(c.env.incoming);
      setSession(c, result.session, SESSION_MILLISECONDS / 1000);
      return c.redirect(target, 303);
    }
    return showWrongToken(c, result.wait, target);
  });

  if (signOn !== undefined) addSignOnRoutes(app, { signOn, access, responses, onError: options.onError });

  app.use(async (c, next) => {
    const { mayRead } = c.var.visitor;
    if (mayRead) c.set('freeze', await source.freezing?.current());
    if (allowedMethods(c, signOn !== undefined) === undefined) return responses.showUnknownPath(c);
    if (mayRead) return next();
    return responses.showSignIn(c, responses.context(c).here, 401);
  });
  app.post('/sign-out', async (c) => {
    if (!access.isOwnForm(c.var.visitor, (await readForm(c)).get('form'))) return responses.refuseForm(c);
    const idToken = await access.signOut(c.env.incoming);
    setSession(c, '', 0);
    if (idToken === undefined) return c.redirect('/', 303);
    return responses.showSignedOut(c, await signOn?.endUrl(idToken));
  });
  app.get('/events', async (c) => {
    const site = c.req.header('sec-fetch-site') ?? 'none';
    if (site !== 'same-origin' && site !== 'none')
      return responses.refuse(c, 403, 'the request was sent from another site');
    if (c.req.method === 'HEAD') return c.body(null, 200, { 'content-type': 'text/event-stream' });
    const { person, address } = c.var.visitor;
    const visitorKey = person?.name ?? networkOf(address);
    if (liveUpdates.isFull(visitorKey)) return c.text('too many open pages\n', 503, { 'retry-after': '30' });
    const isAllowed = async () => (await access.visitor(c.env.incoming)).mayRead;
    return liveUpdates.stream(c, c.req.query('workspace'), { visitorKey, isAllowed });
  });
  app.get('/', async (c) => {
    const onlyWorkspace = source.only();
    if (onlyWorkspace !== undefined) return c.redirect(pathOf(onlyWorkspace), 302);
    const live = responses.liveSubject();
    const body = overviewView(await source.overview(), responses.context(c));
    return responses.show(c, body, { title: 'Overview', section: 'overview', live });
  });
  app.get('/workspaces', async (c) => {
    const { searchParams } = new URL(c.req.url);
    const live = responses.liveSubject();
    const query = parseListQuery(searchParams);
    const found = await source.workspaces(query);
    const list = { ...found, problems: queryProblems(searchParams, found.sources) };
    const last = pagesOf(list);
    if (query.page > last) {
      searchParams.set('page', String(last));
      return c.redirect(`/workspaces?${searchParams}`, 302);
    }
    const body = workspacesView(query, list, responses.context(c));
    return responses.show(c, body, { title: 'Workspaces', section: 'workspaces', live });
  });
  app.get('/search', async (c) => {
    if (source.search === undefined) return responses.showUnknownPath(c);
    const text = typedText(c.req.query('q')) ?? '';
    const result = text.length < MIN_SEARCH_LENGTH ? undefined : await source.search(text);
    const { page } = parseListQuery(new URL(c.req.url).searchParams);
    return responses.show(c, searchView(text, page, result), { title: 'Search', section: 'overview' });
  });
  app.get('/pulls', async (c) => {
    const { pulls } = source;
    if (pulls === undefined) return responses.showUnknownPath(c);
    const live = responses.liveSubject();
    const { pulls: listed, problems } = await pulls.list();
    const body = pullsView(listed, problems, responses.context(c));
    return responses.show(c, body, { title: 'Pull requests', section: 'pulls', live });
  });
  app.get('/pulls/:source/:number{[0-9]{1,9}}', async (c) => {
    const live = responses.liveSubject();
    const found = await source.pulls?.one(c.req.param('source'), Number(c.req.param('number')));
    if (found === undefined) return responses.showMissing(c, 'There is no such pull request.', '/pulls');
    const { pull, plans } = found;
    const title = `${pull.source}#${pull.number}`;
    return responses.show(c, pullView(pull, plans, responses.context(c)), { title, section: 'pulls', live });
  });
  addWorkspaceRoutes(app, source, responses);
  addFreezeRoutes(app, source, responses);
  addApiRoutes(app, source, responses);
  app.notFound((c) => responses.showMissing(c, NO_SUCH_PAGE, '/'));
  app.onError((error, c) => {
    // An upload that the client aborted is not a server error.
    if (!c.env.incoming.readableAborted) options.onError(error);
    if (error instanceof UserError)
      return responses.showFailure(c, 503, c.var.visitor.mayRead ? error : SESSION_UNCHECKED);
    const text = 'An internal error occurred. See the log.';
    return responses.showNote(c, 500, { heading: 'Failed', text });
  });

  return {
    fetch: (request, env) => app.fetch(request, env),
    async mayRead(request) {
      if (access.refusal(request) !== undefined) return false;
      if (access.readsFreely(request)) return true;
      const caller = await access.caller(request).catch((error: unknown) => {
        options.onError(error);
        throw SESSION_UNCHECKED;
      });
      return 'mayRead' in caller && caller.mayRead;
    },
    async close() {
      liveUpdates.close();
      await signOn?.close();
    },
  };
}

/** False for a URL with invalid escapes, or with NUL, which PostgreSQL rejects and no name contains. */
function isDecodable(url: string): boolean {
  return attempt(() => decodeURIComponent(url))?.includes('\0') === false;
}

/** Returns the value of the `Allow` header for a path; undefined if there is no such page. */
function allowedMethods(c: PageContext, hasSignOn: boolean): string | undefined {
  const { pathname } = new URL(c.req.url);
  if (hasSignOn && (pathname === '/sign-in/provider' || pathname === '/sign-in/callback')) return 'GET';
  if (pathname === '/sign-out') return 'POST';
  if (pathname === '/sign-in' || freezeActionAt(pathname) || /^\/workspaces\/.+\/actions\/[^/:]+$/.test(pathname))
    return 'GET, HEAD, POST';
  const isPage =
    ['/', '/events', '/search', '/workspaces', '/pulls'].includes(pathname) ||
    /^\/(?:workspaces|pulls|api)\//.test(pathname);
  return isPage ? 'GET, HEAD' : undefined;
}

/** Headers that forbid framing, caching, and content from other sites. */
const pageHeaders = {
  'content-security-policy':
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  // With no-referrer, browsers would also hide the origin of our own forms.
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
} as const;
