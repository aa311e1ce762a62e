import { expect, it } from 'vitest';
import { nextVersion, noVersion } from '../../../../src/state/backends/http/state-envelope.ts';
import { parseRuns } from '../../../../src/state/run-history.ts';

function beginning(run: string): string {
  const about = { command: 'apply', who: 'ann@here', host: 'here', voxform_version: '0.0.0', began: '2030' };
  return JSON.stringify({ run, ...about });
}

function ending(run: string, count: number): string {
  const resource = { address: 'Agent/a', action: 'create', id: '01', paths: [], result: 'done' };
  return JSON.stringify({ run, ended: '2030', result: 'done', resources: Array(count).fill(resource) });
}

it('keeps the newest lines of the history, and a very large run without its resources', () => {
  let version = noVersion();
  const add = (history: string) => {
    version = nextVersion(version, { write: 'w', summary: '', history });
  };
  for (let run = 0; run < 200; run++) {
    add(beginning(`r${run}`));
    add(ending(`r${run}`, 10));
  }
  add(beginning('large'));
  add(ending('large', 5000));
  const size = version.history.join('').length;
  expect(size).toBeLessThanOrEqual(128 * 1024);
  expect(size).toBeGreaterThan(100 * 1024);
  const runs = parseRuns(version.history);
  expect(runs.at(-1)).toMatchObject({ run: 'large', result: 'done' });
  expect(runs.at(-1)).not.toHaveProperty('resources');
  expect(runs.at(-2)?.resources).toHaveLength(10);
  expect(version.serial).toBe(402);
});
