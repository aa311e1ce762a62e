import type { IncomingMessage } from 'node:http';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { type Context, Hono } from 'hono';
import { networkOf } from '../operator/health/guesses.ts';
import { notFound } from '../operator/health/listener.ts';
import { helpText } from '../output/next-steps.ts';
import { UserError } from '../problems/user-error.ts';
import { Access, type AccessOptions, type Visitor } from './access/access.ts';
import { may } from './access/person.ts';
import { SESSION_MILLISECONDS } from './access/sessions.ts';
import { listQuery, pageNumber, unknownIn } from './list-query.ts';
import { LiveUpdates } from './live.ts';
import type { ActionName, PageSource } from './page-data.ts';
import { pageHeaders } from './page-headers.ts';
import { assetPath } from './views/assets.ts';
import { type Html, html } from './views/html.ts';
import { overviewView } from './views/overview-view.ts';
import { pageScript } from './views/page-script.ts';
import { pathOf, type ViewContext } from './views/parts.ts';
import { resourceView } from './views/resource-view.ts';
import { runView } from './views/run-view.ts';
import { layout } from './views/site-layout.ts';
import { siteStyle } from './views/site-style.ts';
import { confirmView, noteView, pageActionWords, signInView } from './views/small-views.ts';
import { planOf, workspaceView } from './views/workspace-view.ts';
import { listPath, pagesOf, workspacesView } from './views/workspaces-view.ts';
import { type WorkspacePath, workspacePath } from './workspace-path.ts';

export interface SiteOptions extends AccessOptions {
  readonly source: PageSource;
  /** Whether `POST /reconcile` is answered beside it. */
  readonly reconciles: boolean;
  now(): Date;
  /** Strikes out secrets. */
  redact(text: string): string;
  /** Told of mistakes of ours. */
  onError(error: unknown): void;
  /** Milliseconds between two looks for changes. */
  readonly every: number;
}

interface Env {
  readonly Bindings: HttpBindings;
  readonly Variables: { visitor: Visitor };
}

type PageContext = Context<Env>;

/** A workspace, or all with `undefined`, and its version before it was read: a change that comes between is not missed. */
interface Follows {
  readonly address: string | undefined;
  readonly version: Promise<string>;
}

interface Shown {
  readonly title: string;
  readonly section?: 'overview' | 'workspaces';
  /** What it follows changes of; of nothing where absent. */
  readonly follows?: Follows;
  readonly status?: undefined | 200 | 400 | 401 | 403 | 404 | 409 | 429 | 500;
}

/** What of a form is read: a token, an id, a reason. */
const MOST_FORM_BYTES = 16_384;
const FORM_TYPE = /^application\/x-www-form-urlencoded *(;|$)/i;

const assets = { 'style.css': [siteStyle, 'text/css'], 'page.js': [pageScript, 'text/javascript'] } as const;

export interface Page {
  readonly listener: ReturnType<typeof getRequestListener>;
  mayRead(request: IncomingMessage): Promise<boolean>;
  /** Ends live updates. */
  close(): void;
}

