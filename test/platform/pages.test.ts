import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pages, type RecordPage, storedList, streamedList } from '../../src/platform/pages.ts';
import { collect } from './collect.ts';

function reading(list: readonly RecordPage<number>[]) {
  const asked: (string | undefined)[] = [];
  const read = async (cursor: string | undefined): Promise<RecordPage<number>> => {
    asked.push(cursor);
    const page = list[cursor === undefined ? 0 : Number(cursor)];
    if (page === undefined) throw new Error(`no page ${cursor}`);
    return page;
  };
  return { asked, read };
}

const itself = (item: number): number => item;
const byId = ({ id }: { readonly id: string }): string => id;

const page = (items: number[], next?: string): RecordPage<number> => ({ items, next, path: '/list' });

describe('list', () => {
  it('returns every record once, in order, for any division into pages', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(fc.nat({ max: 9 }), { maxLength: 4 }), { minLength: 1 }), async (cut) => {
        const { read, asked } = reading(
          cut.map((items, index) => page(items, index + 1 < cut.length ? String(index + 1) : undefined)),
        );
        expect(await collect(pages(read, itself, storedList))).toEqual([...new Set(cut.flat())]);
        expect(asked).toHaveLength(cut.length);
      }),
    );
  });

  it('that is abandoned requests no further page', async () => {
    const { read, asked } = reading([page([1, 2], '1'), page([3])]);
    for await (const item of pages(read, itself, storedList)) if (item === 2) break;
    expect(asked).toEqual([undefined]);
  });

  it.each([
    { reason: 'immediately', list: [page([1], '1'), page([2], '1')] },
    { reason: 'after a round', list: [page([1], '1'), page([2], '2'), page([3], '1')] },
  ])('whose cursor repeats $reason is an error, not a loop', async ({ list }) => {
    await expect(collect(pages(reading(list).read, itself, storedList))).rejects.toMatchObject({
      reason: 'cursor-loop',
      outcome: 'not-done',
      message: 'GET /list: the platform returned the same cursor twice, so the list would never end',
    });
  });

  it.each([
    { reason: 'on the next page', list: [page([1, 2], '1'), page([2, 3])] },
    { reason: 'on a later page', list: [page([1, 2], '1'), page([3], '2'), page([1, 2])] },
    { reason: 'on the same page', list: [page([1, 1, 2, 3])] },
  ])('returns a record once if it is repeated $reason', async ({ list }) => {
    expect(await collect(pages(reading(list).read, itself, storedList))).toEqual([1, 2, 3]);
  });

  it('keeps the first version of a record', async () => {
    const list = [
      { items: [{ id: 'a', at: 1 }], next: '1', path: '/list' },
      { items: [{ id: 'a', at: 2 }], next: undefined, path: '/list' },
    ];
    const read = async (cursor: string | undefined) =>
      list[Number(cursor ?? 0)] as RecordPage<{ id: string; at: number }>;
    expect(await collect(pages(read, byId, streamedList))).toEqual([{ id: 'a', at: 1 }]);
  });

  it.each([
    { reason: 'that is not buffered', bounds: streamedList, most: 100_000 },
    { reason: 'that is buffered', bounds: storedList, most: 5_000 },
  ])('$reason ends at a limit, for any number of new cursors and records', async ({ bounds, most }) => {
    let asked = 0;
    const read = async (): Promise<RecordPage<{ id: string }>> => {
      asked += 1;
      return { items: [{ id: `record-${asked}` }], next: `cursor-${asked}`, path: '/list' };
    };
    let given = 0;
    const all = (async () => {
      for await (const _ of pages(read, byId, bounds)) given += 1;
    })();
    await expect(all).rejects.toMatchObject({
      reason: 'cursor-loop',
      outcome: 'not-done',
      message: `GET /list: the list has more than ${most} pages and seems to have no end`,
    });
    expect([asked, given]).toEqual([most, most]);
  });

  it.each([
    { reason: 'complete, at every cursor', list: [page([1, 2], '1'), page([1, 2], '1')], all: [1, 2] },
    { reason: 'empty, at every cursor', list: [page([], '1'), page([], '1')], all: [] },
    { reason: 'in pages, some of them empty', list: [page([], '1'), page([], '2'), page([1])], all: [1] },
  ])('that may ignore cursors is read once: $reason', async ({ list, all }) => {
    const bounds = { ...storedList, whole: () => expect.fail('read without a size') };
    expect(await collect(pages(reading(list).read, itself, bounds))).toEqual(all);
  });

  it('remembers at most the given number of records', async () => {
    const list = [page([1], '1'), page([2], '2'), page([3], '3'), page([3, 1])];
    const two = { ...storedList, maxRecent: 2 };
    expect(await collect(pages(reading(list).read, itself, two))).toEqual([1, 2, 3, 1]);
  });
});
