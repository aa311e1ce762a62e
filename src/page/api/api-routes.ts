import type { Hono } from 'hono';
import { MAX_COUNTED } from '../../operator/shown-workspace.ts';
import { parseListQuery, parsePaging, parseResourceQuery, queryProblems, typedText } from '../list-query.ts';
import { MIN_SEARCH_LENGTH, type PageSource, RUN_NOT_FOUND, type WorkspaceDetail } from '../page-data.ts';
import type { PageContext, PageEnv, PageResponses } from '../page-responses.ts';
import { findResources } from '../views/resources-view.ts';
import { parseWorkspacePath, type WorkspacePath } from '../workspace-path.ts';
import { type ApiDocument, type ApiName, apiJsonSchema } from './api-documents.ts';
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
} from './api-json.ts';

interface Paging {
  readonly page: number;
  readonly limit: number;
}

const API = '/api/v1';
const NO_ROUTE = 'There is no such path. See /api/v1/schema.';

/** Adds read-only routes that serve the contents of the page as JSON. */
export function addApiRoutes(app: Hono<PageEnv>, source: PageSource, responses: PageResponses): void {
  const respond = <Name extends ApiName>(c: PageContext, _: Name, document: ApiDocument<Name>) =>
    responses.sendJson(c, document);
  const refuse = (c: PageContext, problems: readonly string[]) => responses.refuse(c, 400, problems.join(' '));

  app.get(`${API}/schema`, (c) => responses.sendJson(c, apiJsonSchema()));
  app.get(`${API}/overview`, async (c) => {
    const { counts, trends, freezes } = await source.overview();
    return respond(c, 'overview', {
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
    respondWithPage(c, ['q'], async (paging, parameters) => {
      if (source.search === undefined)
        return responses.showMissing(c, 'Search is available only in a fleet. Filter the resources instead.');
      const text = typedText(parameters.get('q')) ?? '';
      if (text.length < MIN_SEARCH_LENGTH) return refuse(c, [`q needs at least ${MIN_SEARCH_LENGTH} characters.`]);
      const { hits, isTruncated } = await source.search(text);
      return respond(c, 'search', { ...pageOf(c, paging, hits.map(searchHitJson)), cut: isTruncated });
    }),
  );
  app.get(`${API}/workspaces`, (c) =>
    respondWithPage(c, ['status', 'needs', 'source', 'label', 'q', 'sort', 'after'], async (paging, parameters) => {
      const { limit } = paging;
      const query = parseListQuery(parameters, limit);
      // By default, sort by address: no workspace moves to another page between two requests, and every page costs the same.
      const sort = parameters.get('sort') ? query.sort : 'address';
      const isByAddress = sort === 'address' && !parameters.has('page');
      const after = isByAddress ? typedText(parameters.get('after')) : undefined;
      const list = await source.workspaces({ ...query, sort, after, limit: isByAddress ? limit + 1 : limit });
      const { found, sources } = list;
      const rows = list.rows.slice(0, limit);
      const problems = queryProblems(parameters, sources);
      if (problems.length > 0) return refuse(c, problems);
      const items = rows.map(workspaceRowJson);
      const isLast = isByAddress ? list.rows.length <= limit : isLastPage(paging, Math.min(found, MAX_COUNTED));
      const nextParameters = isByAddress ? { after: rows.at(-1)?.address ?? '' } : { page: String(paging.page + 1) };
      return respond(c, 'workspaces', {
        ...{ items, found: Math.min(found, MAX_COUNTED), cut: found > MAX_COUNTED },
        next: isLast ? null : pathWith(c, nextParameters),
        frozen: c.var.freeze ?? null,
      });
    }),
  );
  app.get(`${API}/workspaces/*`, async (c) => {
    const path = parseWorkspacePath(new URL(c.req.url).pathname.slice(API.length));
    if (path === undefined || path.view === 'action') return responses.showMissing(c, NO_ROUTE);
    const { address } = path;
    if (path.view === 'run') {
      const run = await source.run(address, path.id);
      if (run !== undefined) return respond(c, 'run', runJson(run));
      return responses.showMissing(c, RUN_NOT_FOUND);
    }
    const detail = await source.workspace(address, path.view === 'resource' ? path.resource : undefined);
    if (detail === undefined) return responses.showMissing(c, `There is no workspace ${address}.`);
    return respondAboutWorkspace(c, detail, path);
  });
  app.get(`${API}/pulls`, (c) =>
    respondWithPage(c, [], async (paging) => {
      const { pulls, problems } = (await source.pulls?.list()) ?? { pulls: [], problems: [] };
      return respond(c, 'pulls', { ...pageOf(c, paging, pulls.map(pullRowJson)), problems });
    }),
  );
  app.get(`${API}/pulls/:source/:number{[0-9]{1,9}}`, async (c) => {
    const found = await source.pulls?.one(c.req.param('source'), Number(c.req.param('number')));
    if (found === undefined) return responses.showMissing(c, 'There is no such pull request.');
    return respond(c, 'pull', pullJson(found.pull, found.plans));
  });
  app.get('/api/*', (c) => responses.showMissing(c, NO_ROUTE));

  async function respondAboutWorkspace(
    c: PageContext,
    detail: WorkspaceDetail,
    path: Exclude<WorkspacePath, { readonly view: 'run' | 'action' }>,
  ): Promise<Response> {
    if (path.view === 'workspace')
      return respond(c, 'workspace', { ...workspaceJson(detail), frozen: c.var.freeze ?? null });
    if (path.view === 'list') return respondWithList(c, detail, path.list);
    if (path.view === 'plan') {
      const plan = plansJson(detail).find(({ id }) => id === path.id);
      if (plan !== undefined) return respond(c, 'plan', plan);
      return responses.showMissing(c, 'There is no such plan: it was applied, or replaced by a newer plan.');
    }
    const row = findResources(detail).find((each) => each.address === path.resource);
    if (row !== undefined) return respond(c, 'resource', resourceJson(row, detail));
    return responses.showMissing(c, `This workspace has no resource ${path.resource}.`);
  }

  function respondWithList(
    c: PageContext,
    detail: WorkspaceDetail,
    list: 'resources' | 'runs' | 'plans',
  ): Promise<Response> {
    return respondWithPage(c, list === 'resources' ? ['q', 'kind', 'status'] : [], async (paging, parameters) => {
      switch (list) {
        case 'resources': {
          const rows = findResources(detail, parseResourceQuery(parameters)).map(resourceRowJson);
          const { checked_at, stale } = workspaceRowJson(detail);
          return respond(c, 'resources', { ...pageOf(c, paging, rows), checked_at, stale });
        }
        case 'runs':
          return respond(c, 'runs', pageOf(c, paging, detail.runs.map(runRowJson)));
        case 'plans': {
          const rows = plansJson(detail).map(({ plan, ...row }) => row);
          return respond(c, 'plans', pageOf(c, paging, rows));
        }
        default:
          return list satisfies never;
      }
    });
  }

  /** Responds with an error if a parameter is invalid, otherwise with the list. */
  async function respondWithPage(
    c: PageContext,
    filters: readonly string[],
    list: (paging: Paging, parameters: URLSearchParams) => Promise<Response>,
  ): Promise<Response> {
    const { searchParams } = new URL(c.req.url);
    const { problems, ...paging } = parsePaging(searchParams, filters);
    return problems.length > 0 ? refuse(c, problems) : list(paging, searchParams);
  }
}

function pageOf<Item>(c: PageContext, paging: Paging, all: readonly Item[]) {
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
