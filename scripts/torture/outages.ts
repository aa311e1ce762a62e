import assert from 'node:assert/strict';
import type { Fault } from '../../src/emulator/faults.ts';
import type { Case } from './cases.ts';
import { converges, refused, resourcesIn, succeeded } from './expectations.ts';
import { APPLY, type Bench, Lab } from './lab.ts';
import { agent, documents } from './manifests.ts';

const GROUP = 'outages';
const AGENTS = 30;
const DOWN: Fault = { status: 503, headers: { 'content-type': 'text/html' }, body: '<h1>down</h1>' };
/** The redirect of a server that requires https. */
const REDIRECT: Fault = { status: 308, headers: { location: 'https://127.0.0.1:1/' } };

/** A platform that is unreachable, from the start or from the middle of a run. */
export const outageCases: readonly Case[] = [
  { group: GROUP, name: 'down before the first apply', run: (bench) => downFromTheStart(bench, DOWN, /503/) },
  {
    group: GROUP,
    name: 'http for https',
    short: true,
    run: (bench) => downFromTheStart(bench, REDIRECT, /308 redirect .*, not followed/),
  },
  { group: GROUP, name: 'down from the eleventh create on', short: true, run: downInTheMiddle },
];

const openLab = (bench: Bench): Promise<Lab> =>
  Lab.open(bench, {
    manifests: documents(...Array.from({ length: AGENTS }, (_, index) => agent(`agent-${100 + index}`))),
  });

async function downFromTheStart(bench: Bench, fault: Fault, message: RegExp): Promise<void> {
  await using lab = await openLab(bench);
  lab.hook = () => fault;
  refused(await lab.run(...APPLY), message);
  assert.equal(lab.writes(), 0, 'a write was sent');
  assert.deepEqual([...(await lab.state()).pending.keys()], [], 'creates are unknown after an outage');
  lab.hook = () => undefined;
  await converges(lab);
}

async function downInTheMiddle(bench: Bench): Promise<void> {
  await using lab = await openLab(bench);
  let posts = 0;
  lab.hook = ({ method }) => (method === 'POST' && ++posts > 10 ? DOWN : undefined);
  const { code, stdout } = await lab.run('apply', '--auto-approve', '--concurrency', '2', '--output', 'json');
  assert.equal(code, 1);
  const results = [...resourcesIn(stdout).values()].map(({ result }) => result);
  const count = (wanted: string) => results.filter((result) => result === wanted).length;
  assert.equal(count('done'), 10);
  // Three in a row, one in flight beside the third, and one that failed before the response to the last successful create.
  assert.ok(count('failed') <= 5, `${count('failed')} creates are unknown`);
  assert.equal(count('skipped'), AGENTS - 10 - count('failed'));
  assert.match(stdout, /"halted": "\d creates in a row are unknown"/);
  lab.hook = () => undefined;
  await lab.check('after an outage in the middle');
  succeeded(await lab.run('state', 'resolve', '--all', '--not-created', '--auto-approve'));
  await converges(lab);
  assert.equal(lab.emulator.world.agents.size, AGENTS);
}
