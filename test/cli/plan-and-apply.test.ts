import { readFile, stat, truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { agentManifest, testWorkspace, webhookManifest } from './workspace.ts';

const FILES = {
  'manifests/agents.yaml': `${agentManifest('day')}---\n${agentManifest('night')}`,
  'manifests/hook.yaml': webhookManifest('hook', 'https://example.com/hook'),
};

describe('plan', () => {
  it('changes nothing, and shows in its exit code whether there are changes', async () => {
    await using workspace = await testWorkspace(FILES);
    expect((await workspace.run('plan')).code).toBe(0);
    expect((await workspace.run('plan', '--detailed-exitcode')).code).toBe(2);
    expect(workspace.writes()).toBe(0);
    await workspace.run('apply', '--auto-approve');
    const after = workspace.writes();
    expect((await workspace.run('plan', '--detailed-exitcode')).code).toBe(0);
    expect((await workspace.run('drift')).code).toBe(0);
    expect(workspace.writes()).toBe(after);
  });

  it('prints only JSON on stdout', async () => {
    await using workspace = await testWorkspace(FILES);
    const { stdout } = await workspace.run('plan', '--output', 'json', '-v');
    const plan = JSON.parse(stdout) as { format_version: number; summary: Record<string, number> };
    expect(plan.format_version).toBe(1);
    expect(plan.summary).toMatchObject({ create: 3, noop: 0 });
  });

  it('warns if an agent with its own provider is created without a key', async () => {
    const agent = (name: string, model: string) => `${agentManifest(name)}  llm_config: { ${model} }\n`;
    await using workspace = await testWorkspace({
      'manifests/a.yaml': [
        agent('keyless', 'provider: openai, model: m'),
        agent('alike', 'provider: openai, model: m'),
        agent('keyed', 'provider: openai, model: m, api_key: { $secret: MODEL_KEY }'),
        agent('internal', 'provider: internal'),
        agent('plain', 'temperature: 0.5'),
      ].join('---\n'),
    });
    const env = { MODEL_KEY: 'key-of-the-model' };
    const { stdout } = await workspace.runWith(env, 'plan', '--output', 'json');
    const { warnings } = JSON.parse(stdout) as { warnings: { address: string; message: string }[] };
    const about = warnings.filter(({ message }) => message.includes('llm_config.api_key'));
    expect(about.map(({ address }) => address)).toEqual(['Agent/alike', 'Agent/keyless']);
    await workspace.runWith(env, 'apply', '--auto-approve');
    const later = await workspace.runWith(env, 'plan', '--output', 'json');
    expect(JSON.parse(later.stdout)).toMatchObject({ warnings: [] });
  });

  it('prints colors on demand, but not in a pipe', async () => {
    await using workspace = await testWorkspace(FILES);
    expect((await workspace.run('plan')).stdout).not.toContain('\u001b');
    const forced = await workspace.runWith({ FORCE_COLOR: '1' }, 'plan');
    expect(forced.stdout).toContain('\u001b[');
    const not = await workspace.runWith({ FORCE_COLOR: '1' }, 'plan', '--no-color');
    expect(not.stdout).not.toContain('\u001b');
  });

  it('is limited to a target and the resources to which it refers', async () => {
    await using workspace = await testWorkspace(FILES);
    const { stdout } = await workspace.run('plan', '--target', 'Agent/day', '--output', 'json');
    const { resources } = JSON.parse(stdout) as { resources: { address: string }[] };
    expect(resources.map(({ address }) => address)).toEqual(['Agent/day']);
    const wrong = await workspace.run('plan', '--target', 'Agent/dya');
    expect(wrong.code).toBe(64);
    expect(wrong.stderr).toContain('did you mean "Agent/day"?');
  });

  it('warns of patterns without a match before it releases resources', async () => {
    await using workspace = await testWorkspace(FILES);
    await workspace.run('apply', '--auto-approve');
    const project = await readFile(path.join(workspace.folder.root, 'voxform.yaml'), 'utf8');
    await workspace.folder.write('voxform.yaml', `${project}manifests: [manifest/*.yaml]\n`);
    const { code, stdout, stderr } = await workspace.run('plan');
    expect([code, stdout]).toEqual([0, expect.stringContaining('Plan: 3 to forget.')]);
    expect(stderr).toMatch(/^warning: voxform\.yaml:\d+:\d+: no manifests: no file matches\s+manifest\/\*\.yaml\n$/);
  });

  it('survives a closed stdout', async () => {
    await using workspace = await testWorkspace(FILES);
    const { child, ended } = workspace.start(['plan']);
    child.stdout?.destroy();
    const { stderr, signal } = await ended;
    expect(stderr).not.toMatch(/EPIPE|\n\s+at /);
    expect(signal).toBeNull();
  });
});

describe('apply', () => {
  it('refuses to write without an approval', async () => {
    await using workspace = await testWorkspace(FILES);
    const { code, stderr } = await workspace.run('apply');
    expect(code).toBe(1);
    expect(stderr).toContain('--auto-approve');
    expect(workspace.writes()).toBe(0);
  });

  it('needs no approval without changes, and prints no notes with -q', async () => {
    await using workspace = await testWorkspace(FILES);
    await workspace.run('apply', '--auto-approve');
    expect((await workspace.run('apply')).code).toBe(0);
    expect((await workspace.run('plan')).stdout).toMatch(/2 agents: never published/);
    for (const form of ['text', 'markdown', 'html', 'github']) {
      const quiet = await workspace.run('plan', '-q', '--output', form);
      if (form !== 'html') expect(quiet.stdout).not.toContain('never published');
      else expect(quiet.stdout).not.toContain('2 agents');
    }
  });

  it('prints the result of each resource as JSON', async () => {
    await using workspace = await testWorkspace(FILES);
    workspace.emulator.faults.add({
      match: { method: 'POST', path: '/api/v1/webhooks' },
      fault: { status: 422, body: { message: 'no such host' } },
    });
    const { code, stdout } = await workspace.run('apply', '--auto-approve', '--output', 'json');
    expect(code).toBe(1);
    const { resources } = JSON.parse(stdout) as {
      resources: { address: string; result: string; error?: string }[];
    };
    expect(resources.map(({ address, result }) => [address, result])).toEqual([
      ['Agent/day', 'done'],
      ['Agent/night', 'done'],
      ['Webhook/hook', 'failed'],
    ]);
    expect(resources[2]?.error).toContain('no such host');
  });
});

it('apply records fewer creates ahead after the platform limits requests', async () => {
  const agents = Array.from({ length: 48 }, (_, index) => agentManifest(`agent-${index}`)).join('---\n');
  const pending: number[] = [];
  let refusals = 24;
  await using workspace = await testWorkspace(
    { 'manifests/a.yaml': agents },
    {
      onRequest: async ({ method }) => {
        if (method !== 'POST') return undefined;
        if (refusals-- > 0) return { status: 429 };
        const journal = await readFile(path.join(workspace.folder.root, '.voxform/test.state.json.journal'), 'utf8');
        const count = (type: string): number => journal.split(`"type":"${type}"`).length - 1;
        pending.push(count('creating') - count('saved'));
        return undefined;
      },
    },
  );
  expect((await workspace.run('apply', '--auto-approve')).code).toBe(0);
  expect(pending).toHaveLength(48);
  expect(Math.max(...pending)).toBe(16);
  expect(Math.max(...pending.slice(24))).toBeLessThan(12);
});

it('apply has more creates in flight if the platform is fast enough', { tags: ['long'] }, async () => {
  const agents = Array.from({ length: 300 }, (_, index) => agentManifest(`agent-${index}`)).join('---\n');
  let [inFlight, most] = [0, 0];
  await using workspace = await testWorkspace(
    { 'manifests/a.yaml': agents },
    {
      onRequest: async ({ method }) => {
        if (method !== 'POST') return undefined;
        most = Math.max(most, ++inFlight);
        // This delay gives a slow machine enough time to send twice as many.
        await delay(700);
        inFlight--;
        return undefined;
      },
    },
  );
  const { code } = await workspace.start(['apply', '--auto-approve']).ended;
  expect(code).toBe(0);
  expect(most).toBeGreaterThan(16);
});

describe('a saved plan', () => {
  it('is private, and is applied unchanged, without a question and only once', async () => {
    await using workspace = await testWorkspace(FILES);
    const file = path.join(workspace.folder.root, 'a.plan');
    await workspace.run('plan', '--out', 'a.plan');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    // There is neither a terminal nor --auto-approve.
    expect((await workspace.run('apply', 'a.plan')).code).toBe(0);
    expect(workspace.writes()).toBe(3);
    const again = await workspace.run('apply', 'a.plan');
    expect(again.code).toBe(1);
    expect(again.stderr).toContain('the plan is stale');
    expect(workspace.writes()).toBe(3);
  });

  it('is written to a device or a pipe without replacing it', async () => {
    await using workspace = await testWorkspace(FILES);
    const full = await workspace.run('plan', '--out', '/dev/full');
    expect(full.code).toBe(1);
    expect(full.stderr).toMatch(/^error: cannot write \/dev\/full/);
    expect((await stat('/dev/full')).isCharacterDevice()).toBe(true);
    expect((await workspace.run('plan', '--out', '/dev/null')).code).toBe(0);
    expect((await stat('/dev/null')).isCharacterDevice()).toBe(true);
  });

  it('replaces a saved plan or an empty file, but no other file', async () => {
    await using workspace = await testWorkspace(FILES);
    const { root } = workspace.folder;
    await writeFile(path.join(root, 'a.plan'), '');
    for (const each of ['first', 'second'])
      expect([each, (await workspace.run('plan', '--out', 'a.plan')).code]).toEqual([each, 0]);
    await workspace.run('apply', 'a.plan');
    await workspace.folder.write('terraform.tfstate', '{ "version": 4, "resources": [] }');
    for (const file of ['manifests/agents.yaml', 'voxform.yaml', '.voxform/test.state.json', 'terraform.tfstate']) {
      const before = await readFile(path.join(root, file), 'utf8');
      const { code, stderr } = await workspace.run('plan', '--out', file);
      expect([code, stderr]).toEqual([1, expect.stringContaining(`${file} exists and is not a saved plan`)]);
      expect(await readFile(path.join(root, file), 'utf8')).toBe(before);
    }
    // A file without data, which takes no space.
    await truncate(path.join(root, 'terraform.tfstate'), 2 ** 32);
    expect((await workspace.run('plan', '--out', 'terraform.tfstate')).code).toBe(1);
    expect((await stat(path.join(root, 'terraform.tfstate'))).size).toBe(2 ** 32);
    expect((await workspace.run('plan', '--out', '')).code).toBe(64);
  });

  it('is refused after an edit', async () => {
    await using workspace = await testWorkspace(FILES);
    const file = path.join(workspace.folder.root, 'a.plan');
    await workspace.run('plan', '--out', 'a.plan');
    await writeFile(file, (await readFile(file, 'utf8')).replaceAll('Be kind.', 'Be rude.'));
    const { code, stderr } = await workspace.run('apply', 'a.plan', '--auto-approve');
    expect(code).toBe(1);
    expect(stderr).toContain('was edited');
    expect(workspace.writes()).toBe(0);
  });

  it.each([
    ['missing.plan', undefined, 'no such file'],
    ['not-json.plan', 'create everything', 'not JSON'],
    ['other.plan', '{"hello":1}', 'not a saved plan'],
  ])('is refused in %s: %s', async (name, text, message) => {
    await using workspace = await testWorkspace(FILES);
    if (text !== undefined) await workspace.folder.write(name, text);
    const { code, stderr } = await workspace.run('apply', name, '--auto-approve');
    expect(code).toBe(1);
    expect(stderr).toContain(message);
  });
});

describe('drift', () => {
  it('exits with 2 after a change on the platform, and never writes', async () => {
    await using workspace = await testWorkspace(FILES);
    await workspace.run('apply', '--auto-approve');
    const writes = workspace.writes();
    const { resources } = JSON.parse((await workspace.run('plan', '--output', 'json')).stdout) as {
      resources: { address: string; id: string }[];
    };
    workspace.emulator.dashboard.edit('agents', resources[0]?.id ?? '', {
      prompt_config: { prompt: 'Be rude.' },
    });
    const { code, stdout } = await workspace.run('drift', '--output', 'json');
    expect(code).toBe(2);
    const drift = JSON.parse(stdout) as {
      resources: { address: string; action: string; changes: unknown[] }[];
    };
    expect(drift.resources.filter(({ action }) => action !== 'noop')).toMatchObject([
      { address: 'Agent/day', changes: [{ before: 'Be rude.', after: 'Be kind.', cause: 'drift' }] },
    ]);
    expect(workspace.writes()).toBe(writes);
    expect((await workspace.run('apply', '--auto-approve')).code).toBe(0);
    expect((await workspace.run('drift')).code).toBe(0);
  });
});
