import { describe, expect, it } from 'vitest';
import { readRows } from '../../src/runs/import-rows.ts';

const ORIGIN = { file: 'ids.csv', workspace: 'new' };

describe('readRows', () => {
  it.each([
    [
      'plain rows',
      'address,id\nAgent/a,1\nAgent/b,2\n',
      [
        ['Agent/a', '1', 2],
        ['Agent/b', '2', 3],
      ],
    ],
    ['a byte order mark', 'address,id\r\nAgent/a,1\r\n', [['Agent/a', '1', 2]]],
    ['blank lines and spaces around cells', 'address, id\n\n  Agent/a ,\t1 \n   \n', [['Agent/a', '1', 3]]],
    ['quotes', '"address","id"\n"Agent/a", "1"\n', [['Agent/a', '1', 2]]],
    [
      'one id for two kinds',
      'address,id\nAgent/a,1\nWebhook/a,1',
      [
        ['Agent/a', '1', 2],
        ['Webhook/a', '1', 3],
      ],
    ],
  ])('reads %s', (reason, text, expected) => {
    const { rows, problems } = readRows(text, ORIGIN);
    expect(problems, reason).toEqual([]);
    expect(
      rows.map(({ address, id, line }) => [address, id, line]),
      reason,
    ).toEqual(expected);
  });

  it.each([
    ['', 1, 'header'],
    ['id,address\n1,Agent/a', 1, 'header'],
    ['address,id\n', 1, 'no rows'],
    ['address,id\nAgent/a', 2, 'got 1'],
    ['address,id\nAgent/a,1,2', 2, 'got 3'],
    ['address,id\nAgent/a,"1', 2, 'quote'],
    ['address,id\nAgent/a,"1"x', 2, 'quote'],
    ['address,id\nAgent,1', 2, '"Agent" is not an address'],
    ['address,id\nAgnet/a,1', 2, 'did you mean "Agent"?'],
    ['address,id\nAgent/A b,1', 2, 'lower-case letters'],
    ['address,id\nAgent/a,', 2, '"" is not an id'],
    ['address,id\nAgent/a,../x', 2, '"../x" is not an id'],
    ['address,id\nAgent/a,1\nAgent/a,2', 3, 'Agent/a is already on line 2'],
    ['address,id\nAgent/a,1\n\nAgent/b,1', 4, '1 is already on line 2'],
  ])('refuses %j', (text, line, message) => {
    const { problems } = readRows(text, ORIGIN);
    expect(problems).toHaveLength(1);
    expect(problems[0]?.line).toBe(line);
    expect(problems[0]?.message).toContain(message);
  });

  it('reports the errors of every line', () => {
    const { rows, problems } = readRows('address,id\nx,1\nAgent/a,2\nAgent/b\n', ORIGIN);
    expect(problems.map(({ line }) => line)).toEqual([2, 4]);
    expect(rows).toHaveLength(1);
  });

  it.each([
    [
      'maps/old-to-new.csv',
      [
        ['Agent/a', 'A2'],
        ['Agent/b', 'B2'],
      ],
    ],
    ['maps/new-to-next.csv', [['Agent/a', 'A1']]],
    ['maps/old-to-next.csv', undefined],
  ])('reads the ids of one workspace from the map of a migration, %s', (file, expected) => {
    const map = 'address,from_id,to_id\nAgent/a,A1,A2\nAgent/b,,B2\nAgent/a,A1,A2\n';
    const { rows, problems } = readRows(map, { file, workspace: 'new' });
    expect(problems.map(({ line }) => line)).toEqual(expected === undefined ? [1] : []);
    expect(rows.map(({ address, id }) => [address, id])).toEqual(expected ?? []);
  });
});
