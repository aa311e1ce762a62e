import assert from 'node:assert/strict';
import type { PlannedResource } from '../../src/engine/plan/plan-document.ts';
import type { Lab } from './lab.ts';
import type { Ended } from './processes.ts';

/** It failed, with this exit code, and with one message that says this. */
export function refused({ code, signal, stderr }: Ended, says: RegExp, exitCode = 1): void {
  assert.equal(signal, null, `it was ended by ${signal}`);
  assert.equal(code, exitCode, `exit code ${code}: ${stderr}`);
  assert.equal(stderr.match(/^error: /gm)?.length, 1, `not exactly one message: ${stderr}`);
  assert.match(unwrapped(stderr), says);
}

export function succeeded({ code, stdout, stderr }: Ended, says?: RegExp): void {
  assert.equal(code, 0, `exit code ${code}: ${stdout}${stderr}`);
  if (says !== undefined) assert.match(unwrapped(stdout + stderr), says);
}

/** Text as one line, so that it can be searched whatever the width of the terminal broke. */
export function unwrapped(text: string): string {
  return text.replace(/\s*\n\s*/g, ' ');
}

/** Runs it, and holds that neither the platform nor the state was written to; a dead run's lock may be cleared away, and the history says that there was a run. */
export async function writesNothing(lab: Lab, run: () => Promise<Ended>): Promise<Ended> {
  const [writes, files] = [lab.writes(), stateIn(lab)];
  const ended = await run();
  assert.equal(lab.writes(), writes, 'something was sent that writes');
  assert.deepEqual(stateIn(lab), files, 'a file of the state was written');
  return ended;
}

/** The same of an apply that has nothing to send, once more: the first may record in the state what its reads showed. */
export async function settles(lab: Lab, run: () => Promise<Ended>): Promise<Ended> {
  const writes = lab.writes();
  const ended = await run();
  assert.equal(lab.writes(), writes, 'something was sent that writes');
  await writesNothing(lab, run);
  return ended;
}

function stateIn(lab: Lab): object {
  const isBeside = (name: string): boolean => name.endsWith('.lock') || name.endsWith('.history.jsonl');
  return Object.fromEntries(Object.entries(lab.stateFiles()).filter(([name]) => !isBeside(name)));
}

/** Applies, and holds that a plan afterwards has nothing to do. */
export async function converges(lab: Lab, ...flags: string[]): Promise<void> {
  succeeded(await lab.run('apply', '--auto-approve', ...flags));
  const plan = await lab.run('plan', '--detailed-exitcode');
  assert.equal(plan.code, 0, `there is something left to do: ${plan.stdout}${plan.stderr}`);
  await lab.check('after a last apply');
}

/** What the JSON of a plan or of an apply says of each resource. */
export function resourcesIn(stdout: string): Map<string, PlannedJson> {
  const { resources } = JSON.parse(stdout) as { readonly resources: readonly PlannedJson[] };
  return new Map(resources.map((resource) => [resource.address, resource]));
}

export interface PlannedJson {
  readonly address: string;
  readonly action: string;
  readonly reason: string;
  readonly id: string | null;
  readonly steps?: PlannedResource['steps'];
  readonly result?: string;
  readonly error?: string;
  readonly hint?: string;
  readonly because?: string;
}
