import { type ListQuery, listOrders, standings } from './page-data.ts';

/** What the query of a list asks for; what it cannot mean is passed over. */
export function listQuery(parameters: URLSearchParams): ListQuery {
  const text = (key: string) => parameters.get(key)?.trim().slice(0, 255) || undefined;
  return {
    status: standings.find((each) => each === parameters.get('status')),
    source: text('source'),
    label: text('label'),
    q: text('q'),
    sort: listOrders.find((each) => each === parameters.get('sort')) ?? 'standing',
    page: pageNumber(parameters.get('page')),
  };
}

/** From 1. */
export function pageNumber(text: string | null | undefined): number {
  return /^[1-9]\d{0,5}$/.test(text ?? '') ? Number(text) : 1;
}
