import type { Hono } from 'hono';
import { html } from '../output/html/html.ts';
import { UserError } from '../problems/user-error.ts';
import { closingReasons } from '../state/state-document.ts';
import { mayPerform } from './access/person.ts';
import { parseResourceQuery, typedText } from './list-query.ts';
import {
  type ActionName,
  type ActionRequest,
  closeElsewhereHint,
  NO_SUCH_PAGE,
  ORPHAN_NOT_FOUND,
  type PageSource,
  RESOURCES_UNKNOWN,
  RUN_NOT_FOUND,
  type WorkspaceDetail,
} from './page-data.ts';
import { type LiveSubject, type PageContext, type PageEnv, type PageResponses, readForm } from './page-responses.ts';
import { pathOf } from './views/parts.ts';
import { resourceView } from './views/resource-view.ts';
import { resourcePages } from './views/resources-view.ts';
import { runView } from './views/run-view.ts';
import { confirmView, pageActionWords } from './views/small-views.ts';
import { planOf, workspaceView } from './views/workspace-view.ts';
import { parseWorkspacePath, type WorkspacePath } from './workspace-path.ts';

/** Adds the pages and actions of workspaces, resources and runs. */
export function addWorkspaceRoutes(app: Hono<PageEnv>, source: PageSource, responses: PageResponses): void {
  app.get('/workspaces/*', async (c) => {
    const { pathname, search } = new URL(c.req.url);
    if (pathname.endsWith('/')) return c.redirect(pathname.replace(/\/+$/, '') + search, 301);
    const path = parseWorkspacePath(pathname);
    return path === undefined ? responses.showMissing(c, NO_SUCH_PAGE) : showPath(c, path);
  });
  app.post('/workspaces/*', async (c) => {
    const path = parseWorkspacePath(new URL(c.req.url).pathname);
    if (path?.view !== 'action') return responses.showMissing(c, NO_SUCH_PAGE);
    const { address, action } = path;
    const form = await readForm(c);
    const [subject, reason] = [typedText(form.get('of')), typedText(form.get('because'))];
    const to = `${pathOf(address, 'actions', action)}${subject === undefined ? '' : `?of=${encodeURIComponent(subject)}`}`;
    const by = await responses.checkSender(c, { action, form, to, back: pathOf(address) });
    if (by instanceof Response) return by;
    const missing = missingField({ action, subject, reason });
    if (missing !== undefined)
      return responses.showNote(c, 400, { heading: 'Action refused', text: missing, back: pathOf(address) });
    const isOfResource = action === 'compare-calls' && subject !== undefined;
    const back = isOfResource ? pathOf(address, 'resources', subject) : pathOf(address);
    try {
      await source.act({ action, address, subject, reason, by });
      return c.redirect(back, 303);
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      return responses.showFailure(c, 409, error, back);
    }
  });

  async function showPath(c: PageContext, path: WorkspacePath): Promise<Response> {
    const { view, address } = path;
    if (view === 'list' || view === 'plan') return responses.showMissing(c, NO_SUCH_PAGE);
    const back = pathOf(address);
    if (view === 'run') {
      const run = await source.run(address, path.id);
      if (run === undefined) return responses.showMissing(c, RUN_NOT_FOUND, back);
      const body = runView(address, run, responses.context(c));
      return responses.show(c, body, {
        title: `Run · ${address}`,
        section: 'workspaces',
        live: responses.liveSubject(address),
      });
    }
    const live = responses.liveSubject(address);
    const detail = await source.workspace(address, view === 'resource' ? path.resource : undefined);
    if (detail === undefined) return responses.showMissing(c, `There is no workspace ${address}.`);
    const viewOptions = { title: address, section: 'workspaces', live } as const;
    if (view === 'action') return showConfirmation(c, path, { detail, live });
    if (view === 'workspace') {
      const { searchParams } = new URL(c.req.url);
      const query = parseResourceQuery(searchParams);
      const page = String(Math.min(query.page, resourcePages(detail, query)));
      if (searchParams.has('page') && searchParams.get('page') !== page) {
        searchParams.set('page', page);
        return c.redirect(`${back}?${searchParams}`, 302);
      }
      return responses.show(c, workspaceView(detail, responses.context(c), query), viewOptions);
    }
    const body = resourceView(detail, path.resource, responses.context(c));
    if (body === undefined) {
      const text = detail.isUnread ? RESOURCES_UNKNOWN : `This workspace has no resource ${path.resource}.`;
      return responses.showMissing(c, text, back);
    }
    return responses.show(c, body, { ...viewOptions, title: `${path.resource} · ${address}` });
  }

  async function showConfirmation(
    c: PageContext,
    { address, action }: Extract<WorkspacePath, { readonly view: 'action' }>,
    { detail, live }: { readonly detail: WorkspaceDetail; readonly live: LiveSubject },
  ): Promise<Response> {
    const context = responses.context(c);
    const back = pathOf(address);
    const { person } = context.visitor;
    if (person === undefined) return responses.showSignIn(c, context.here, 401);
    const subject = c.req.query('of');
    const isPlan = action === 'approve' || action === 'reject';
    const isDecided = detail.saved !== undefined && !detail.actions.includes('approve');
    if (isPlan && (detail.saved?.id !== subject || isDecided)) {
      const text = 'This plan no longer waits for approval: it was decided, or replaced by a newer plan.';
      return responses.showMissing(c, text, back);
    }
    if (!detail.actions.includes(action)) {
      return responses.showNote(c, 409, {
        heading: 'Not possible',
        text: impossibleReason(action, detail, subject),
        back,
      });
    }
    if (!mayPerform(person, action)) return responses.showForbidden(c, action, back);
    if (action === 'close-orphan' && !detail.orphans.some(({ id }) => id === subject))
      return responses.showMissing(c, ORPHAN_NOT_FOUND, back);
    if (action === 'compare-calls' && !detail.resources.some((each) => each.address === subject))
      return responses.showMissing(c, 'This workspace no longer has this resource.', back);
    const body = confirmView(
      detail,
      { action, subject, plan: isPlan ? planOf(detail.saved?.plan, { selection: detail.selection }) : html`` },
      context,
    );
    const title = `${pageActionWords[action].heading} · ${address}`;
    return responses.show(c, body, { title, section: 'workspaces', live });
  }
}

/** Returns the message for a form without a required field; undefined for a complete form. */
function missingField({ action, subject, reason }: Pick<ActionRequest, 'action' | 'subject' | 'reason'>) {
  if (action === 'run' || action === 'resume') return undefined;
  if (action === 'pause') return reason === undefined ? 'Give a reason.' : undefined;
  if (action === 'close-orphan' && !closingReasons.some((each) => each === reason))
    return 'Choose one of the reasons in the form.';
  const subjects = { approve: 'plan', reject: 'plan', 'close-orphan': 'orphan', 'compare-calls': 'resource' };
  return subject === undefined ? `The form does not contain the ${subjects[action]}.` : undefined;
}

function impossibleReason(
  action: ActionName,
  { actions, externalLocation, selection }: WorkspaceDetail,
  subject = 'ID',
): string {
  if (action === 'resume') return 'The workspace is not paused.';
  if (action === 'approve' || action === 'reject') return 'The plan is already rejected.';
  if (action === 'close-orphan' && externalLocation !== undefined)
    return closeElsewhereHint(externalLocation, subject, selection);
  if (action !== 'run' && action !== 'pause') return 'The state of this workspace is not known yet.';
  return actions.includes('resume') ? 'The workspace is paused.' : 'The workspace is no longer in its source.';
}
