import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseGitAddress } from '../../src/git/git-address.ts';
import { UserError } from '../../src/problems/user-error.ts';
import { GitServer } from '../state/backends/git/git-server.ts';
import { leaveFile, Remote } from './git-remote.ts';

const never = new AbortController().signal;

describe('Git source', () => {
  it('checks out each commit in a new folder, and removes older checkouts', { tags: ['long'] }, async () => {
    using remote = new Remote();
    const source = remote.source();
    const commits: string[] = [];
    for (const text of ['one', 'two', 'three']) {
      commits.push(remote.push({ 'a/b.txt': text }));
      const fetched = await source.fetch(never);
      expect(fetched).toMatchObject({ commit: commits.at(-1), problem: undefined });
      expect(readFileSync(path.join(fetched.folder, 'a/b.txt'), 'utf8')).toBe(text);
      expect(existsSync(path.join(fetched.folder, '.git'))).toBe(false);
      await source.keep(fetched);
    }
    expect(remote.checkouts()).toEqual([commits[2]]);
    const again = await source.fetch(never);
    expect([again.commit, remote.checkouts()]).toEqual([commits[2], [commits[2]]]);
  });

  it('follows a push that rewrites history, and finds the project folder', async () => {
    using remote = new Remote();
    const source = remote.source(remote.bare, { subfolder: 'voice' });
    remote.push({ 'voice/x.txt': 'one' });
    await source.keep(await source.fetch(never));
    const commit = remote.push({ 'voice/x.txt': 'rewritten' }, '--amend');
    const fetched = await source.fetch(never);
    expect([fetched.commit, fetched.problem, path.basename(fetched.folder)]).toEqual([commit, undefined, 'voice']);
    expect(readFileSync(path.join(fetched.folder, 'x.txt'), 'utf8')).toBe('rewritten');
  });

  it('stays at the last commit while the remote or the branch is missing, also after a restart', {
    tags: ['long'],
  }, async () => {
    using remote = new Remote();
    const commit = remote.push({ x: 'one' });
    const source = remote.source();
    await source.keep(await source.fetch(never));
    renameSync(remote.bare, `${remote.bare}.away`);
    for (const each of [source, remote.source()]) {
      const fetched = await each.fetch(never);
      expect(fetched.commit).toBe(commit);
      expect(String(fetched.problem)).toMatch(/git fetch: .*remote\.git/);
    }
    renameSync(`${remote.bare}.away`, remote.bare);
    execFileSync('git', ['--git-dir', remote.bare, 'branch', '-m', 'main', 'other']);
    const fetched = await source.fetch(never);
    expect([fetched.commit, String(fetched.problem)]).toEqual([
      commit,
      expect.stringContaining("couldn't find remote ref main"),
    ]);
    execFileSync('git', ['--git-dir', remote.bare, 'branch', '-m', 'other', 'main']);
    expect((await source.fetch(never)).problem).toBeUndefined();
  });

  it('reports the error if it never reached the remote', async () => {
    using remote = new Remote();
    await expect(remote.source(path.join(remote.root, 'none')).fetch(never)).rejects.toThrow(/^git fetch: .*none/);
    await expect(remote.source().fetch(never)).rejects.toThrow("couldn't find remote ref main");
  });

  it('remembers the last good commit over a restart, and keeps its checkout beside the newest', {
    tags: ['long'],
  }, async () => {
    using remote = new Remote();
    const good = remote.push({ x: 'good' });
    const source = remote.source();
    await source.keep(await source.fetch(never));
    const bad = remote.push({ x: 'bad' });
    await source.fetch(never);
    const restarted = remote.source();
    expect((await restarted.fetch(never)).commit).toBe(bad);
    const version = await restarted.lastGood();
    expect(version?.commit).toBe(good);
    expect(readFileSync(path.join(version?.folder ?? '', 'x'), 'utf8')).toBe('good');
    expect(remote.checkouts()).toEqual([bad, good].sort());
  });

  it('ignores and removes a partial checkout of a killed run', async () => {
    using remote = new Remote();
    const commit = remote.push({ x: 'one' });
    const source = remote.source();
    const { folder } = await source.fetch(never);
    renameSync(folder, `${folder}.partial`);
    rmSync(path.join(`${folder}.partial`, 'x'));
    const fetched = await remote.source().fetch(never);
    expect(readFileSync(path.join(fetched.folder, 'x'), 'utf8')).toBe('one');
    await source.keep(fetched);
    expect(remote.checkouts()).toEqual([commit]);
  });

  it('fetches into a repository in which a fetch was killed', { tags: ['long'] }, async () => {
    using remote = new Remote();
    remote.push({ x: 'one' });
    await remote.source().fetch(never);
    for (const name of ['shallow.lock', 'objects/pack/tmp_pack_x']) leaveFile(path.join(remote.fetched, name));
    const commit = remote.push({ x: 'two' });
    expect(await remote.source().fetch(never)).toMatchObject({ commit, problem: undefined });
    expect(readdirSync(path.join(remote.fetched, 'objects/pack'))).not.toContain('tmp_pack_x');
  });

  it('sends the login of the address as a header, but not to a redirect target', {
    tags: ['long'],
  }, async () => {
    using remote = new Remote();
    remote.push({ x: 'one' });
    await using server = await GitServer.start(remote.root);
    await using other = await GitServer.start(remote.root);
    const url = server.address('remote.git', 'robot:hunter2');
    await remote.source(url).fetch(never);
    const login = `Basic ${Buffer.from('robot:hunter2').toString('base64')}`;
    expect(new Set(server.authorizations)).toEqual(new Set([login]));
    remote.push({ x: 'two' });
    server.redirect = other.address('');
    const { problem } = await remote.source(url).fetch(never);
    expect(other.authorizations).toEqual([]);
    expect(problem).toMatchObject({ hint: expect.stringContaining('final address') });
  });

  it('refuses a checkout above the size limits of a project, and stays at the last good commit', {
    tags: ['long'],
  }, async () => {
    using remote = new Remote();
    const source = remote.source();
    const good = remote.push({ 'voice/x.txt': 'one' });
    const voice = remote.git('rev-parse', `${good}:voice`);
    await source.keep(await source.fetch(never));
    let endless = voice;
    for (let levels = 0; levels < 10; levels++)
      endless = remote.tree(Array.from({ length: 10 }, (_, index) => `040000 tree ${endless}\tx${index}`));
    const bad = remote.commit(remote.tree([`040000 tree ${endless}\tendless`, `040000 tree ${voice}\tvoice`]));
    const fetched = await source.fetch(never);
    expect([fetched.commit, String(fetched.problem)]).toEqual([
      good,
      expect.stringContaining(`cannot be used at ${bad}: it has more than 10000 files and folders`),
    ]);
    expect(remote.checkouts()).toEqual([good]);
    using other = new Remote();
    await expect(other.source(remote.bare).fetch(never)).rejects.toThrow('it has more than 10000');
    const inside = await other.source(remote.bare, { subfolder: 'voice' }).fetch(never);
    expect(readFileSync(path.join(inside.folder, 'x.txt'), 'utf8')).toBe('one');
    expect(existsSync(path.join(inside.checkout ?? '', 'endless'))).toBe(false);
  });

  it('prints no password', async () => {
    using remote = new Remote();
    const source = remote.source('http://robot:hunter2@127.0.0.1:1/x.git');
    const error = await source.fetch(never).catch((given: unknown) => given);
    expect(`${source.name} ${error}`).not.toMatch(/hunter2|cm9ib3Q6/);
    expect(String(error)).toContain('127.0.0.1');
  });
});

