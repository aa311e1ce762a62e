import { needs, workspaceStatuses } from '../operator/workspace-status.ts';
import { type ListQuery, listOrders, type ResourceQuery, ROWS_PER_PAGE } from './page-data.ts';

export function parseListQuery(parameters: URLSearchParams, limit = ROWS_PER_PAGE): ListQuery {
  const text = textIn(parameters);
  return {
    status: workspaceStatuses.find((each) => each === parameters.get('status')),
    needs: needs.find((each) => each === parameters.get('needs')),
    source: text('source'),
    label: text('label'),
    q: text('q'),
    sort: listOrders.find((each) => each === parameters.get('sort')) ?? 'status',
    page: pageNumber(parameters.get('page')),
    limit,
  };
}

export function parseResourceQuery(parameters: URLSearchParams): ResourceQuery {
  const text = textIn(parameters);
  return { q: text('q'), kind: text('kind'), status: text('status'), page: pageNumber(parameters.get('page')) };
}

/** Returns typed text without NUL and surrounding spaces, at most 255 characters; undefined if it is empty. */
export function typedText(text: string | null | undefined): string | undefined {
  return text?.replaceAll('\0', '').trim().slice(0, 255) || undefined;
}

function textIn(parameters: URLSearchParams) {
  return (key: string) => typedText(parameters.get(key));
}

/** Returns a message for each invalid value of a parameter. */
export function queryProblems(parameters: URLSearchParams, sources: readonly string[]): string[] {
  const { source } = parseListQuery(parameters);
  const known = { status: workspaceStatuses, needs, sort: listOrders } as const;
  const page = parameters.get('page') || '1';
  const label = parameters.get('label')?.trim() || '=';
  const malformed = [
    ...(source === undefined || sources.includes(source) ? [] : [`There is no source ${quote(source)}.`]),
    ...(PAGE.test(page) ? [] : [`Unknown page ${quote(page)}.`]),
    ...(label.includes('=') ? [] : ['A label has the form key=value, such as team=sales.']),
  ];
  const unknown = Object.entries(known).flatMap(([key, values]) => {
    const given = parameters.get(key) ?? '';
    const isKnown = given === '' || values.some((each) => each === given);
    return isKnown ? [] : [`Unknown ${key} ${quote(given)}. Known: ${values.join(', ')}.`];
  });
  return [...unknown, ...malformed];
}

/** The maximum number of rows that one request to the API returns. */
const MAX_ROWS = 200;

/**
 * Parses the paging parameters of the API. Unknown parameters are errors, because ignoring a misspelt filter would return too many rows.
 * Repeated parameters are errors too, because only the first value would be used.
 */
export function parsePaging(
  parameters: URLSearchParams,
  filters: readonly string[] = [],
): { readonly page: number; readonly limit: number; readonly problems: readonly string[] } {
  const known = [...filters, 'page', 'limit'];
  const unknown = [...parameters.keys()].filter((key) => !known.includes(key));
  const repeated = known.filter((key) => parameters.getAll(key).length > 1);
  const [page, limit] = [parameters.get('page') ?? '1', parameters.get('limit') ?? String(ROWS_PER_PAGE)];
  return {
    page: pageNumber(page),
    limit: pageNumber(limit),
    problems: [
      ...unknown.map((key) => `Unknown parameter ${quote(key)}. Known: ${known.join(', ')}.`),
      ...repeated.map((key) => `Give ${key} only once.`),
      ...(PAGE.test(page) ? [] : [`Unknown page ${quote(page)}.`]),
      ...(PAGE.test(limit) && Number(limit) <= MAX_ROWS ? [] : [`limit must be a number from 1 to ${MAX_ROWS}.`]),
    ],
  };
}

const PAGE = /^[1-9]\d{0,5}$/;

function pageNumber(text: string | null | undefined): number {
  return PAGE.test(text ?? '') ? Number(text) : 1;
}

function quote(text: string): string {
  return JSON.stringify(text.slice(0, 255));
}
