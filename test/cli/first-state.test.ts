import { execFileSync } from 'node:child_process';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { beginRepository } from '../hosting/bare-repository.ts';
import { type ConnectProxy, connectProxy } from '../platform/connect-proxy.ts';
import { step } from '../step.ts';
import { type CommandResult, command } from '../trust/in-process.ts';
import { temporaryFolder } from './voxform-process.ts';
import { API_KEY, agentManifest, projectFile, type TestWorkspace, testWorkspace } from './workspace.ts';

/** Not on loopback, where a state is created without state init. */
const BASE_URL = 'http://voice.example.com';

const APPLY = ['apply', '--auto-approve'];

interface FarPlatform extends AsyncDisposable {
  readonly workspace: TestWorkspace;
  /** Runs the command in a folder, on a machine without marks of earlier runs. */
  run(...args: string[]): ReturnType<TestWorkspace['run']>;
  /** Runs the command on a terminal on which a person types this text. */
  onTerminal(typed: string, ...args: string[]): Promise<CommandResult>;
  configure(state: string): Promise<void>;
  git(...args: string[]): string;
}

/** A clone of a repository with one agent, for a platform that is only reachable through a proxy. */
async function farPlatform(): Promise<FarPlatform> {
  const workspace = await testWorkspace({ 'manifests/a.yaml': agentManifest('day') });
  const proxy: ConnectProxy = await connectProxy(Number(new URL(workspace.emulator.url).port));
  const remote = await temporaryFolder();
  const { root } = workspace.folder;
  const git = (...args: string[]): string => {
    const identity = ['-c', 'user.name=test', '-c', 'user.email=test@example.com'];
    return execFileSync('git', [...identity, ...args], { cwd: root, stdio: 'pipe', encoding: 'utf8' }).trim();
  };
  beginRepository(remote.root, '[core]\n\tbare = true\n');
  const origin = `[core]\n\tbare = false\n[remote "origin"]\n\turl = ${remote.root}\n`;
  beginRepository(path.join(root, '.git'), `${origin}\tfetch = +refs/heads/*:refs/remotes/origin/*\n`);
  const configure = (state: string) =>
    workspace.folder.write('voxform.yaml', projectFile({ ...workspace.emulator, url: BASE_URL }, `state: ${state}\n`));
  await configure('{ backend: git }');
  const freshMachine = async () => {
    const memory = path.join(root, '.voxform', 'memory');
    await rm(memory, { recursive: true, force: true });
    return { HTTP_PROXY: `http://127.0.0.1:${proxy.port}`, XDG_STATE_HOME: memory };
  };
  return {
    workspace,
    configure,
    git,
    run: async (...args) => workspace.runWith(await freshMachine(), ...args),
    onTerminal: async (typed, ...args) => {
      const env = { ...(await freshMachine()), VOXFORM_API_KEY: API_KEY };
      return command(args, { cwd: root, env, columns: 80, typed });
    },
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]();
      await workspace[Symbol.asyncDispose]();
      await remote[Symbol.asyncDispose]();
    },
  };
}

const words = (text: string): string => text.replace(/\s+/g, ' ');

describe('a first state', () => {
  it('needs state init without a terminal if a record would be created', {
    tags: ['long'],
  }, async () => {
    await using far = await farPlatform();
    const refused = await far.run(...APPLY);
    expect(refused.code).toBe(1);
    expect(words(refused.stderr)).toContain('would create 1 record');
    expect(refused.stderr).toContain('voxform state init');
    expect(far.workspace.writes()).toBe(0);
    expect((await far.run('plan')).code).toBe(0);
    expect((await far.run('state', 'init')).code).toBe(0);
    expect((await far.run(...APPLY)).code).toBe(0);
    expect(far.workspace.writes()).toBe(1);
  });

  it('needs no state init if no record would be created', { tags: ['long'] }, async () => {
    await using far = await farPlatform();
    await rm(path.join(far.workspace.folder.root, 'manifests'), { recursive: true });
    expect((await far.run(...APPLY)).code).toBe(0);
  });

  it('is refused if the repository has a state of this workspace that the settings do not name', {
    tags: ['long'],
  }, async () => {
    await using far = await farPlatform();
    await far.run('state', 'init');
    expect((await far.run(...APPLY)).code).toBe(0);
    await far.configure('{ backend: local }');
    for (const command of [['plan'], APPLY]) {
      const refused = await far.run(...command);
      expect(refused.code).toBe(1);
      expect(words(refused.stderr)).toContain('refs/voxform/test of origin, with 1 record, belongs to');
      expect(words(refused.stderr)).toContain("--from '{ backend: git, ref: refs/voxform/test }'");
    }
    expect(far.workspace.writes()).toBe(1);
    expect((await far.run('state', 'move', '--from', '{ backend: git }')).code).toBe(0);
    expect((await far.run('plan', '--detailed-exitcode')).code).toBe(0);
  });

  it('is planned with a warning if the repository cannot be searched', async () => {
    await using far = await farPlatform();
    far.git('remote', 'set-url', 'origin', path.join(far.workspace.folder.root, 'nowhere'));
    await far.configure('{ backend: local }');
    const { code, stderr } = await far.run('plan');
    expect(code).toBe(0);
    expect(words(stderr)).toContain('for another state of this workspace');
  });
});

