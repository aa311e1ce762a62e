import type { IncomingMessage } from 'node:http';
import type { HttpBindings } from '@hono/node-server';
import { Hono } from 'hono';
import { networkOf } from '../operator/health/admission.ts';
import { UserError } from '../problems/user-error.ts';
import { Access } from './access/access.ts';
import { SESSION_MILLISECONDS } from './access/sessions.ts';
import { addApiRoutes } from './api/api-routes.ts';
import { addFreezeRoutes, freezeActionAt } from './freeze-routes.ts';
import { listQuery, typedText, unknownIn } from './list-query.ts';
import { LiveUpdates } from './live.ts';
import {
  formOf,
  isApi,
  ownPath,
  PageAnswers,
  type PageContext,
  type PageEnv,
  type SiteOptions,
  setCookie,
} from './page-answers.ts';
import { LEAST_SEARCHED } from './page-data.ts';
import { addSignOnRoutes, LATE } from './sign-on-routes.ts';
import { assetPath, assets } from './views/assets.ts';
import { pathOf } from './views/parts.ts';
import { pullsView, pullView } from './views/pulls-view.ts';
import { searchView } from './views/search-view.ts';
import { overviewView, pagesOf, workspacesView } from './views/workspaces-view.ts';
import { addWorkspaceRoutes } from './workspace-routes.ts';

/** The maximum size of a form. The largest fields are a token, an id and a reason. */
const MOST_FORM_BYTES = 16_384;
const FORM_TYPE = /^application\/x-www-form-urlencoded *(;|$)/i;

