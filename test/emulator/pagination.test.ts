import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type PagedList, pageOf } from '../../src/emulator/pagination.ts';
import { Refusal } from '../../src/emulator/refusal.ts';
import { type Emulator, startEmulator } from '../../src/emulator/start-emulator.ts';
import { call, newAgent } from './call.ts';

const listing = (order: PagedList<number>['order']): PagedList<number> => ({
  name: 'n',
  key: (item) => item,
  order,
});

function walk(
  items: readonly number[],
  { shape, perPage, cursors }: { shape: PagedList<number>; perPage: number; cursors: 'key' | 'position' },
) {
  const read = (cursor: string | undefined) =>
    pageOf(items, shape, { request: { per_page: perPage, cursor }, behaviour: { ...behaviour, cursors } });
  const forth = [read(undefined)];
  while (typeof forth.at(-1)?.meta.next_cursor === 'string') {
    // A cursor without a target must fail the test instead of looping forever.
    if (forth.length > items.length) throw new Error('more pages than items going forth');
    forth.push(read(String(forth.at(-1)?.meta.next_cursor)));
  }
  const back = forth.slice(-1);
  while (typeof back[0]?.meta.prev_cursor === 'string') {
    if (back.length > items.length) throw new Error('more pages than items going back');
    back.unshift(read(String(back[0]?.meta.prev_cursor)));
  }
  return { forth, back };
}

const behaviour = {
  previousCursorSpelling: 'prev_cursor',
  meta: 'documented',
  pages: { most: null, overlap: 0 },
  cursors: 'key',
} as const;

describe('pageOf', () => {
  const anyList = fc.uniqueArray(fc.integer(), { maxLength: 40 });
  const anyOrder = fc.constantFrom('ascending' as const, 'descending' as const);

  const anyCursors = fc.constantFrom('key' as const, 'position' as const);

  it('returns every item once in forward direction, and the same pages in reverse', () => {
    fc.assert(
      fc.property(anyList, anyOrder, fc.integer({ min: 1, max: 15 }), anyCursors, (items, order, perPage, cursors) => {
        const { forth, back } = walk(items, { shape: listing(order), perPage, cursors });
        const sorted = [...items].sort((a, b) => (order === 'ascending' ? a - b : b - a));
        expect(forth.flatMap(({ data }) => data)).toEqual(sorted);
        expect(back.map(({ data }) => data)).toEqual(forth.map(({ data }) => data));
        expect(forth).toHaveLength(Math.max(1, Math.ceil(items.length / perPage)));
      }),
    );
  });

  it('neither repeats nor skips items when the record at the cursor is removed in between', () => {
    const shape = listing('ascending');
    const first = pageOf([1, 2, 3, 4, 5], shape, { request: { per_page: 2 }, behaviour });
    const cursor = String(first.meta.next_cursor);
    expect(pageOf([1, 3, 4, 5], shape, { request: { per_page: 2, cursor }, behaviour }).data).toEqual([3, 4]);
  });

  it.each(['documented', 'odd'] as const)('limits pages and repeats records, with a meta that is %s', (meta) => {
    const shape = listing('ascending');
    const read = (cursor?: string) =>
      pageOf([1, 2, 3, 4, 5], shape, {
        request: { per_page: 100, cursor },
        behaviour: { ...behaviour, meta, pages: { most: 2, overlap: 1 } },
      });
    const pages = [read()];
    for (let next = pages[0]?.meta.next_cursor; typeof next === 'string'; next = pages.at(-1)?.meta.next_cursor)
      pages.push(read(next));
    expect(pages.map(({ data }) => data)).toEqual([
      [1, 2],
      [2, 3, 4],
      [4, 5],
    ]);
  });

  it.each(['', 'x', 'bnVsbA', Buffer.from('["other","after",1]').toString('base64url')])(
    'refuses the cursor %j',
    (cursor) => {
      expect(() => pageOf([1], listing('ascending'), { request: { cursor }, behaviour })).toThrow(Refusal);
    },
  );
});

