import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import path from 'node:path';
import { type Emulator, startEmulator } from '../../src/emulator/start-emulator.ts';
import type { Case } from './cases.ts';
import { type Bench, Lab } from './lab.ts';
import { settleUnknowns } from './person.ts';
import type { ProcessResult } from './processes.ts';
import type { Random } from './random.ts';

const AGENTS = 16;
const NUMBERS = 8;

/** Records are named like their manifests, so that the checks can match them. */
const agentName = (index: number): string => `agent-${index}`;

export const migrationCases: readonly Case[] = [
  {
    group: 'kills',
    name: 'a migration that is killed once',
    short: true,
    run: (bench, random) => killedMigration(bench, random, 1),
  },
  {
    group: 'kills',
    name: 'a migration that is killed repeatedly',
    run: (bench, random) => killedMigration(bench, random, 40),
  },
];

/** Migrates a workspace. Kills the command at random instants or after random writes, and runs it again, which continues the migration. */
async function killedMigration(bench: Bench, random: Random, kills: number): Promise<void> {
  await using old = await startEmulator({ seed: random.seed, workspaceId: '01JEMV1AT0RW0RKSPACE000002' });
  const ids = await fill(old);
  await using lab = await Lab.open(bench, { seed: random.seed });
  lab.write('voxform.yaml', projectFile(old, lab.emulator));
  rmSync(path.join(lab.root, 'manifests'), { recursive: true });
  const args = ['migrate', '--from', 'old', '--to', 'test', '--source', 'live', '--agents', ...ids];
  args.push('--auto-approve', '--concurrency', String(random.int(1, 4)), '--batch', String(random.int(3, 30)));
  const start = () => lab.start(args, { env: { VOXFORM_API_KEY: '', OLD_KEY: 'old-key', TEST_KEY: 'test-key' } });
  let durationMs = 1_500;

  const killOnce = async (): Promise<ProcessResult> => {
    const running = start();
    const kill = () => running.child.kill('SIGKILL');
    if (random.chance(0.5)) {
      let remaining = random.int(1, 6);
      lab.hook = async ({ method }) => {
        if (method === 'GET' || --remaining !== 0) return undefined;
        kill();
        await running.ended;
        return random.chance(0.5) ? { cut: 'before' } : undefined;
      };
      const result = await lab.waitFor(running);
      lab.hook = () => undefined;
      return result;
    }
    const startedAt = performance.now();
    const timer = setTimeout(kill, random.next() * durationMs * 1.1);
    const result = await lab.waitFor(running);
    clearTimeout(timer);
    if (result.signal === null) durationMs = performance.now() - startedAt;
    return result;
  };

  for (let count = 0; count < kills; count++) {
    const { code, signal, stderr } = await killOnce();
    if (signal === null) assert.equal(code, 0, `a run that was not killed failed: ${stderr}`);
    else lab.figures.count('kills by point', 'a migration');
    await lab.check('after a migration was killed');
    if (random.chance(0.5)) await settleUnknowns(lab, { random, skips: 0.3 });
  }
  await settleUnknowns(lab, { random });
  const last = await lab.waitFor(start());
  assert.equal(last.code, 0, `the last run failed: ${last.stdout}${last.stderr}`);
  await lab.check('at the end of a migration');
  const { agents, numbers } = lab.emulator.world;
  assert.deepEqual([agents.size, numbers.size, old.world.agents.size], [AGENTS, NUMBERS, AGENTS]);
  const planned = await lab.run('plan', '--detailed-exitcode');
  assert.equal(planned.code, 0, `the plan is not empty: ${planned.stdout}`);
}

async function fill({ url, dashboard }: Emulator): Promise<string[]> {
  const create = async (list: string, body: object): Promise<string> => {
    const response = await fetch(`${url}/api/v1/${list}`, {
      method: 'POST',
      headers: { authorization: 'Bearer old-key', 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const { data } = (await response.json()) as { readonly data: { readonly id: string } };
    return data.id;
  };
  const agents: string[] = [];
  for (let index = 0; index < AGENTS; index++) {
    const name = agentName(index);
    agents.push(await create('agents', { name, prompt_config: { prompt: `You are ${name}.` } }));
  }
  for (let index = 0; index < NUMBERS; index++) {
    const id = await create('numbers', { number: `+493010${index}`, nickname: `number-${index}` });
    dashboard.linkNumber(id, { inbound_agent_id: agents[index] ?? null });
  }
  return agents;
}

function projectFile(old: Emulator, fresh: Emulator): string {
  const end = ({ url, workspaceId }: Emulator, key: string): string => `
    base_url: ${url}
    workspace_id: ${workspaceId}
    api_key: { $secret: ${key} }
`;
  return `version: 1
default_workspace: test
workspaces:
  old:${end(old, 'OLD_KEY')}  test:${end(fresh, 'TEST_KEY')}`;
}
