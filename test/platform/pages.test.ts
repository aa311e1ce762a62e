import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Page, pages } from '../../src/platform/pages.ts';
import { collect } from './collect.ts';

function reading(list: readonly Page<number>[]) {
  const asked: (string | undefined)[] = [];
  const read = async (cursor: string | undefined): Promise<Page<number>> => {
    asked.push(cursor);
    const page = list[cursor === undefined ? 0 : Number(cursor)];
    if (page === undefined) throw new Error(`no page ${cursor}`);
    return page;
  };
  return { asked, read };
}

const page = (items: number[], next?: string): Page<number> => ({ items, next, path: '/list' });

describe('a list', () => {
  it('gives every record once, in order, however it is cut into pages', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(fc.integer(), { maxLength: 4 }), { minLength: 1 }), async (cut) => {
        const { read, asked } = reading(
          cut.map((items, index) => page(items, index + 1 < cut.length ? String(index + 1) : undefined)),
        );
        expect(await collect(pages(read))).toEqual(cut.flat());
        expect(asked).toHaveLength(cut.length);
      }),
    );
  });

  it('that is left early asks for no further page', async () => {
    const { read, asked } = reading([page([1, 2], '1'), page([3])]);
    for await (const item of pages(read)) if (item === 2) break;
    expect(asked).toEqual([undefined]);
  });

  it.each([
    { reason: 'at once', list: [page([1], '1'), page([2], '1')] },
    { reason: 'after a round', list: [page([1], '1'), page([2], '2'), page([3], '1')] },
  ])('whose cursor repeats $reason is an error, not a loop', async ({ list }) => {
    await expect(collect(pages(reading(list).read))).rejects.toMatchObject({
      reason: 'cursor-loop',
      outcome: 'not-done',
      message: 'GET /list: the platform gives the same cursor a second time, so the list would never end',
    });
  });
});
