import type { Hono } from 'hono';
import { MOST_COUNTED } from '../../operator/shown-workspace.ts';
import { listQuery, pagingOf, resourceQuery, typedText, unknownIn } from '../list-query.ts';
import type { PageAnswers, PageContext, PageEnv } from '../page-answers.ts';
import { LEAST_SEARCHED, type PageSource, type WorkspaceDetail } from '../page-data.ts';
import { foundResources } from '../views/resources-view.ts';
import { type WorkspacePath, workspacePath } from '../workspace-path.ts';
import {
  plansJson,
  pullJson,
  pullRowJson,
  resourceJson,
  resourceRowJson,
  runJson,
  runRowJson,
  searchHitJson,
  workspaceJson,
  workspaceRowJson,
} from './api-answers.ts';
import { type ApiDocument, type ApiName, apiJsonSchema } from './api-documents.ts';

interface ApiRoutes {
  readonly source: PageSource;
  readonly answers: PageAnswers;
}

interface Paging {
  readonly page: number;
  readonly limit: number;
}

const API = '/api/v1';
const NO_ROUTE = 'There is no such path; see /api/v1/schema.';

/** Adds the contents of the page as JSON. All requests only read. */
export function addApiRoutes(app: Hono<PageEnv>, { source, answers }: ApiRoutes): void {
  const answer = <Name extends ApiName>(c: PageContext, _: Name, document: ApiDocument<Name>) =>
    answers.json(c, document);
  const problem = (c: PageContext, problems: readonly string[]) => answers.refuse(c, 400, problems.join(' '));

  app.get(`${API}/schema`, (c) => answers.json(c, apiJsonSchema()));
  app.get(`${API}/overview`, async (c) => {
    const { counts, trends, freezes } = await source.overview();
    return answer(c, 'overview', {
      counts: Object.fromEntries(counts),
      trends,
      freezes: freezes.map(({ at, by, because, endedAt, endedBy }) => ({
        at: at.toISOString(),
        by,
        because,
        ended_at: endedAt?.toISOString() ?? null,
        ended_by: endedBy,
      })),
      frozen: c.var.freeze ?? null,
    });
  });
  app.get(`${API}/search`, (c) =>
    paged(c, ['q'], async (paging, parameters) => {
      if (source.search === undefined) return answers.gone(c, 'There is one workspace: search its resources.');
      const text = typedText(parameters.get('q')) ?? '';
      if (text.length < LEAST_SEARCHED) return problem(c, [`q needs at least ${LEAST_SEARCHED} characters.`]);
      const { hits, isCut } = await source.search(text);
      return answer(c, 'search', { ...onPage(c, paging, hits.map(searchHitJson)), cut: isCut });
    }),
  );
  app.get(`${API}/workspaces`, (c) =>
    paged(c, ['status', 'needs', 'source', 'label', 'q', 'sort', 'after'], async (paging, parameters) => {
      const { limit } = paging;
      const query = listQuery(parameters, limit);
      // In this default order, no workspace moves to another page between two requests, and every page costs the same.
      const sort = parameters.get('sort') ? query.sort : 'address';
      const isByAddress = sort === 'address' && !parameters.has('page');
      const after = isByAddress ? typedText(parameters.get('after')) : undefined;
      const list = await source.workspaces({ ...query, sort, after, limit: isByAddress ? limit + 1 : limit });
      const { found, sources } = list;
      const rows = list.rows.slice(0, limit);
      const problems = unknownIn(parameters, sources);
      if (problems.length > 0) return problem(c, problems);
      const items = rows.map(workspaceRowJson);
      const isLast = isByAddress ? list.rows.length <= limit : isLastPage(paging, Math.min(found, MOST_COUNTED));
      const following = isByAddress ? { after: rows.at(-1)?.address ?? '' } : { page: String(paging.page + 1) };
      return answer(c, 'workspaces', {
        ...{ items, found: Math.min(found, MOST_COUNTED), cut: found > MOST_COUNTED },
        next: isLast ? null : pathWith(c, following),
        frozen: c.var.freeze ?? null,
      });
    }),
  );
  app.get(`${API}/workspaces/*`, async (c) => {
    const path = workspacePath(new URL(c.req.url).pathname.slice(API.length));
    if (path === undefined || path.view === 'action') return answers.gone(c, NO_ROUTE);
    const { address } = path;
    if (path.view === 'run') {
      const run = await source.run(address, path.id);
      if (run !== undefined) return answer(c, 'run', runJson(run));
      return answers.gone(c, 'This run is gone: only the latest runs are kept.');
    }
    const detail = await source.workspace(address, path.view === 'resource' ? path.resource : undefined);
    if (detail === undefined) return answers.gone(c, `There is no workspace ${address}, or it is gone.`);
    return ofWorkspace(c, detail, path);
  });
  app.get(`${API}/pulls`, (c) =>
    paged(c, [], async (paging) => {
      const { pulls, problems } = (await source.pulls?.list()) ?? { pulls: [], problems: [] };
      return answer(c, 'pulls', { ...onPage(c, paging, pulls.map(pullRowJson)), problems });
    }),
  );
  app.get(`${API}/pulls/:source/:number{[0-9]{1,9}}`, async (c) => {
    const found = await source.pulls?.one(c.req.param('source'), Number(c.req.param('number')));
    if (found === undefined) return answers.gone(c, 'This pull request is not known.');
    return answer(c, 'pull', pullJson(found.pull, found.plans));
  });
  app.get('/api/*', (c) => answers.gone(c, NO_ROUTE));

  async function ofWorkspace(
    c: PageContext,
    detail: WorkspaceDetail,
    path: Exclude<WorkspacePath, { readonly view: 'run' | 'action' }>,
  ): Promise<Response> {
    if (path.view === 'workspace')
      return answer(c, 'workspace', { ...workspaceJson(detail), frozen: c.var.freeze ?? null });
    if (path.view === 'list') return listOf(c, detail, path.list);
    if (path.view === 'plan') {
      const plan = plansJson(detail).find(({ id }) => id === path.id);
      if (plan !== undefined) return answer(c, 'plan', plan);
      return answers.gone(c, 'This plan no longer waits: it was applied or replaced by a newer one.');
    }
    const row = foundResources(detail).find((each) => each.address === path.resource);
    if (row !== undefined) return answer(c, 'resource', resourceJson(row, detail));
    return answers.gone(c, `${path.resource} is gone from this workspace.`);
  }

  function listOf(c: PageContext, detail: WorkspaceDetail, list: 'resources' | 'runs' | 'plans'): Promise<Response> {
    return paged(c, list === 'resources' ? ['q', 'kind', 'status'] : [], async (paging, parameters) => {
      switch (list) {
        case 'resources': {
          const rows = foundResources(detail, resourceQuery(parameters)).map(resourceRowJson);
          const { checked_at, stale } = workspaceRowJson(detail);
          return answer(c, 'resources', { ...onPage(c, paging, rows), checked_at, stale });
        }
        case 'runs':
          return answer(c, 'runs', onPage(c, paging, detail.runs.map(runRowJson)));
        case 'plans': {
          const rows = plansJson(detail).map(({ plan, ...row }) => row);
          return answer(c, 'plans', onPage(c, paging, rows));
        }
        default:
          return list satisfies never;
      }
    });
  }

  /** Responds with an error if a parameter is invalid, otherwise with the list. */
  async function paged(
    c: PageContext,
    filters: readonly string[],
    listed: (paging: Paging, parameters: URLSearchParams) => Promise<Response>,
  ): Promise<Response> {
    const { searchParams } = new URL(c.req.url);
    const { problems, ...paging } = pagingOf(searchParams, filters);
    return problems.length > 0 ? problem(c, problems) : listed(paging, searchParams);
  }
}

function onPage<Item>(c: PageContext, paging: Paging, all: readonly Item[]) {
  const { page, limit } = paging;
  const items = all.slice((page - 1) * limit, page * limit);
  const next = isLastPage(paging, all.length) ? null : pathWith(c, { page: String(page + 1) });
  return { items, found: all.length, next };
}

function isLastPage({ page, limit }: Paging, found: number): boolean {
  return page * limit >= found;
}

/** Returns the path of the request with these parameters replaced. */
function pathWith(c: PageContext, parameters: Readonly<Record<string, string>>): string {
  const { pathname, searchParams } = new URL(c.req.url);
  for (const [name, value] of Object.entries(parameters)) searchParams.set(name, value);
  return `${pathname}?${searchParams}`;
}
