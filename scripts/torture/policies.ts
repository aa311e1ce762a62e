import assert from 'node:assert/strict';
import type { Case } from './cases.ts';
import { converges, refused, succeeded, writesNothing } from './expectations.ts';
import { APPLY, type Bench, Lab } from './lab.ts';
import { agent, documents } from './manifests.ts';
import type { Random } from './random.ts';

const PLAN = 'saved.plan';
const WAIVER = ['--waive', 'brief', '--because', 'A test line'];
const LONG = 'Be kind, and never end a call before everything is said.';
const DENIED = /denied by brief \(Agent\/a0, Agent\/a1, Agent\/a2 and 1 more\)/;

export const policyCases: readonly Case[] = [
  { group: 'policies', name: 'crashes, resumed applies and saved plans', short: true, run: policiesAfterCrashes },
];

/** Whenever a run is killed, no change is written that a policy denies, unless it was waived. */
async function policiesAfterCrashes(bench: Bench, random: Random): Promise<void> {
  const project = `policies: [${rule(30)}]\n`;
  await using lab = await Lab.open(bench, { manifests: agents('Be kind.'), project });
  const die = (...args: string[]) =>
    lab.runAndDie('after outcome', random.int(1, 3), ...args, '--auto-approve', '--concurrency', '1');

  await die('apply');
  lab.write('manifests/all.yaml', agents(LONG));
  const writes = lab.writes();
  refused(await lab.run(...APPLY), DENIED);
  assert.equal(lab.writes(), writes, 'a resumed apply wrote a denied change');

  lab.write('manifests/all.yaml', agents('Be brief.'));
  succeeded(await lab.run('plan', '--out', PLAN));
  lab.write('rules.yaml', `policies: [${rule(5)}]\n`);
  refused(await writesNothing(lab, () => lab.run('apply', PLAN, '--auto-approve', '--policy', 'rules.yaml')), DENIED);
  await die('apply', PLAN);
  await converges(lab);

  lab.write('manifests/all.yaml', agents(LONG));
  succeeded(await lab.run('plan', '--out', PLAN, ...WAIVER));
  await die('apply', PLAN);
  refused(await lab.run('apply', PLAN, '--auto-approve'), /the plan is stale/);
  refused(await lab.run(...APPLY), DENIED);
  succeeded(await lab.run(...APPLY, ...WAIVER));
  assert.equal((await lab.run('plan')).code, 1, 'a waiver applies to a later plan');

  lab.write('manifests/all.yaml', agents('Be brief.'));
  await converges(lab);
}

function rule(maxLength: number): string {
  return `{ name: brief, kind: Agent, deny: 'spec.prompt_config.prompt.size() > ${maxLength}' }`;
}

function agents(prompt: string): string {
  return documents(...[0, 1, 2, 3].map((index) => agent(`a${index}`, prompt)));
}