async function ids(emulator: Emulator, pathOf: (cursor: string | undefined) => readonly [string, unknown?]) {
  const pages: string[][] = [];
  let cursor: string | undefined;
  do {
    if (pages.length > 100) throw new Error('the pages do not end');
    const [path, body] = pathOf(cursor);
    const answer = await call(emulator, ['GET', path, body]);
    const data = answer.at('data') as readonly { id?: string; version?: number }[];
    pages.push(data.map(({ id, version }) => String(id ?? version)));
    const next = answer.at('meta.next_cursor');
    cursor = typeof next === 'string' ? next : undefined;
  } while (cursor !== undefined);
  return pages;
}

const query = (path: string) => (cursor: string | undefined) =>
  [`${path}?per_page=2${cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`}`] as const;

describe('paged lists', () => {
  it('return numbers oldest first', async () => {
    await using emulator = await startEmulator({ seed: 1 });
    for (const number of ['1', '2', '3', '4', '5']) await call(emulator, ['POST', '/api/v1/numbers', { number }]);
    const all = [...emulator.world.numbers.keys()];
    const pages = await ids(emulator, query('/api/v1/numbers'));
    expect(pages).toEqual([all.slice(0, 2), all.slice(2, 4), all.slice(4)]);
  });

  it('return versions newest first, with their own name of the previous cursor', async () => {
    await using emulator = await startEmulator({ seed: 1 });
    const id = await newAgent(emulator);
    for (let i = 0; i < 3; i++) emulator.dashboard.publishAgent(id);
    expect(await ids(emulator, query(`/api/v1/agents/${id}/versions`))).toEqual([['3', '2'], ['1']]);
    const first = await call(emulator, ['GET', `/api/v1/agents/${id}/versions?per_page=2`]);
    const second = await call(emulator, [
      'GET',
      query(`/api/v1/agents/${id}/versions`)(String(first.at('meta.next_cursor')))[0],
    ]);
    const back = await call(emulator, [
      'GET',
      query(`/api/v1/agents/${id}/versions`)(String(second.at('meta.previous_cursor')))[0],
    ]);
    expect(back.body).toEqual(first.body);
  });

  it('read the cursor of calls from the body', async () => {
    await using emulator = await startEmulator({ seed: 1 });
    const all = Array.from({ length: 3 }, () => emulator.dashboard.recordCall({ agent_id: 'a' }).id).reverse();
    const pages = await ids(emulator, (cursor) => ['/api/v1/call-histories', { per_page: 2, cursor }]);
    expect(pages).toEqual([all.slice(0, 2), all.slice(2)]);
  });

  it('have 20 items per page by default', async () => {
    await using emulator = await startEmulator({ seed: 1 });
    for (let i = 0; i < 21; i++) emulator.dashboard.addKnowledgeBase({ name: 'same' });
    const answer = await call(emulator, ['GET', '/api/v1/knowledge-bases']);
    expect(answer.at('data')).toHaveLength(20);
    expect(answer.at('meta.next_cursor')).toEqual(expect.any(String));
  });

  it('return invoices newest first, 10 by default, with their ids as cursors in both directions', async () => {
    await using emulator = await startEmulator({ seed: 1 });
    const all = Array.from({ length: 12 }, () => emulator.dashboard.addInvoice().id).reverse();
    const read = async (parameters: string) => {
      const path = `/api/v1/workspaces/${emulator.workspaceId}/billing/history${parameters}`;
      const answer = await call(emulator, ['GET', path]);
      expect(answer.at('meta')).toBeUndefined();
      return (answer.at('data') as readonly { id: string }[]).map(({ id }) => id);
    };
    expect(await read('')).toEqual(all.slice(0, 10));
    expect(await read(`?starting_after=${all[9]}`)).toEqual(all.slice(10));
    expect(await read(`?starting_after=${all[11]}`)).toEqual([]);
    expect(await read(`?limit=3&ending_before=${all[6]}`)).toEqual(all.slice(3, 6));
    expect(await read('?limit=100')).toEqual(all);
  });
});
