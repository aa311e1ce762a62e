/** @module-tag long */

import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { expect, it } from 'vitest';
import { BranchRepository } from '../../src/hosting/branch-repository.ts';
import { Secret } from '../../src/values/value.ts';
import { temporaryFolder } from '../cli/voxform-process.ts';
import { READER, TOKEN } from './code-host-fake.ts';
import { FakeGithub } from './fake-github.ts';

const PROXY = { variable: 'HTTP_PROXY', credentials: new Secret('HTTP_PROXY', 'ann:p@ss/word') };

async function scene() {
  const home = await temporaryFolder({
    '.gitconfig': `[credential]\n\thelper = "!touch ${'$'}HOME/was-asked; echo password=of-ann"\n`,
  });
  const trace = path.join(home.root, 'trace');
  const branches = (url: string, { token = TOKEN, proxy = undefined as string | undefined } = {}) =>
    new BranchRepository({
      url,
      kind: { gitUser: 'x-access-token', rights: 'contents: write' },
      token: new Secret('GITHUB_TOKEN', token),
      network: proxy === undefined ? {} : { proxy: { ...PROXY, origin: proxy, shown: 'the proxy' } },
      env: { PATH: process.env.PATH, HOME: home.root, GIT_TRACE: trace, http_proxy: 'http://127.0.0.1:1' },
      signal: new AbortController().signal,
      redact: (text) => text.replaceAll(TOKEN, '(secret)'),
    });
  return { home, branches, trace: () => readFileSync(trace, 'utf8') };
}

/** Starts a server that records the headers of requests, and redirects them on request. */
async function noting(redirect?: () => string) {
  const heard: object[] = [];
  const server = createServer(({ headers, url = '' }, response) => {
    heard.push({ ...headers, url });
    if (redirect === undefined) response.writeHead(407).end();
    else response.writeHead(302, { location: redirect() + url }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    heard,
    [Symbol.dispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

it('pushes a commit only if the branch is unchanged since it was read, and never prints the token', async () => {
  await using host = await FakeGithub.start({ 'a b/ü.yaml': 'old\n', 'other.txt': 'x\n' });
  const { home, branches, trace } = await scene();
  await using _ = home;
  const repository = branches(host.remote);
  const { defaultBranch, heads } = await repository.heads(['drift']);
  const main = heads.get('main') ?? '';
  expect([defaultBranch, heads.size, main]).toEqual(['main', 1, host.repository.head('main')]);
  await repository.fetch(['main']);
  const paths = ['a b/ü.yaml', 'absent.yaml'];
  const found = await repository.files(main, paths);
  expect([...found.keys()]).toEqual(['a b/ü.yaml']);
  const commit = async (text: string) =>
    repository.create({
      parent: main,
      message: 'Title\n\nMark',
      files: [{ path: 'a b/ü.yaml', mode: '100644', text }],
    });
  const first = await commit('new\n');
  await repository.push('drift', first, undefined);
  expect(host.repository.text('drift', 'a b/ü.yaml')).toBe('new\n');
  expect(await repository.commit(first)).toEqual({ parents: [main], message: 'Title\n\nMark' });

  const theirs = host.repository.push('drift', { 'notes.txt': 'Of a person\n' });
  const second = await commit('newer\n');
  for (const expected of [first, undefined]) {
    await expect(repository.push('drift', second, expected)).rejects.toThrow('git push');
    expect(host.repository.head('drift')).toBe(theirs);
  }
  await repository.close();
  expect(trace()).toContain('push');
  expect(trace()).not.toContain(TOKEN);
  expect(trace()).not.toContain(Buffer.from(`x-access-token:${TOKEN}`).toString('base64'));
});

it('sends the token to no other origin, and calls no credential helper', async () => {
  await using host = await FakeGithub.start({});
  using elsewhere = await noting();
  using redirecting = await noting(() => elsewhere.url);
  const { home, branches } = await scene();
  await using _ = home;
  await expect(branches(`${redirecting.url}/acme/voices.git`).heads([])).rejects.toThrow('302');
  expect([redirecting.heard.length, elsewhere.heard]).toEqual([1, []]);
  const reader = branches(host.remote, { token: READER });
  const { heads } = await reader.heads([]);
  const main = heads.get('main') ?? '';
  await reader.fetch(['main']);
  const commit = await reader.create({ parent: main, message: 'Title', files: [] });
  await expect(reader.push('drift', commit, undefined)).rejects.toMatchObject({
    message: expect.stringContaining('403'),
    hint: 'The token GITHUB_TOKEN needs contents: write.',
  });
  await expect(branches('http://127.0.0.1:1/acme/voices.git').heads([])).rejects.toThrow('git ls-remote');
  expect(existsSync(path.join(home.root, 'was-asked'))).toBe(false);

  await expect(branches('http://git.example.com/x.git', { proxy: elsewhere.url }).heads([])).rejects.toThrow('407');
  const basic = `Basic ${Buffer.from('ann:p@ss/word').toString('base64')}`;
  expect(elsewhere.heard.at(-1)).toMatchObject({ 'proxy-authorization': basic });
});
