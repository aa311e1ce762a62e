import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { UserError } from '../../../../src/problems/user-error.ts';
import type { StateStore } from '../../../../src/state/store.ts';
import { Secret } from '../../../../src/values/value.ts';
import { failureOf, lockRequest } from '../../temporary-state.ts';
import { GitServer, git, newBare, newRepository } from './git-server.ts';
import { Machine, type MachineOptions, scratch } from './machine.ts';

const LOGIN = 'ann:correct-horse';
const HEADER = `Authorization: Basic ${Buffer.from(LOGIN).toString('base64')}`;

async function served() {
  const folder = scratch();
  const bare = newBare(path.join(folder, 'voice.git'));
  const server = await GitServer.start(folder);
  server.login = LOGIN;
  onTestFinished(() => server[Symbol.asyncDispose]());
  return { folder, bare, server, origin: server.address('voice.git') };
}

/** Locks and unlocks, so the state can be read and written. */
async function use(store: StateStore): Promise<void> {
  await (await store.lock(lockRequest())).release();
}

function refsOf(bare: string): string {
  return git(bare, 'for-each-ref', '--format=%(refname)');
}

describe('remote of a state', () => {
  it('uses the credentials of its URL, which appear in no message', { tags: ['long'] }, async () => {
    const { server, origin } = await served();
    const remote = server.address('voice.git', LOGIN);
    await use(new Machine({ settings: { remote } }).store());
    await use(new Machine({ settings: { remote: new Secret('STATE_REPOSITORY', remote) } }).store());
    const wrong = server.address('voice.git', 'ann:wrong-horse');
    for (const given of [wrong, new Secret('STATE_REPOSITORY', wrong)]) {
      const store = new Machine({ settings: { remote: given } }).store();
      const { message, hint } = await failureOf(store.read());
      expect(`${message} ${hint} ${store.location}`).not.toMatch(/horse/);
      expect(message).toMatch(
        /^the remote (in STATE_REPOSITORY|http\S+) refused access: Authentication failed for 'http:\/\/127/,
      );
    }
    const without = await failureOf(new Machine({ origin }).store().read());
    expect(without).toBeInstanceOf(UserError);
    expect(without.message).toContain('the remote origin refused access: could not read Username');
  });

  it.each([
    ['the repository', (root: string) => git(root, 'config', 'http.extraHeader', HEADER)],
    [
      'a file that the repository includes by path',
      (root: string) => {
        const file = path.join(root, '..', 'credentials');
        writeFileSync(file, `[http]\n\textraHeader = ${HEADER}\n`);
        git(root, 'config', `includeIf.gitdir:${root}/.git.path`, file);
      },
    ],
    [
      'a credential helper',
      (root: string) => git(root, 'config', 'credential.helper', '!echo username=ann; echo password=correct-horse;:'),
    ],
    [
      'the user',
      (root: string) =>
        execFileSync('git', ['config', '--file', path.join(root, '../home/.gitconfig'), 'http.extraHeader', HEADER]),
    ],
  ])('uses the credentials of %s, sent once', { tags: ['long'] }, async (_whose, configure) => {
    const { origin } = await served();
    const machine = new Machine({ origin });
    configure(machine.root);
    await use(machine.store());
  });

  it('sends no credentials to a server that it redirects to, and fails immediately', async () => {
    const { folder, server, origin } = await served();
    await using other = await GitServer.start(folder);
    server.redirect = other.address('');
    const header = new Machine({ origin });
    git(header.root, 'config', `http.${server.address('')}.extraHeader`, HEADER);
    const address = new Machine({ settings: { remote: server.address('voice.git', LOGIN) } });
    for (const machine of [header, address]) {
      const failure = await failureOf(machine.store().lock(lockRequest()));
      expect(failure).toBeInstanceOf(UserError);
      expect(failure.hint).toContain('final address');
    }
    expect(other.authorizations).toEqual([]);
  });

  it('uses the ssh command of the repository, and accepts relative paths', {
    tags: ['long'],
  }, async () => {
    const folder = scratch();
    const bare = newBare(path.join(folder, 'voice.git'));
    const ssh = path.join(folder, 'ssh');
    writeFileSync(ssh, `#!/bin/sh\nfor last; do :; done\nexec sh -c "$last"\n`);
    chmodSync(ssh, 0o700);
    const machine = new Machine({ origin: `git@git.example.com:${bare}` });
    git(machine.root, 'config', 'core.sshCommand', ssh);
    git(machine.root, 'config', 'ssh.variant', 'simple');
    await use(machine.store());
    git(machine.root, 'config', '--unset', 'core.sshCommand');
    git(machine.root, 'remote', 'set-url', 'origin', path.relative(machine.root, bare));
    await use(machine.store());
    await use(machine.store({ remote: path.relative(machine.root, bare) }));
    expect(git(bare, 'rev-list', '--count', 'refs/voxform/test')).toBe('6');
  });

  it.each<{ reason: string; options: MachineOptions; says: RegExp; hint?: string }>([
    {
      reason: 'a name that is not a remote',
      options: { settings: { remote: 'upstream' } },
      says: /has no remote upstream; remotes: origin$/,
    },
    {
      reason: 'an option',
      options: { settings: { remote: '--upload-pack=touch x' } },
      says: /not a repository address/,
    },
    {
      reason: 'a command',
      options: { settings: { remote: 'ext::touch x' } },
      says: /names a helper program/,
    },
    { reason: 'a command as origin', options: { origin: 'ext::touch x' }, says: /names a helper program/ },
    {
      reason: 'another protocol',
      options: { settings: { remote: 'ftp://x/y' } },
      says: /unsupported protocol ftp/,
    },
    {
      reason: 'an unknown host',
      options: { origin: 'http://nowhere.invalid/x.git' },
      says: /^cannot use the remote origin: .*Could not resolve host/,
      hint: 'Correct the host in the address of the remote',
    },
    {
      reason: 'no repository',
      options: { origin: '/nowhere/x.git' },
      says: /^there is no repository at the remote origin/,
    },
    {
      reason: 'no git',
      options: { env: { PATH: '/nowhere' } },
      says: /^a state in Git needs git, which is not installed$/,
    },
    {
      reason: 'an unset secret',
      options: { settings: { remote: new Secret('STATE_REPOSITORY', undefined) } },
      says: /state.remote needs STATE_REPOSITORY, which is not set/,
    },
    {
      reason: 'another remote for a fetched project',
      options: { settings: { remote: 'upstream' }, source: '/nowhere' },
      says: /a project from --git has only the remote origin/,
    },
  ])('fails immediately and permanently for $reason', async ({ options, says, hint = '' }) => {
    const failure = await failureOf(new Machine(options).store().lock(lockRequest()));
    expect(failure).toBeInstanceOf(UserError);
    expect(failure.message).toMatch(says);
    expect(failure.hint ?? '').toContain(hint);
  });

  it('is the repository of a fetched project', { tags: ['long'] }, async () => {
    const { server, bare } = await served();
    const source = server.address('voice.git', LOGIN);
    await use(new Machine({ source }).store());
    expect(refsOf(bare)).toContain('refs/voxform/test');
  });

  it('has one URL to push to, and is a repository', async () => {
    const machine = new Machine();
    git(machine.root, 'remote', 'set-url', '--add', 'origin', '/elsewhere');
    const { message } = await failureOf(machine.store().read());
    expect(message).toContain('the remote origin has several push addresses');
    const outside = scratch();
    const root = path.join(outside, 'project');
    mkdirSync(root);
    const plain = Object.assign(new Machine(), { root });
    const none = await failureOf(plain.store().read());
    expect(none.message).toContain('is not in a usable Git repository: not a git repository');
  });

  it.each([
    {
      reason: 'a hook that declines',
      refuse: (bare: string) => {
        mkdirSync(path.join(bare, 'hooks'), { recursive: true });
        const hook = path.join(bare, 'hooks/update');
        writeFileSync(hook, '#!/bin/sh\ncase $1 in refs/heads/*) ;; *) echo "branches only" >&2; exit 1 ;; esac\n');
        chmodSync(hook, 0o700);
      },
      says: /^the remote origin rejected a push to refs\/voxform\/test: hook declined: .*branches only/,
    },
    {
      reason: 'hidden refs',
      refuse: (bare: string) => git(bare, 'config', 'transfer.hideRefs', 'refs/voxform'),
      says: /^the remote origin rejected a push to refs\/voxform\/test: deny updating a hidden ref/,
    },
  ])('suggests a branch if it accepts no other ref: $reason', { tags: ['long'] }, async ({ refuse, says }) => {
    const folder = scratch();
    const bare = newBare(path.join(folder, 'voice.git'));
    refuse(bare);
    const machine = new Machine({ origin: bare });
    const { message, hint } = await failureOf(machine.store().lock(lockRequest()));
    expect(message).toMatch(says);
    expect(hint).toContain('state.ref: refs/heads/voxform/{workspace}');
    await use(machine.store({ ref: 'refs/heads/voxform/{workspace}' }));
  });

  it('is never overwritten if the ref contains other data', { tags: ['long'] }, async () => {
    const folder = scratch();
    const work = path.join(folder, 'work');
    const bare = newRepository(work, path.join(folder, 'voice.git'));
    writeFileSync(path.join(work, 'README'), 'hello');
    git(work, 'add', 'README');
    git(work, 'commit', '--quiet', '-m', 'files');
    git(work, 'push', '--quiet', 'origin', 'main', 'main~1:refs/heads/empty');
    git(work, 'tag', '-a', '-m', 'v1', 'v1');
    git(work, 'push', '--quiet', 'origin', 'v1');
    const before = git(bare, 'for-each-ref');
    const machine = new Machine({ origin: bare });
    for (const [ref, what] of [
      ['refs/heads/main', 'it contains README'],
      ['refs/heads/empty', 'it is a commit without files'],
      ['refs/tags/v1', 'it is a tag'],
    ] as const) {
      const { message } = await failureOf(machine.store({ ref }).lock(lockRequest()));
      expect(message).toBe(`${ref} of origin is not a voxform state: ${what}`);
    }
    expect(git(bare, 'for-each-ref')).toBe(before);
  });
});
