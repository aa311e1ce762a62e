import assert from 'node:assert/strict';
import type { PlannedResource } from '../../src/engine/plan/plan-document.ts';
import type { Lab } from './lab.ts';
import type { ProcessResult } from './processes.ts';

/** Checks that a command failed with this exit code and exactly one error, which matches. */
export function refused({ code, signal, stderr }: ProcessResult, message: RegExp, exitCode = 1): void {
  assert.equal(signal, null, `ended by ${signal}`);
  assert.equal(code, exitCode, `exit code ${code}: ${stderr}`);
  assert.equal(stderr.match(/^error: /gm)?.length, 1, `not exactly one error: ${stderr}`);
  assert.match(unwrapped(stderr), message);
}

export function succeeded({ code, stdout, stderr }: ProcessResult, output?: RegExp): void {
  assert.equal(code, 0, `exit code ${code}: ${stdout}${stderr}`);
  if (output !== undefined) assert.match(unwrapped(stdout + stderr), output);
}

/** Joins wrapped lines, so that the text can be searched. */
export function unwrapped(text: string): string {
  return text.replace(/\s*\n\s*/g, ' ');
}

/** Runs a command, and checks that it writes neither to the platform nor to the state. It may remove a dead run's lock and add to the history. */
export async function writesNothing(lab: Lab, run: () => Promise<ProcessResult>): Promise<ProcessResult> {
  const [writes, files] = [lab.writes(), stateIn(lab)];
  const result = await run();
  assert.equal(lab.writes(), writes, 'the command sent a write');
  assert.deepEqual(stateIn(lab), files, 'the command wrote to the state');
  return result;
}

/** Runs an apply without changes twice. The first run may record values that it read in the state; the second must write nothing. */
export async function settles(lab: Lab, run: () => Promise<ProcessResult>): Promise<ProcessResult> {
  const writes = lab.writes();
  const result = await run();
  assert.equal(lab.writes(), writes, 'the command sent a write');
  await writesNothing(lab, run);
  return result;
}

function stateIn(lab: Lab): object {
  const isIgnored = (name: string): boolean => name.endsWith('.lock') || name.endsWith('.history.jsonl');
  return Object.fromEntries(Object.entries(lab.stateFiles()).filter(([name]) => !isIgnored(name)));
}

/** Applies, and checks that the plan is then empty. */
export async function converges(lab: Lab, ...flags: string[]): Promise<void> {
  succeeded(await lab.run('apply', '--auto-approve', ...flags));
  const plan = await lab.run('plan', '--detailed-exitcode');
  assert.equal(plan.code, 0, `the plan after the apply is not empty: ${plan.stdout}${plan.stderr}`);
  await lab.check('after a last apply');
}

/** Returns the resources in the JSON of a plan or an apply, by address. */
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