describe('manifests that may be older than those applied last', () => {
  /** Returns a repository whose two commits were applied. */
  async function applied(
    state = '{ backend: local }',
  ): Promise<FarPlatform & { readonly older: string; readonly newer: string }> {
    const far = await farPlatform();
    await far.configure(state);
    await far.run('state', 'init');
    const commit = async (prompt: string): Promise<string> => {
      await far.workspace.folder.write('manifests/a.yaml', agentManifest('day', prompt));
      far.git('add', '-A', 'manifests', 'voxform.yaml');
      far.git('commit', '-q', '-m', prompt);
      expect((await far.run(...APPLY)).code).toBe(0);
      return far.git('rev-parse', 'HEAD');
    };
    return { ...far, older: await commit('Old.'), newer: await commit('New.') };
  }

  it('are planned with a warning, and not applied without a terminal or --allow-older-commit', {
    tags: ['long'],
  }, async () => {
    await using far = await applied();
    expect((await far.run('state', 'pull')).stdout).toContain(`"applied_commit": "${far.newer}"`);
    far.git('checkout', '-q', far.older);
    const writes = far.workspace.writes();
    const plan = await far.run('plan', '--output', 'json');
    expect(JSON.parse(plan.stdout)).toMatchObject({ guards: [{ guard: 'older_commit' }] });
    const refused = await far.run(...APPLY);
    expect(refused.code).toBe(1);
    expect(words(refused.stderr)).toContain('--allow-older-commit');
    await far.run('plan', '--out', 'old.plan');
    // On a terminal, a person decides. A saved plan has no question.
    expect((await far.onTerminal('no\n', 'apply')).stderr).toContain('Type yes');
    const saved = await far.onTerminal('yes\n', 'apply', 'old.plan');
    expect([saved.code, words(saved.stderr)]).toEqual([1, expect.stringContaining('--allow-older-commit')]);
    expect(far.workspace.writes()).toBe(writes);
    expect((await far.run('apply', 'old.plan', '--allow-older-commit')).code).toBe(0);
    expect(far.workspace.writes()).toBe(writes + 1);
    // A deliberate apply of an older commit is the last apply from then on.
    far.git('checkout', '-q', far.newer);
    expect((await far.run(...APPLY)).code).toBe(0);
  });

  it('are detected from the commits in the clone', { tags: ['long'] }, async () => {
    await using far = await applied('{ backend: git }');
    far.git('push', '-q', 'origin', `${far.older}:refs/heads/main`);
    const origin = `file://${far.git('remote', 'get-url', 'origin')}`;
    for (const { reason, depth, guards, warnings } of [
      {
        reason: 'a full clone does not contain the commit',
        depth: [],
        guards: [{ guard: 'older_commit' }],
        warnings: 0,
      },
      { reason: 'a shallow clone may not contain the commit', depth: ['--depth=1'], guards: [], warnings: 1 },
    ]) {
      await step(reason, async () => {
        const clone = path.join(far.workspace.folder.root, '.voxform', `clone-${warnings}`);
        far.git('clone', '-q', ...depth, origin, clone);
        far.git('-C', clone, 'commit', '-q', '--allow-empty', '-m', 'c');
        const document = JSON.parse((await far.run('-C', clone, 'plan', '--output', 'json')).stdout);
        expect(document.guards).toMatchObject(guards);
        const about = document.warnings.filter(({ message }: { message: string }) => message.includes('shallow'));
        expect(about).toHaveLength(warnings);
      });
    }
  });

  it('are current if they contain the commit, and only cause a warning on another branch', {
    tags: ['long'],
  }, async () => {
    await using far = await applied();
    far.git('commit', '-q', '--allow-empty', '-m', 'later');
    await far.workspace.folder.write('manifests/a.yaml', agentManifest('day', 'Later.'));
    const later = JSON.parse((await far.run('plan', '--output', 'json')).stdout);
    expect(later).toMatchObject({ summary: { update: 1 }, guards: [] });
    const about = (document: typeof later) => JSON.stringify(document.warnings).includes('last applied commit');
    expect(about(later)).toBe(false);
    far.git('stash', '-q');
    far.git('checkout', '-q', '-b', 'side', far.older);
    far.git('commit', '-q', '--allow-empty', '-m', 'side');
    const side = JSON.parse((await far.run('plan', '--output', 'json')).stdout);
    expect(side).toMatchObject({ summary: { update: 1 }, guards: [] });
    expect(about(side)).toBe(true);
  });
});
