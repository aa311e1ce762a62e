import { needs, workspaceStatuses } from '../operator/workspace-status.ts';
import { type ListQuery, listOrders, type ResourceQuery } from './page-data.ts';

export function listQuery(parameters: URLSearchParams): ListQuery {
  const text = textIn(parameters);
  return {
    status: workspaceStatuses.find((each) => each === parameters.get('status')),
    needs: needs.find((each) => each === parameters.get('needs')),
    source: text('source'),
    label: text('label'),
    q: text('q'),
    sort: listOrders.find((each) => each === parameters.get('sort')) ?? 'status',
    page: pageNumber(parameters.get('page')),
  };
}

export function resourceQuery(parameters: URLSearchParams): ResourceQuery {
  const text = textIn(parameters);
  return { q: text('q'), kind: text('kind'), status: text('status'), page: pageNumber(parameters.get('page')) };
}

function textIn(parameters: URLSearchParams) {
  return (key: string) => parameters.get(key)?.replaceAll('\0', '').trim().slice(0, 255) || undefined;
}

/** Sentences about unknown parameters. */
export function unknownIn(parameters: URLSearchParams, sources: readonly string[]): string[] {
  const { source } = listQuery(parameters);
  const known = { status: workspaceStatuses, needs, sort: listOrders } as const;
  const page = parameters.get('page') || '1';
  const label = parameters.get('label')?.trim() || '=';
  const malformed = [
    ...(source === undefined || sources.includes(source) ? [] : [`There is no source ${JSON.stringify(source)}.`]),
    ...(/^[1-9]\d{0,5}$/.test(page) ? [] : [`Ignored the page ${JSON.stringify(page.slice(0, 255))}.`]),
    ...(label.includes('=') ? [] : ['A label is key=value, such as team=sales.']),
  ];
  const unknown = Object.entries(known).flatMap(([key, values]) => {
    const given = parameters.get(key) ?? '';
    const isKnown = given === '' || values.some((each) => each === given);
    return isKnown
      ? []
      : [`Ignored the unknown ${key} ${JSON.stringify(given.slice(0, 255))}. Known: ${values.join(', ')}.`];
  });
  return [...unknown, ...malformed];
}

/** Starts at 1. */
function pageNumber(text: string | null | undefined): number {
  return /^[1-9]\d{0,5}$/.test(text ?? '') ? Number(text) : 1;
}
