import { existsSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { Interrupts } from '../../src/cli/interrupts.ts';
import { createProgram } from '../../src/cli/program.ts';
import { startEmulator } from '../../src/emulator/start-emulator.ts';
import { workspaceStatuses } from '../../src/operator/workspace-status.ts';
import { putEmbedded } from '../fleet/embedded-folder.ts';
import { step } from '../step.ts';
import { command } from '../trust/in-process.ts';
import { temporaryFolder } from './voxform-process.ts';
import { agentManifest, projectFile } from './workspace.ts';

const KEY = { VOXFORM_TEST_KEY: 'key-of-the-fleet' };
const acme = 'voices/clients/acme:test';

it('fleet status --only accepts every status', async () => {
  const program = await createProgram(async () => undefined);
  const status = program.commands
    .find((each) => each.name() === 'fleet')
    ?.commands.find((each) => each.name() === 'status');
  const only = status?.options.find(({ long }) => long === '--only');
  expect(only?.argChoices).toEqual([...workspaceStatuses]);
});

it('fleet serve reports startup errors in the log format', { tags: ['long'] }, async () => {
  await using folder = await temporaryFolder({ 'fleet.yaml': 'version: "1"\nsources: {}\n' });
  const messages = async (env: Record<string, string>) => {
    const { code, stderr } = await command(['fleet', 'serve'], { cwd: folder.root, env });
    const lines = stderr.trim().split('\n');
    return [code, lines.map((line) => JSON.parse(line).message).join(' ')];
  };
  expect(await messages({})).toEqual([1, expect.stringMatching(/version must be 1.* at least one source/)]);
  await folder.write('fleet.yaml', 'version: 1\nsources: { voices: { path: . } }\n');
  expect(await messages({ VOXFORM_API_KEY: 'x' })).toEqual([
    64,
    expect.stringContaining('VOXFORM_API_KEY would apply'),
  ]);
  expect(await messages({ PGPASSWORD: 'x' })).toEqual([64, expect.stringContaining('PGPASSWORD would be')]);
});

it('a fleet runs on an embedded database and is controlled by other processes', { tags: ['long'] }, async () => {
  await using first = await startEmulator({ seed: 1, workspaceId: '01JEMV1AT0RW0RKSPACE000001' });
  await using second = await startEmulator({ seed: 2, workspaceId: '01JEMV1AT0RW0RKSPACE000002' });
  const own = (text: string): string => text.replace('VOXFORM_API_KEY', 'VOXFORM_TEST_KEY');
  await using folder = await temporaryFolder({
    'fleet.yaml': `version: 1
sources: { voices: { path: voices, projects: ["clients/*"] } }
workspaces: { "*/acme:test": { mode: approve, interval: 3s }, "*": { mode: apply, interval: 1s } }
`,
    'voices/clients/acme/voxform.yaml': own(projectFile(first)),
    'voices/clients/acme/manifests/a.yaml': agentManifest('a', 'One.'),
    'voices/clients/beta/voxform.yaml': own(projectFile(second)),
    'voices/clients/beta/manifests/b.yaml': agentManifest('b', 'One.'),
    'voices/clients/twin/voxform.yaml': own(
      projectFile({
        workspaceId: second.workspaceId,
        url: `${second.url.replace('127.0.0.1:', '127.1:0')}/./`,
      }),
    ).replace('test:', 'twin:'),
    'voices/clients/twin/manifests/c.yaml': agentManifest('c', 'One.'),
  });
  const fleet = async (...args: string[]) => {
    const { stderr, ...result } = await command(['fleet', ...args], { cwd: folder.root, env: KEY });
    return { ...result, stderr: stderr.replaceAll(/\s+/g, ' ') };
  };
  const until = (what: () => Promise<boolean>): Promise<void> => expect.poll(what, { interval: 50 }).toBe(true);
  const json = async (...args: string[]) => JSON.parse((await fleet('status', ...args, '--output', 'json')).stdout);

  await step('commands fail before the first serve', async () => {
    const { code, stderr } = await fleet('status');
    expect([code, stderr]).toEqual([1, expect.stringContaining('no fleet has been started in')]);
    expect((await fleet('serve', '--file', 'other.yaml')).stderr).toContain('the file cannot be read');
    const overriding = { ...KEY, VOXFORM_API_KEY: 'x' };
    const refused = await command(['fleet', 'serve'], { cwd: folder.root, env: overriding });
    expect([refused.code, refused.stderr]).toEqual([64, expect.stringContaining('VOXFORM_API_KEY would apply')]);
  });

  await putEmbedded(path.join(folder.root, '.voxform/fleet'));
  const begin = async () => {
    const interrupts = new Interrupts(() => undefined);
    const serving = command(['fleet', 'serve'], { cwd: folder.root, env: KEY, interrupts });
    await until(async () => existsSync(path.join(folder.root, '.voxform/fleet/control.sock')));
    return async () => {
      interrupts.raise('SIGTERM');
      return serving;
    };
  };
  const end = await begin();
  const statusOf = async (address: string): Promise<string> => {
    const { workspaces } = await json();
    return workspaces.find((each: { address: string }) => each.address === address)?.status;
  };

  await step('a second process cannot serve the fleet', async () => {
    const { code, stderr } = await fleet('serve');
    expect([code, stderr]).toEqual([1, expect.stringContaining('has been in use by process')]);
  });

  const plan = await step('a workspace waits for approval of exactly one plan', async () => {
    await until(async () => (await statusOf(acme)) === 'waiting');
    const shown = await fleet('show', acme);
    expect(shown.stdout).toContain('+ Agent/a');
    expect((await fleet('show', acme, '--output', 'markdown')).stdout).toContain('<code>Agent/a</code>');
    const [, id = ''] = /fleet approve \S+ ([0-9a-f]{12})/.exec(shown.stdout) ?? [];
    for (const args of [
      ['approve', acme],
      ['reject', acme],
      ['approve', acme, id.slice(0, 3)],
    ])
      expect((await fleet(...args)).code, args.join(' ')).toBe(64);
    const wrong = await fleet('approve', acme, 'deadbeefdead');
    expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining('is not waiting for approval')]);
    return id;
  });

  await step('two workspaces with the same id do not run', async () => {
    await until(async () => (await statusOf('voices/clients/twin:twin')) === 'failed');
    await until(async () => (await statusOf('voices/clients/beta:test')) === 'failed');
    const { stdout } = await fleet('status');
    expect(stdout).toMatch(/clients\/twin:twin and voices\/clients\/beta:test are the same workspace/);
    expect(second.requests).toEqual([]);
  });

  await step('workspaces can be paused, resumed and run', async () => {
    expect((await fleet('pause', acme, '--because', 'later')).stdout).toBe('Paused 1 workspace.\n');
    expect((await fleet('pause', acme)).stdout).toBe('Paused 0 workspaces. 1 was already paused.\n');
    const again = await fleet('pause', acme, '--because', 'a visit');
    expect(again.stdout).toBe('Paused 0 workspaces. 1 was already paused and keeps its reason.\n');
    expect((await fleet('status', acme)).stdout).toMatch(/Paused +by .*: later/);
    expect((await fleet('run', acme)).code).toBe(1);
    expect((await fleet('resume', acme)).stdout).toBe('Resumed 1 workspace.\n');
    expect((await fleet('run', acme)).stdout).toBe('Requested 1 run.\n');
    await step('patterns select several workspaces', async () => {
      expect((await fleet('pause', 'voices/*:test', acme)).stdout).toBe('Paused 2 workspaces.\n');
      expect((await fleet('run', '*')).stdout).toBe('Requested 1 run. Skipped 2: paused.\n');
      expect((await fleet('resume', '*')).stdout).toBe('Resumed 2 workspaces. 1 was not paused.\n');
      const { code, stderr } = await fleet('pause', 'voices/*:nobody');
      expect([code, stderr]).toEqual([64, expect.stringContaining('matches "voices/*:nobody"')]);
      await until(async () => (await statusOf(acme)) === 'waiting');
    });
    for (const [name = '', ...more] of [
      ['run'],
      ['pause'],
      ['status'],
      ['show'],
      ['approve', '5f0c2a9e41d7'],
      ['reject', '5f0c2a9e41d7'],
      ['exec', 'plan'],
    ]) {
      const { code, stderr } = await fleet(name, 'voices/clients/acne:test', ...more);
      expect([name, code, stderr]).toEqual([name, 64, expect.stringContaining(`did you mean "${acme}"?`)]);
    }
  });

  await step('the status shows plans and workspaces that were never checked', async () => {
    const { stdout } = await fleet('status');
    expect(stdout).toMatch(/^3 workspaces: .*; 2 never checked$/m);
    expect(stdout).toMatch(new RegExp(`${acme} +waiting .* plan ${plan}$`, 'm'));
    expect(stdout).toContain('\nTo show a plan: voxform fleet show WORKSPACE\n');
    expect((await fleet('status', acme)).stdout).toContain(`voxform fleet approve ${acme} ${plan}\n`);
  });

  await step('JSON field names are in snake case', async () => {
    const document = await json(acme);
    expect(document).toMatchObject({
      workspaces: [
        { address: acme, workspace_id: expect.any(String), plan: { id: plan, made_at: expect.any(String) } },
      ],
    });
    const names: string[] = [];
    JSON.stringify(document, (name, value) => {
      names.push(name);
      return value;
    });
    expect(names.filter((name) => /[A-Z]/.test(name))).toEqual([]);
  });

  await step('a rejection shows who rejected the plan and how to approve it after all', async () => {
    const { stdout } = await fleet('reject', acme, plan.slice(0, 4), '--because', 'not today');
    const approve = `voxform fleet approve ${acme} ${plan}`;
    expect(stdout).toBe(`Rejected plan ${plan} of ${acme}. To approve it after all: ${approve}\n`);
    const shown = (await fleet('status', acme)).stdout;
    expect(shown).toMatch(new RegExp(`^Rejected +plan ${plan} by .*Z: not today$`, 'm'));
    expect(shown).toMatch(/^Note +1 to create.*; the plan was rejected by /m);
    expect(shown).toMatch(new RegExp(`^Approve +${approve}$`, 'm'));
  });

  await step('a create without an answer is unknown after the apply of an approved plan', async () => {
    first.faults.add({ match: { method: 'POST' }, fault: { cut: 'after' } });
    await fleet('pause', acme);
    expect(await fleet('approve', acme, plan.slice(0, 6))).toMatchObject({
      stderr: '',
      stdout: `Approved plan ${plan} of ${acme}. The workspace is paused. To apply the plan: voxform fleet resume ${acme}\n`,
    });
    await fleet('resume', acme);
    const unknown = new RegExp(`${acme} +pending .* 1 unknown\\b`, 'm');
    await until(async () => unknown.test((await fleet('status')).stdout));
    expect((await fleet('status', acme)).stdout).toMatch(
      new RegExp(`^Unknown +Agent/a\nResolve +voxform fleet exec ${acme} plan$`, 'm'),
    );
  });

  await step('exec runs the command that resolves it while the fleet is served', async () => {
    const shown = await fleet('exec', acme, 'plan');
    expect(shown.stdout.replaceAll(/\s+/g, ' ')).toContain(
      `voxform fleet exec ${acme} -- state resolve Agent/a --not-created`,
    );
    const [id = ''] = first.world.agents.keys();
    const imported = await fleet('exec', acme, '--', 'import', 'Agent/a', id, '--lock-timeout', '30s');
    expect([imported.code, imported.stdout]).toEqual([
      0,
      expect.stringContaining(`Run voxform fleet exec ${acme} -- plan to`),
    ]);
    for (const words of [['watch'], ['--', 'plan', '-w', 'test'], ['plan', '-w', 'test']])
      expect((await fleet('exec', acme, ...words)).code).toBe(64);
    expect((await fleet('exec', 'voices/acne:test', 'plan')).stderr).toContain('the fleet has no workspace');
  });

  await step('the workspace is in sync afterwards', async () => {
    await until(async () => (await statusOf(acme)) === 'in-sync');
    expect((await fleet('status', acme)).stdout).toContain('1 with manual steps');
    expect(first.world.agents.size).toBe(1);
    expect((await fleet('status', '--detailed-exitcode')).code).toBe(2);
    const codeOf = async (...args: string[]) => (await fleet('status', ...args, '--detailed-exitcode')).code;
    expect([await codeOf(acme), await codeOf('--only', 'in-sync')]).toEqual([0, 0]);
    expect([await codeOf('voices/clients/beta:test'), await codeOf('--only', 'failed')]).toEqual([2, 2]);
    expect((await fleet('status', acme, '--only', 'failed')).stdout).toBe('No workspace matches.\n');
  });

  await step('the next process continues with the same records', async () => {
    const { code, stderr } = await end();
    expect([code, stderr]).toEqual([0, expect.stringContaining('stopped')]);
    expect(stderr).not.toContain(KEY.VOXFORM_TEST_KEY);
    expect((await fleet('status')).stdout).toContain('No process is running. Start one: voxform fleet serve');
    expect((await fleet('exec', acme, '--', 'state', 'list')).stdout).toContain('Agent/a');
    expect((await fleet('exec', acme, '--', 'plan', '--out', 'q.plan')).stderr).toContain(
      `To apply it: voxform fleet exec ${acme} -- apply q.plan`,
    );
    expect((await fleet('exec', acme, '--', 'state', 'move', '--from', 'none.json')).stderr).toContain(
      `Specify the state file to move: voxform fleet exec ${acme} -- state move --from PATH`,
    );
    await folder.write('voices/clients/acme/manifests/a.yaml', 'kind: Agentt\n');
    expect((await fleet('exec', acme, 'plan')).code).toBe(0);
  });

  await step('commands that do not need the newest manifests run with an invalid project file', async () => {
    await folder.write('voices/clients/acme/voxform.yaml', `${own(projectFile(first))}x: [\n`);
    const endAgain = await begin();
    await until(async () => (await statusOf(acme)) === 'invalid');
    await endAgain();
    for (const words of [['state', 'list'], ['status'], ['history']]) {
      const { code, stderr } = await fleet('exec', acme, '--', ...words);
      expect([words, code, stderr]).toEqual([words, 0, expect.stringContaining('Using the last valid one.')]);
    }
    const { code, stderr } = await fleet('exec', acme, 'plan');
    expect([code, stderr]).toEqual([1, expect.stringContaining('unclosed')]);
  });
});
