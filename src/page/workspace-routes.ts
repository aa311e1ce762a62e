import type { Hono } from 'hono';
import { html } from '../output/html/html.ts';
import { UserError } from '../problems/user-error.ts';
import { closingReasons } from '../state/state-document.ts';
import { may } from './access/person.ts';
import { resourceQuery, typedText } from './list-query.ts';
import { type Follows, formOf, type PageAnswers, type PageContext, type PageEnv } from './page-answers.ts';
import {
  type ActionName,
  type ActionRequest,
  closingOutside,
  ORPHAN_GONE,
  type PageSource,
  UNREAD,
  type WorkspaceDetail,
} from './page-data.ts';
import { pathOf } from './views/parts.ts';
import { resourceView } from './views/resource-view.ts';
import { resourcePages } from './views/resources-view.ts';
import { runView } from './views/run-view.ts';
import { confirmView, pageActionWords } from './views/small-views.ts';
import { planOf, workspaceView } from './views/workspace-view.ts';
import { type WorkspacePath, workspacePath } from './workspace-path.ts';

interface WorkspaceRoutes {
  readonly source: PageSource;
  readonly answers: PageAnswers;
}

/** Adds the pages and actions of workspaces, resources and runs. */
export function addWorkspaceRoutes(app: Hono<PageEnv>, { source, answers }: WorkspaceRoutes): void {
  app.get('/workspaces/*', async (c) => {
    const { pathname, search } = new URL(c.req.url);
    if (pathname.endsWith('/')) return c.redirect(pathname.replace(/\/+$/, '') + search, 301);
    const path = workspacePath(pathname);
    return path === undefined ? answers.gone(c, 'There is no such page.') : showPath(c, path);
  });
  app.post('/workspaces/*', async (c) => {
    const path = workspacePath(new URL(c.req.url).pathname);
    if (path?.view !== 'action') return answers.gone(c, 'There is no such page.');
    const { address, action } = path;
    const form = await formOf(c);
    const [of, because] = [typedText(form.get('of')), typedText(form.get('because'))];
    const to = `${pathOf(address, 'actions', action)}${of === undefined ? '' : `?of=${encodeURIComponent(of)}`}`;
    const by = await answers.sender(c, { action, form, to, back: pathOf(address) });
    if (by instanceof Response) return by;
    const lack = lackOf({ action, of, because });
    if (lack !== undefined) return answers.note(c, 400, { heading: 'Not done', text: lack, back: pathOf(address) });
    const back = action === 'compare-calls' && of !== undefined ? pathOf(address, 'resources', of) : pathOf(address);
    try {
      await source.act({ action, address, of, because, by });
      return c.redirect(back, 303);
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      return answers.failed(c, 409, error, back);
    }
  });

  async function showPath(c: PageContext, path: WorkspacePath): Promise<Response> {
    const { view, address } = path;
    if (view === 'list' || view === 'plan') return answers.gone(c, 'There is no such page.');
    const back = pathOf(address);
    if (view === 'run') {
      const run = await source.run(address, path.id);
      if (run === undefined) return answers.gone(c, 'This run is gone: only the latest runs are kept.', back);
      const body = runView(address, run, answers.context(c));
      return answers.show(c, body, {
        title: `Run · ${address}`,
        section: 'workspaces',
        follows: answers.follow(address),
      });
    }
    const follows = answers.follow(address);
    const detail = await source.workspace(address, view === 'resource' ? path.resource : undefined);
    if (detail === undefined) return answers.gone(c, `There is no workspace ${address}, or it is gone.`);
    const shown = { title: address, section: 'workspaces', follows } as const;
    if (view === 'action') return confirm(c, path, { detail, follows });
    if (view === 'workspace') {
      const { searchParams } = new URL(c.req.url);
      const query = resourceQuery(searchParams);
      const page = String(Math.min(query.page, resourcePages(detail, query)));
      if (searchParams.has('page') && searchParams.get('page') !== page) {
        searchParams.set('page', page);
        return c.redirect(`${back}?${searchParams}`, 302);
      }
      return answers.show(c, workspaceView(detail, answers.context(c), query), shown);
    }
    const body = resourceView(detail, path.resource, answers.context(c));
    if (body === undefined) {
      const text = detail.isUnread ? UNREAD : `${path.resource} is gone from this workspace.`;
      return answers.gone(c, text, back);
    }
    return answers.show(c, body, { ...shown, title: `${path.resource} · ${address}` });
  }

  async function confirm(
    c: PageContext,
    { address, action }: Extract<WorkspacePath, { readonly view: 'action' }>,
    { detail, follows }: { readonly detail: WorkspaceDetail; readonly follows: Follows },
  ): Promise<Response> {
    const context = answers.context(c);
    const back = pathOf(address);
    const { person } = context.visitor;
    if (person === undefined) return answers.signIn(c, context.here, 401);
    const of = c.req.query('of');
    const isPlan = action === 'approve' || action === 'reject';
    const isDecided = detail.saved !== undefined && !detail.actions.includes('approve');
    if (isPlan && (detail.saved?.id !== of || isDecided)) {
      const text = 'This plan no longer waits: it was decided or replaced by a newer one.';
      return answers.gone(c, text, back);
    }
    if (!detail.actions.includes(action)) {
      return answers.note(c, 409, {
        heading: 'Not possible',
        text: whyNot(action, detail, c.req.query('of')),
        back,
      });
    }
    if (!may(person, action)) return answers.forbidden(c, action, back);
    if (action === 'close-orphan' && !detail.orphans.some(({ id }) => id === of))
      return answers.gone(c, ORPHAN_GONE, back);
    if (action === 'compare-calls' && !detail.resources.some((each) => each.address === of))
      return answers.gone(c, 'This resource is gone from the workspace.', back);
    const body = confirmView(
      detail,
      { action, of, shown: isPlan ? planOf(detail.saved?.plan, { selection: detail.selection }) : html`` },
      context,
    );
    const title = `${pageActionWords[action].heading} · ${address}`;
    return answers.show(c, body, { title, section: 'workspaces', follows });
  }
}

/** Returns the message for a form without a required field; undefined for a complete form. */
function lackOf({ action, of, because }: Pick<ActionRequest, 'action' | 'of' | 'because'>) {
  if (action === 'run' || action === 'resume') return undefined;
  if (action === 'pause') return because === undefined ? 'Give a reason.' : undefined;
  if (action === 'close-orphan' && !closingReasons.some((each) => each === because))
    return 'Choose one of the reasons in the form.';
  const subjects = { approve: 'plan', reject: 'plan', 'close-orphan': 'orphan', 'compare-calls': 'resource' };
  return of === undefined ? `The form names no ${subjects[action]}.` : undefined;
}

function whyNot(action: ActionName, { actions, outside, selection }: WorkspaceDetail, of = 'ID'): string {
  if (action === 'resume') return 'The workspace is not paused.';
  if (action === 'approve' || action === 'reject') return 'The plan is rejected.';
  if (action === 'close-orphan' && outside !== undefined) return closingOutside(outside, of, selection);
  if (action !== 'run' && action !== 'pause') return 'No state of this workspace is known yet.';
  return actions.includes('resume') ? 'The workspace is paused.' : 'The workspace has vanished.';
}
