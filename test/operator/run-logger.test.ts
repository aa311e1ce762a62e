import { expect, it } from 'vitest';
import { RunLogger } from '../../src/operator/run-logger.ts';
import type { RunReport } from '../../src/operator/run-report.ts';
import { plan, resource } from '../output/sample-plan.ts';
import { outageAt, sampleReport } from './sample-report.ts';

const early: Partial<RunReport> = { workspace: undefined, plan: undefined };
const away = { fetchProblem: new Error('no route') };
const drift = { drift: [{ address: 'Agent/a', fields: ['name', 'tts_config.speed'], digest: '1' }] };
const gone = { drift: [{ address: 'Agent/b', fields: [], digest: '1' }] };
const down: Partial<RunReport> = { result: 'failed', error: new TypeError('x is not a function'), plan: undefined };
const failing: Partial<RunReport> = {
  result: 'failed',
  applied: [{ address: 'Agent/b', action: 'update', result: { status: 'failed', error: 'no\u001b[2J', hint: 'look' } }],
};

function waiting(count: number): Partial<RunReport> {
  const number = { kind: 'PhoneNumber', id: 'n', address: null, label: '+49\u001b30', ways: ['inbound'] };
  const resources = Array.from({ length: count }, (_, index) =>
    resource(`Agent/w${index}`, { action: 'update', ...(index === 0 ? { routes: [number] } : {}) }),
  );
  return { hold: { reason: 'report', denied: [] }, selection: { workspace: 'staging' }, plan: plan(resources) };
}

it.each<[string, readonly Partial<RunReport>[], readonly string[]]>([
  ['logs the findings of the first run, and then nothing', [{}, {}, {}], ['info 1 to update']],
  [
    'logs a source that is unavailable, and its return',
    [{}, away, away, { ...early, result: 'interrupted' }, {}],
    ['info 1 to update', 'warning cannot fetch the source: no route', 'info the source can be fetched again'],
  ],
  [
    'logs a drift once, also if it returns',
    [{}, drift, drift, gone, {}, drift],
    [
      'info 1 to update',
      'warning drift: Agent/a: name, tts_config.speed',
      'warning drift: Agent/b now has a different record',
      'info no more drift',
      'warning drift: Agent/a: name, tts_config.speed',
    ],
  ],
  [
    'logs a failure once, marks an internal error as such, and logs its end',
    [{}, down, down, {}],
    [
      'info 1 to update',
      'error this is a bug in voxform: please report it',
      'error x is not a function',
      'info recovered after 2 failed runs',
    ],
  ],
  [
    'lists pending resources with the numbers that reach them, and counts the rest',
    [waiting(2), waiting(6)],
    [
      'info changes: 2 to update (Agent/w0, answers +49\\u001b30; Agent/w1); to apply them: voxform apply -w staging',
      'info changes: 6 to update (Agent/w0, answers +49\\u001b30; Agent/w1; Agent/w2; and 3 more); to apply them: voxform apply -w staging',
    ],
  ],
  [
    'logs an outage once, regardless of the record at which it is detected',
    [outageAt('1'), outageAt('2'), {}],
    ['error GET /api/v1/agents/1: no', 'info recovered after 2 failed runs', 'info 1 to update'],
  ],
  [
    'logs a write that fails once, on one line',
    [{}, failing, failing],
    ['info 1 to update', 'error Agent/b failed: no\\u001b[2J (look)'],
  ],
  [
    'logs a commit when it takes effect',
    [{ commit: 'a'.repeat(40) }, { commit: 'a'.repeat(40) }],
    [`info using commit ${'a'.repeat(10)}`, 'info 1 to update'],
  ],
])('%s', (_, reports, expected) => {
  const said: string[] = [];
  const logger = new RunLogger({ entry: (level, message) => level !== 'debug' && said.push(`${level} ${message}`) });
  for (const report of reports) logger.finished(sampleReport(report));
  expect(said).toEqual(expected);
});