describe('Git address', () => {
  it.each([
    '--upload-pack=touch x',
    '-oProxyCommand=x',
    'ext::sh -c touch',
    'ext::sh',
    'ssh://-oProxyCommand=x/y',
    'ssh://-x@host/y',
    'javascript://x',
    'https://',
    'https://x y/z',
    'https://x/\nz',
    '',
  ])('refuses %j', (text) => {
    expect(() => parseGitAddress(text, { cwd: '/here', option: '--git' })).toThrow(UserError);
  });

  it.each([
    ['https://git.example.com/a.git', 'https://git.example.com/a.git'],
    ['https://robot:s%40cret@git.example.com:8443/a.git', 'https://git.example.com:8443/a.git'],
    ['ssh://git@git.example.com:22/a.git', 'ssh://git@git.example.com:22/a.git'],
    ['git@git.example.com:team/a.git', 'git@git.example.com:team/a.git'],
    ['file:///srv/a.git', 'file:///srv/a.git'],
    ['../a.git', '/a.git'],
    ['/srv/a.git', '/srv/a.git'],
    ['my voices/a.git', '/here/my voices/a.git'],
  ])('accepts %s', (text, url) => {
    expect(parseGitAddress(text, { cwd: '/here', option: '--git' })).toMatchObject({ url, shown: url });
  });

  it('separates the password from the address', () => {
    const { credentials } = parseGitAddress('https://robot:s%40cret@git.example.com:8443/a.git', {
      cwd: '/',
      option: '--git',
    });
    expect(credentials).toEqual({
      server: 'https://git.example.com:8443/',
      user: 'robot',
      password: 's@cret',
    });
  });

  it.each([
    ['--ref', { ref: '--upload-pack=x' }],
    ['--ref', { ref: 'a b' }],
    ['--ref', { ref: 'main:refs/heads/x' }],
    ['--ref', { ref: '+main' }],
    ['--ref', { ref: 'a..b' }],
    ['--ref', { ref: '' }],
    ['--path', { subfolder: '../x' }],
    ['--path', { subfolder: '/etc' }],
    ['--path', { subfolder: 'a/../../b' }],
  ] as const)('refuses %s that points to another server: %j', (flag, more) => {
    using remote = new Remote();
    expect(() => remote.source(remote.bare, more)).toThrow(flag);
  });
});
