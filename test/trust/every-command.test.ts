/** @module-tag long */

import { expect, it } from 'vitest';
import { createProgram } from '../../src/cli/program.ts';
import { leakIn } from './planted-secrets.ts';
import { SecretWorkspace } from './secret-workspace.ts';

/** The arguments of each command, in the order of a user who tries them all. Ids are inserted when they are known. */
const calls: readonly string[] = [
  'init elsewhere',
  'lsp',
  'mcp',
  'fleet status',
  'fleet pulls',
  'fleet run here:test',
  'fleet pause here:test',
  'fleet resume here:test',
  'fleet token list',
  'fleet show here:test',
  'fleet approve here:test 5f0c',
  'fleet reject here:test 5f0c',
  'fleet exec here:test plan',
  'fleet serve',
  'fleet init',
  'validate --secrets',
  'schema',
  'completion bash',
  'explain Webhook.payload',
  'graph',
  'graph --output html',
  'apply --auto-approve',
  'versions Agent/a',
  'versions Agent/a --output json',
  'versions Agent/a 1',
  'versions Agent/a 1 --output json',
  'versions Agent/a --diff published',
  'versions Agent/a --diff published --output json',
  'impact Agent/a',
  'impact Agent/a --output json',
  'impact Agent/a --output html',
  'status',
  'status --output json',
  'drift',
  'plan --out saved.plan',
  'show saved.plan',
  'show saved.plan --output html',
  'watch --mode apply --auto-approve',
  'get agents',
  'get agents --output yaml',
  'get agents AGENT',
  'get agents AGENT --output json',
  'get agents AGENT --output csv',
  'get webhooks HOOK',
  'get webhooks HOOK --output jsonl',
  'get versions AGENT --output json',
  'get calls --output json',
  'get users --output yaml',
  'export --out out',
  'export --out in-kinds --layout kind',
  'state list',
  'state show Agent/a',
  'state show Webhook/hook',
  'state pull',
  'workspace list',
  'workspace list --output json',
  'fmt --diff',
  'fmt',
  'accept --dry-run',
  'accept --dry-run --output json',
  'accept --auto-approve --output json',
  'rollback Agent/a --to 1 --dry-run',
  'rollback Agent/a --to 1 --auto-approve --output json',
  'diff test twin',
  'diff -w test -w twin --output json',
  'migrate --from test --to twin --dry-run',
  'migrate --from test --to twin --auto-approve --output json',
  'import Agent/other AGENT',
  'state mv Agent/a Agent/moved',
  'state rm Agent/moved',
  'secret set A',
  'secret list',
  'secret remove A',
  'orphans --check',
  'orphans --check --output json',
  'orphans --all --output json',
  'orphans close AGENT --because kept',
  'recover --output json',
  'recover --auto-approve',
  'state resolve Webhook/hook --not-created',
  'state push pulled.json',
  'state init',
  'state seal',
  'state unseal',
  'state move --from nowhere.state.json',
  'state unlock 1',
  'state rescue pulled.json',
  'history',
  'history --output json',
  'history show 0',
];
/** The files of the emulator are searched at the end. The other commands need a CI job. */
const NOT_CALLED = ['emulator', 'ci comment', 'ci reviewed-plan'];

it('runs every command, and none prints or writes a secret', async () => {
  const program = await createProgram(async () => undefined);
  const all = program.commands.flatMap((command) =>
    command.commands.length === 0
      ? [command.name()]
      : command.commands.map((child) => `${command.name()} ${child.name()}`),
  );
  const isCalled = (name: string) => calls.some((call) => `${call} `.startsWith(`${name} `));
  expect(all.filter((name) => !isCalled(name) && !NOT_CALLED.includes(name))).toEqual([]);

  await using workspace = await SecretWorkspace.open({ few: true });
  const { emulator } = workspace.platform;
  const project = workspace.written().get('voxform.yaml') ?? '';
  const [, test = ''] = project.split('  test:\n');
  const [settings = ''] = test.split('    vars:');
  workspace.write({ 'voxform.yaml': `${project}  twin:\n${settings}default_workspace: test\n` });
  workspace.write({ 'fleet.yaml': 'version: 1\nsources: { here: { path: ., secrets: secrets } }\n' });
  const leaks: string[] = [];
  for (const call of calls) {
    const [agent = '', hook = ''] = [emulator.world.agents, emulator.world.webhooks].map(
      (records) => [...records.keys()][0],
    );
    const args = call.split(' ').map((word) => ({ AGENT: agent, HOOK: hook })[word] ?? word);
    const until = { watch: /"event":"run"/, 'fleet serve': /"workspace":"here:test"/ }[call.replace(/ --.*/, '')];
    const { code, stdout, stderr } = await workspace.run([...args, '-v'], { until });
    expect([0, 1, 2], `${call}: ${stderr}`).toContain(code);
    const leak = leakIn(`${stdout}\n${stderr}`);
    if (leak !== undefined) leaks.push(`${call}: ${leak}`);
    if (call === 'apply --auto-approve') {
      emulator.dashboard.publishAgent([...emulator.world.agents.keys()][0] ?? '');
    }
    if (call === 'state pull') workspace.write({ 'pulled.json': stdout });
    if (call === 'fmt') {
      // A change in the dashboard next to secret values.
      for (const id of emulator.world.agents.keys()) emulator.dashboard.edit('agents', id, { name: 'moved' });
    }
  }
  expect([...leaks, ...(await workspace.leaksInFiles())]).toEqual([]);
});