/** The page as an answer to requests: who may see it, what it shows, and what is done on it. */
export function createPage(options: SiteOptions): Page {
  const { source, now } = options;
  const access = new Access(options);
  const live = new LiveUpdates({ version: (address) => source.version(address), every: options.every });
  const app = new Hono<Env>();

  const viewContext = (c: PageContext): ViewContext => {
    const { pathname, search } = new URL(c.req.url);
    return {
      title: source.title,
      visitor: c.var.visitor,
      now: now(),
      here: pathname + search,
      missingTokens: options.tokens.missing,
      tokenOrigin: options.tokens.origin,
      isSingle: source.only() !== undefined,
    };
  };
  const show = async (c: PageContext, body: Html, shown: Shown): Promise<Response> => {
    const { title, section, follows, status = 200 } = shown;
    const updates = follows && { ...follows, version: await follows.version };
    const page = layout({ title, section, live: updates, body }, viewContext(c));
    return c.html(options.redact(page.text), status);
  };
  const follow = (address?: string): Follows => ({ address, version: live.version(address) });
  const note = (c: PageContext, status: Shown['status'], heading: string, text: string, back = '/') =>
    show(c, noteView(heading, text, back), { title: heading, status });
  const gone = (c: PageContext, text: string, back = '/workspaces') => note(c, 404, 'Not found', text, back);
  const signIn = (c: PageContext, to: string, status: Shown['status'], said?: string) =>
    show(c, signInView(to, viewContext(c), said), { title: 'Sign in', status });
  const setSession = (c: PageContext, value: string, maxAge: number): void => {
    const secure = c.var.visitor.isSecure ? '; Secure' : '';
    const name = access.cookieName(c.env.incoming);
    c.header('set-cookie', `${name}=${value}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${maxAge}${secure}`);
  };

  app.use(async (c, next) => {
    for (const [name, value] of Object.entries(pageHeaders)) c.header(name, value);
    const why = access.refusal(c.env.incoming);
    if (why !== undefined) return c.text(`${why}\n`, 403);
    if (c.req.header('transfer-encoding') !== undefined) return c.text('send the length of the form\n', 411);
    if (Number(c.req.header('content-length') ?? 0) > MOST_FORM_BYTES)
      return c.text('the form is too large\n', 413);
    if (c.req.method === 'POST' && !FORM_TYPE.test(c.req.header('content-type') ?? ''))
      return c.text('send the form as application/x-www-form-urlencoded\n', 415);
    const visitor = await access.visitor(c.env.incoming);
    c.set('visitor', visitor);
    // Nothing is called so, and no database can look for it.
    if (c.req.url.includes('%00')) return noPage(c);
    if (visitor.newSession !== undefined) setSession(c, visitor.newSession, SESSION_MILLISECONDS / 1000);
    return next();
  });

  app.get('/assets/:digest/:file', (c) => {
    const file = c.req.param('file');
    if (file !== 'style.css' && file !== 'page.js') return c.notFound();
    const [content, type] = assets[file];
    if (c.req.path === assetPath(file, content)) c.header('cache-control', 'max-age=31536000, immutable');
    return c.body(content, 200, { 'content-type': `${type}; charset=utf-8` });
  });
  app.get('/sign-in', (c) => signIn(c, ownPath(c.req.query('to')), 200));
  app.post('/sign-in', async (c) => {
    const form = await formOf(c);
    const result = await access.signIn((form.get('token') ?? '').trim(), c.var.visitor.address);
    const target = ownPath(form.get('to') ?? undefined);
    if ('session' in result) {
      await access.signOut(c.env.incoming);
      setSession(c, result.session, SESSION_MILLISECONDS / 1000);
      return c.redirect(target, 303);
    }
    if (result.wait === 0) return signIn(c, target, 401, 'The token is wrong.');
    c.header('retry-after', String(result.wait));
    return signIn(c, target, 429, `Too many wrong tokens. Try again in ${result.wait} s.`);
  });

  app.use(async (c, next) => {
    const isPage = ['/', '/events', '/sign-out', '/workspaces'].includes(c.req.path);
    if (!isPage && !c.req.path.startsWith('/workspaces/')) return noPage(c);
    if (c.var.visitor.mayRead) return next();
    return signIn(c, c.req.method === 'GET' ? viewContext(c).here : '/', 401);
  });
  app.post('/sign-out', async (c) => {
    if (!access.isOwnForm(c.var.visitor, (await formOf(c)).get('form'))) return badForm(c);
    await access.signOut(c.env.incoming);
    setSession(c, '', 0);
    return c.redirect('/', 303);
  });
  app.get('/events', async (c) => {
    const { person, address } = c.var.visitor;
    const whose = person?.name ?? networkOf(address);
    if (live.isFull(whose)) return c.text('too many open pages\n', 503, { 'retry-after': '30' });
    const isAllowed = async () => (await access.visitor(c.env.incoming)).mayRead;
    return live.stream(c, c.req.query('workspace'), { whose, isAllowed });
  });
  app.get('/', async (c) => {
    const only = source.only();
    if (only !== undefined) return c.redirect(pathOf(only), 302);
    const follows = follow();
    const body = overviewView(await source.overview(), viewContext(c));
    return show(c, body, { title: 'Overview', section: 'overview', follows });
  });
  app.get('/workspaces', async (c) => {
    const { searchParams } = new URL(c.req.url);
    const follows = follow();
    const query = listQuery(searchParams);
    const list = { ...(await source.workspaces(query)), unknown: unknownIn(searchParams) };
    const last = pagesOf(list);
    if (query.page > last) return c.redirect(listPath({ ...query, page: last }), 302);
    const body = workspacesView(query, list, viewContext(c));
    return show(c, body, { title: 'Workspaces', section: 'workspaces', follows });
  });
  app.get('/workspaces/*', (c) => {
    const path = workspacePath(new URL(c.req.url).pathname);
    return path === undefined ? gone(c, 'There is no such page.') : showPath(c, path);
  });
  app.post('/workspaces/*', async (c) => {
    const path = workspacePath(new URL(c.req.url).pathname);
    if (path?.view !== 'action') return gone(c, 'There is no such page.');
    const { address, action } = path;
    const { person, isNamedByProxy } = c.var.visitor;
    const form = await formOf(c);
    if (person === undefined || !may(person, action)) return forbidden(c, action);
    if (!access.isOwnForm(c.var.visitor, form.get('form'))) return badForm(c);
    const text = (field: string) => form.get(field)?.replaceAll('\0', '').slice(0, 255) || undefined;
    const by = isNamedByProxy ? `${person.name} (via proxy)` : person.name;
    const request = { action, address, of: text('of'), because: text('because'), by };
    try {
      await source.act(request);
      return c.redirect(pathOf(address), 303);
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      const help = helpText(error, '');
      const text = help === undefined ? error.message : `${error.message} (${help})`;
      return note(c, 409, 'Not done', text, pathOf(address));
    }
  });
  app.notFound((c) => noPage(c));
  app.onError((error, c) => {
    // A form that its sender broke off is no mistake of ours.
    if (!c.env.incoming.readableAborted) options.onError(error);
    return c.text('internal error; see the log\n', 500);
  });

  async function showPath(c: PageContext, path: WorkspacePath): Promise<Response> {
    const { view, address } = path;
    const context = viewContext(c);
    if (view === 'run') {
      const run = await source.run(address, path.id);
      if (run === undefined)
        return gone(c, 'This run is gone: only the latest runs are kept.', pathOf(address));
      return show(c, runView(address, run, context), { title: `Run · ${address}`, section: 'workspaces' });
    }
    const follows = follow(address);
    const detail = await source.workspace(address);
    if (detail === undefined) return gone(c, `There is no workspace ${address}, or it is gone.`);
    const shown = { title: address, section: 'workspaces', follows } as const;
    if (view === 'workspace') {
      return show(c, workspaceView(detail, context, pageNumber(c.req.query('page'))), shown);
    }
    if (view === 'resource') {
      const body = resourceView(detail, path.resource, context);
      if (body === undefined)
        return gone(c, `${path.resource} is gone from this workspace.`, pathOf(address));
      return show(c, body, { ...shown, title: `${path.resource} · ${address}` });
    }
    const { action } = path;
    if (context.visitor.person === undefined) return signIn(c, context.here, 401);
    const of = c.req.query('of');
    const isPlan = action === 'approve' || action === 'reject';
    if (isPlan && detail.waiting?.id !== of) {
      return gone(
        c,
        'This plan does not wait any more: it was decided, or a newer one took its place.',
        pathOf(address),
      );
    }
    if (!detail.actions.includes(action))
      return note(c, 409, 'Not possible', 'This cannot be done now.', pathOf(address));
    if (!may(context.visitor.person, action)) return forbidden(c, action);
    if (action === 'close-orphan' && !detail.orphans.some(({ id }) => id === of)) {
      return gone(c, 'This orphan is not on the list any more.', pathOf(address));
    }
    if (action === 'compare-calls' && !detail.resources.some((each) => each.address === of)) {
      return gone(c, 'This resource is gone from the workspace.', pathOf(address));
    }
    const body = confirmView(detail, { action, of, shown: isPlan ? planOf(detail) : html`` }, context);
    return show(c, body, { title: `${pageActionWords[action].heading} · ${address}`, section: 'workspaces' });
  }

  const forbidden = (c: PageContext, action: ActionName) =>
    note(
      c,
      403,
      'Not allowed',
      `${c.var.visitor.person === undefined ? 'Sign in' : 'Your role does not allow you'} to ${pageActionWords[action].heading.toLowerCase()}.`,
    );
  const badForm = (c: PageContext) =>
    note(c, 403, 'Not done', 'This form belongs to another session. Go back, reload the page and try again.');
  const noPage = (c: PageContext) =>
    (c.req.header('accept') ?? '').includes('text/html')
      ? gone(c, 'There is no such page.', '/')
      : c.json({ error: notFound(options) }, 404);

  return {
    listener: getRequestListener((request, env) => app.fetch(request, env), { overrideGlobalObjects: false }),
    mayRead: async (request) =>
      access.refusal(request) === undefined && (await access.visitor(request)).mayRead,
    close: () => live.close(),
  };
}

async function formOf(c: PageContext): Promise<URLSearchParams> {
  return new URLSearchParams(await c.req.text());
}

/** The path of a page of our own that somebody is to be led back to. */
function ownPath(text: string | undefined): string {
  const base = 'http://page';
  if (text === undefined || !URL.canParse(text, base)) return '/';
  const { origin, pathname, search } = new URL(text, base);
  return origin === base && !pathname.startsWith('//') ? pathname + search : '/';
}