/** Shown instead of a database error, which contains the database address, to visitors whose session cannot be checked. */
const UNCHECKED = new UserError('voxform cannot check who you are at the moment', {
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
  const live = new LiveUpdates({ version: (address) => source.version(address), every: options.every });
  const app = new Hono<PageEnv>();

  const answers = new PageAnswers(options, live, access);
  const setSession = (c: PageContext, value: string, maxAge: number): void => {
    setCookie(c, { name: access.cookieName(c.env.incoming), value, maxAge, isSecure: c.var.visitor.isSecure });
  };

  const refused = (c: PageContext, wait: number, target: string): Promise<Response> => {
    if (wait === 0) return answers.signIn(c, target, 401, 'The token is wrong.');
    c.header('retry-after', String(wait));
    return answers.signIn(c, target, 429, `Too many wrong tokens. Try again in ${wait} s.`);
  };

  app.use(async (c, next) => {
    for (const [name, value] of Object.entries(pageHeaders)) c.header(name, value);
    c.set('visitor', access.withoutSession(c.env.incoming));
    const why = access.refusal(c.env.incoming);
    if (why !== undefined) return answers.refuse(c, 403, why);
    const allow = methodsOf(c, signOn !== undefined) ?? c.req.method;
    if (!allow.split(', ').includes(c.req.method)) {
      c.header('allow', allow);
      return answers.refuse(c, 405, `use ${allow}`);
    }
    if (c.req.header('transfer-encoding') !== undefined) return answers.refuse(c, 411, 'send the length of the form');
    if (Number(c.req.header('content-length') ?? 0) > MOST_FORM_BYTES)
      return answers.refuse(c, 413, 'the form is too large');
    if (c.req.method === 'POST' && !FORM_TYPE.test(c.req.header('content-type') ?? ''))
      return answers.refuse(c, 415, 'send the form as application/x-www-form-urlencoded');
    const { incoming } = c.env;
    const visitor = await (isApi(c) ? access.caller(incoming) : access.visitor(incoming));
    if ('wait' in visitor) return refused(c, visitor.wait, '/');
    c.set('visitor', visitor);
    if (!isReadable(c.req.url) && !['/workspaces', '/search'].includes(c.req.path)) {
      const text = 'The address has %00, or an escape that is not UTF-8.';
      return answers.note(c, 400, { heading: 'Not found', text });
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
    const target = ownPath(c.req.query('to'));
    if (c.var.visitor.person !== undefined) return c.redirect(target, 302);
    return answers.signIn(c, target, 200, c.req.query('late') === undefined ? undefined : LATE.text);
  });
  app.post('/sign-in', async (c) => {
    const form = await formOf(c);
    const result = await access.signIn((form.get('token') ?? '').trim(), c.var.visitor.address);
    const target = ownPath(form.get('to') ?? undefined);
    if ('session' in result) {
      await access.signOut(c.env.incoming);
      setSession(c, result.session, SESSION_MILLISECONDS / 1000);
      return c.redirect(target, 303);
    }
    return refused(c, result.wait, target);
  });

  if (signOn !== undefined) addSignOnRoutes(app, { signOn, access, answers, onError: options.onError });

  app.use(async (c, next) => {
    const { mayRead } = c.var.visitor;
    if (mayRead) c.set('freeze', await source.freezing?.current());
    if (methodsOf(c, signOn !== undefined) === undefined) return answers.notFound(c);
    if (mayRead) return next();
    return answers.signIn(c, answers.context(c).here, 401);
  });
  app.post('/sign-out', async (c) => {
    if (!access.isOwnForm(c.var.visitor, (await formOf(c)).get('form'))) return answers.badForm(c);
    const idToken = await access.signOut(c.env.incoming);
    setSession(c, '', 0);
    if (idToken === undefined) return c.redirect('/', 303);
    return answers.signedOut(c, await signOn?.endUrl(idToken));
  });
  app.get('/events', async (c) => {
    const site = c.req.header('sec-fetch-site') ?? 'none';
    if (site !== 'same-origin' && site !== 'none') return answers.refuse(c, 403, 'a page of another site');
    if (c.req.method === 'HEAD') return c.body(null, 200, { 'content-type': 'text/event-stream' });
    const { person, address } = c.var.visitor;
    const whose = person?.name ?? networkOf(address);
    if (live.isFull(whose)) return c.text('too many open pages\n', 503, { 'retry-after': '30' });
    const isAllowed = async () => (await access.visitor(c.env.incoming)).mayRead;
    return live.stream(c, c.req.query('workspace'), { whose, isAllowed });
  });
  app.get('/', async (c) => {
    const only = source.only();
    if (only !== undefined) return c.redirect(pathOf(only), 302);
    const follows = answers.follow();
    const body = overviewView(await source.overview(), answers.context(c));
    return answers.show(c, body, { title: 'Overview', section: 'overview', follows });
  });
  app.get('/workspaces', async (c) => {
    const { searchParams } = new URL(c.req.url);
    const follows = answers.follow();
    const query = listQuery(searchParams);
    const found = await source.workspaces(query);
    const list = { ...found, unknown: unknownIn(searchParams, found.sources) };
    const last = pagesOf(list);
    if (query.page > last) {
      searchParams.set('page', String(last));
      return c.redirect(`/workspaces?${searchParams}`, 302);
    }
    const body = workspacesView(query, list, answers.context(c));
    return answers.show(c, body, { title: 'Workspaces', section: 'workspaces', follows });
  });
  app.get('/search', async (c) => {
    if (source.search === undefined) return answers.notFound(c);
    const text = typedText(c.req.query('q')) ?? '';
    const result = text.length < LEAST_SEARCHED ? undefined : await source.search(text);
    const { page } = listQuery(new URL(c.req.url).searchParams);
    return answers.show(c, searchView(text, page, result), { title: 'Search', section: 'overview' });
  });
  app.get('/pulls', async (c) => {
    const { pulls } = source;
    if (pulls === undefined) return answers.notFound(c);
    const follows = answers.follow();
    const { pulls: listed, problems } = await pulls.list();
    const body = pullsView(listed, problems, answers.context(c));
    return answers.show(c, body, { title: 'Pull requests', section: 'pulls', follows });
  });
  app.get('/pulls/:source/:number{[0-9]{1,9}}', async (c) => {
    const follows = answers.follow();
    const found = await source.pulls?.one(c.req.param('source'), Number(c.req.param('number')));
    if (found === undefined) return answers.gone(c, 'This pull request is not known.', '/pulls');
    const { pull, plans } = found;
    const title = `${pull.source}#${pull.number}`;
    return answers.show(c, pullView(pull, plans, answers.context(c)), { title, section: 'pulls', follows });
  });
  addWorkspaceRoutes(app, { source, answers });
  addFreezeRoutes(app, { source, answers });
  addApiRoutes(app, { source, answers });
  app.notFound((c) => answers.gone(c, 'This page does not exist.', '/'));
  app.onError((error, c) => {
    // An aborted upload is not an error of the server.
    if (!c.env.incoming.readableAborted) options.onError(error);
    if (error instanceof UserError) return answers.failed(c, 503, c.var.visitor.mayRead ? error : UNCHECKED);
    const text = 'An internal error occurred; see the log.';
    return answers.note(c, 500, { heading: 'Failed', text });
  });

  return {
    fetch: (request, env) => app.fetch(request, env),
    async mayRead(request) {
      if (access.refusal(request) !== undefined) return false;
      if (access.readsFreely(request)) return true;
      const caller = await access.caller(request).catch((error: unknown) => {
        options.onError(error);
        throw UNCHECKED;
      });
      return 'mayRead' in caller && caller.mayRead;
    },
    async close() {
      live.close();
      await signOn?.close();
    },
  };
}

/** False for NUL, which no name contains and PostgreSQL does not accept, and for invalid escapes. */
function isReadable(url: string): boolean {
  try {
    return !decodeURIComponent(url).includes('\0');
  } catch {
    return false;
  }
}

/** Returns the value of `Allow` for a path; undefined if there is no such page. */
function methodsOf(c: PageContext, hasSignOn: boolean): string | undefined {
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

/** Forbid contents from other sites, frames and caching. */
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
