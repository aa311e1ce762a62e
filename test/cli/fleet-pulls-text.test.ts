import { expect, it } from 'vitest';
import { fleetPullsText, pullWarnings, secondsSinceServed } from '../../src/cli/fleet-pulls-text.ts';
import type { FleetStatus } from '../../src/fleet/control.ts';
import type { ListedPull } from '../../src/fleet/rows/pull-rows.ts';
import { displayWidth } from '../../src/output/text-width.ts';
import { plainStyle } from '../output/sample-styles.ts';

function pull(more: Partial<ListedPull>): ListedPull {
  return {
    ...{ source: 'voices', number: 41, title: 'Warmer greeting', author: 'ann', url: '', state: 'open' },
    ...{ branch: 'warm', head: '7d81c3a52e0f', since: '', status: 'planned', problem: null, workspaces: [] },
    ...more,
  };
}

const result = (name: ListedPull['workspaces'][number]['result']) => ({ address: 'a', result: name, outcome: null });

it('fleetPullsText prints each request on one line of the terminal and in full elsewhere', () => {
  const titles = ['Warmer greeting', 'very '.repeat(40), '日本語'.repeat(40), `a\u001b[31m${'x'.repeat(300)}`];
  const pulls = titles.map((title, number) =>
    pull({ title, number, workspaces: [result('changes'), result('denied')] }),
  );
  const lines = fleetPullsText(pulls, plainStyle(80)).trimEnd().split('\n');
  expect(lines).toHaveLength(5);
  for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(80);
  expect(lines.slice(1).map((line) => line.endsWith('…'))).toEqual([false, true, true, true]);
  expect(fleetPullsText(pulls, plainStyle(100_000))).toContain('very '.repeat(40).trim());
});

it('fleetPullsText prints the status as in JSON and the problems below the table', () => {
  const problem = '1 workspace failed';
  const text = fleetPullsText(
    [pull({ status: 'failed', problem }), pull({ number: 40, state: 'merged', problem: 'an old problem' })],
    plainStyle(80),
  );
  expect(text).toMatch(/^voices#41 +failed +7d81c3a52e/m);
  expect(text).toMatch(/^voices#40 +merged /m);
  expect(text).toContain(`\n\nvoices#41: ${problem}\n`);
  expect(text).not.toContain('old problem');
});

it('pullWarnings says since when no process runs and since when the host fails', () => {
  const at = '2030-01-02T12:00:00Z';
  const shown = (heard: readonly [FleetStatus['processes'][number]['status'], number][], fetchedAge: number | null) =>
    ({
      at,
      processes: heard.map(([status, heardAge]) => ({ status, heardAge })),
      sources: [{ fetchedAge }],
    }) as never;
  expect(
    pullWarnings(
      [],
      shown(
        [
          ['dead', 7200],
          ['alive', 1],
        ],
        60,
      ),
    ),
  ).toEqual([]);
  expect(pullWarnings([], shown([['dead', 7200]], 10_000))).toEqual([expect.stringMatching(/No process .* 2 h ago/)]);
  expect(pullWarnings([], shown([], 10_800))).toEqual([expect.stringContaining('3 h ago')]);
  expect(pullWarnings([], shown([], null))).toEqual([expect.not.stringContaining('ago')]);
  expect(secondsSinceServed(shown([['ending', 1]], null))).toBe(undefined);
  const problem = { source: 'voices', message: '401', since: '2030-01-02T11:55:00Z' };
  expect(pullWarnings([problem], shown([['alive', 1]], 1))).toEqual([expect.stringMatching(/voices .* 5 min: 401/)]);
});
