import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { remoteServer } from '../../src/git/git-address.ts';
import type { HostRequest } from '../../src/hosting/code-host.ts';
import { hostKinds } from '../../src/hosting/index.ts';
import type { ProjectConfig } from '../../src/project/project.ts';
import type { PullRequestSettings } from '../../src/project/pull-requests-schema.ts';
import { decideRequest, type HostFacts } from '../../src/runs/drift-request/reconcile-request.ts';
import {
  blobId,
  driftIn,
  ENDED,
  markedMessage,
  markedText,
  markIn,
  withText,
} from '../../src/runs/drift-request/request-mark.ts';
import { type ProjectOrigin, requestTarget } from '../../src/runs/drift-request/request-target.ts';
import { temporaryFolder } from '../cli/voxform-process.ts';

const wanted = { drift: 'd1', text: 'Text', ended: 'Over', hasFiles: true };
const done = { isOurs: true, isUpToDate: true };

function request(state: HostRequest['state'], drift = 'd1'): HostRequest {
  return {
    number: 7,
    url: 'https://x.example/7',
    state,
    base: 'main',
    head: 'h',
    body: markedText(drift, 'Text'),
  };
}

function seen(changes: Partial<HostFacts>): HostFacts {
  return { base: 'main', branch: done, requests: [], ...changes };
}

/** Returns the decision and its steps in short form. */
function decided(text: Partial<typeof wanted>, changes: Partial<HostFacts>): string {
  const decision = decideRequest({ ...wanted, ...text }, seen(changes));
  const steps = 'steps' in decision ? decision.steps : [];
  const words = steps.map((step) => (step.do === 'change' ? Object.keys(step.change).join('+') : step.do));
  return [decision.is, ...words].join(', ');
}

describe('decision on a request', () => {
  const stale = { ...done, isUpToDate: false };
  it.each<[reason: string, Partial<typeof wanted>, Partial<HostFacts>, string]>([
    ['nothing exists', {}, { branch: undefined }, 'open, push, open'],
    ['a commit was pushed, but no request opened', {}, {}, 'open, open'],
    ['everything is up to date', {}, { requests: [request('open')] }, 'open'],
    ['the drift changed', { drift: 'd2' }, { branch: stale, requests: [request('open')] }, 'open, push, body'],
    ['the base changed', {}, { base: 'next', requests: [request('open')] }, 'open, base'],
    ['a person closed it', {}, { requests: [request('closed')] }, 'rejected'],
    [
      'it changed after a person closed it',
      { drift: 'd2' },
      { branch: stale, requests: [request('closed')] },
      'open, push, open',
    ],
    ['it ended once, and is back', {}, { branch: stale, requests: [request('closed', ENDED)] }, 'open, push, open'],
    ['its branch is missing', {}, { branch: undefined, requests: [request('closed', ENDED)] }, 'open, push, open'],
    ['a person deleted its branch', {}, { branch: undefined, requests: [request('closed')] }, 'open, push, open'],
    ['it was merged', {}, { branch: stale, requests: [request('merged')] }, 'open, push, open'],
    ['a newer one is closed, an older one open', {}, { requests: [request('closed'), request('open')] }, 'open'],
    ['a person added commits', {}, { branch: { ...done, isOurs: false }, requests: [request('open')] }, 'foreign'],
    ['the drift ended', { hasFiles: false }, { requests: [request('open')] }, 'close, state+body'],
    ['it ended after a person closed it', { hasFiles: false }, { requests: [request('closed')] }, 'close, body'],
    ['it ended before', { hasFiles: false }, { requests: [request('closed', ENDED)] }, 'none'],
    ['it ended with a merge', { hasFiles: false }, { requests: [request('merged')] }, 'none'],
    [
      'it ended after commits of a person',
      { hasFiles: false },
      { branch: { ...done, isOurs: false }, requests: [request('open')] },
      'foreign',
    ],
  ])('is correct: %s', (_, text, changes, expected) => {
    expect(decided(text, changes)).toBe(expected);
  });
});

describe('marks', () => {
  it('are found in text that a host has changed', () => {
    const body = `Before\r\n\r\n${markedText('d1', 'Text')}\r\n\r\nAfter`;
    expect(driftIn(body)).toBe('d1');
    expect(withText(body, markedText('d2', '$& $1'))).toBe(`Before\n\n${markedText('d2', '$& $1')}\n\nAfter`);
    expect(withText('A person opened it', markedText('d1', 'Text'))).toMatch(
      /^<!-- voxform[\s\S]*\n\nA person opened it$/,
    );
    expect(driftIn('<!-- voxform plan -->')).toBeUndefined();
    const mark = { workspace: 'clients/a b:test', parent: 'a'.repeat(40), changes: 'f'.repeat(64) };
    expect(markIn(`${markedMessage('Title', mark).replaceAll('\n', '\r\n')}\r\n`)).toEqual(mark);
    expect(markIn('Title\n\nVoxform-Drift: %ff x')).toBeUndefined();
  });

  it('are not accepted from a text of the platform', () => {
    const hostile = '<!-- /voxform drift -->\n@everyone\n<!-- voxform drift 0 -->\n<!--/VOXFORM drift-->';
    const marked = markedText('d1', hostile);
    expect(marked.match(/<!--/g)).toHaveLength(2);
    expect(withText(marked, markedText('d2', 'Text'))).toBe(markedText('d2', 'Text'));
    const escaped = marked.replace('@everyone', '<!-- /voxform drift -->');
    expect(withText(`Before\n\n${escaped}`, 'Ours')).toBe('Before\n\nOurs');
  });

  it('contain the id that Git gives a text', () => {
    const text = 'name: Zoë\r\n';
    const id = execFileSync('git', ['hash-object', '--stdin'], { input: text, encoding: 'utf8' }).trim();
    expect(blobId(text, 'a'.repeat(40))).toBe(id);
    expect(blobId(text, 'a'.repeat(64))).toHaveLength(64);
  });
});

describe('repository of a request', () => {
  it.each([
    ['https://github.com/acme/voices.git', 'https: github.com acme/voices'],
    ['https://ci:token@git.example.com:8443/a/b/c.git/', 'https: git.example.com:8443 a/b/c'],
    ['git@github.com:acme/voices.git', 'https: github.com acme/voices'],
    ['ssh://git@gitlab.example.com:2222/acme/voices', 'https: gitlab.example.com acme/voices'],
    ['ssh://git@ssh.github.com:443/acme/voices.git', 'https: github.com acme/voices'],
    ['http://127.0.0.1:3000/acme/voices.git', 'http: 127.0.0.1:3000 acme/voices'],
    ['/srv/voices.git', undefined],
    ['file:///srv/voices.git', undefined],
    ['../voices', undefined],
  ])('the server of %s', (address, expected) => {
    const found = remoteServer(address);
    expect(found && `${found.protocol} ${found.host} ${found.path}`).toBe(expected);
  });

  const place = (
    address: string,
    {
      settings = {},
      folder = '',
      env = {},
      ref = 'main',
    }: { settings?: PullRequestSettings; folder?: string; env?: Record<string, string>; ref?: string } = {},
  ) => {
    const project = { root: '/nowhere', pullRequests: settings } as ProjectConfig;
    const origin: ProjectOrigin = { address, ref, folder };
    return requestTarget({ project, workspace: 'test', origin, env, signal: new AbortController().signal });
  };

  it('is derived from the address of the repository', async () => {
    expect(await place('git@github.com:acme/voices.git')).toEqual({
      host: 'github',
      api: 'https://api.github.com',
      repository: 'acme/voices',
      base: 'main',
      branch: 'voxform/drift/test',
      title: 'Accept drift of test',
      folder: '',
    });
    const apis = [
      ['https://acme.ghe.com/acme/voices', 'https://api.acme.ghe.com'],
      ['https://github.example.com/acme/voices', 'https://github.example.com/api/v3'],
      ['https://gitlab.example.com/group/sub/voices', 'https://gitlab.example.com/api/v4'],
    ];
    for (const [address = '', api] of [...apis, ['https://github.com/acme/voices', 'https://api.github.com']]) {
      const found = await place(address);
      expect(found.api).toBe(api);
      expect(`${hostKinds[found.host].serverOf(new URL(found.api))}/${found.repository}`).toBe(address);
    }
    expect(hostKinds.gitlab.serverOf(new URL('https://x.example/git/api/v4'))).toBe('https://x.example/git');
    const inFolder = await place('https://gitlab.com/acme/voices', { folder: 'clients/zoë k' });
    expect(inFolder).toMatchObject({
      branch: 'voxform/drift/clients+zoë-k@test',
      title: 'Accept drift of clients/zoë k:test',
    });
  });

  it.each<[reason: string, Parameters<typeof place>, string]>([
    ['an ambiguous host name', ['https://git.example.com/acme/voices'], 'the host for pull requests is unknown'],
    ['a path of another host', ['https://github.com/acme/sub/voices'], 'the repository for pull requests is not valid'],
    [
      'a folder',
      ['/srv/voices.git', { settings: { host: 'github', repository: 'acme/voices' } }],
      'the api_url for pull requests is unknown',
    ],
    [
      'a branch that Git refuses',
      ['https://github.com/acme/voices', { folder: 'x.lock/..y', settings: { branch: 'a/{project}/{workspace}' } }],
      'is not a valid branch name',
    ],
  ])('is reported missing for %s', async (_, given, said) => {
    await expect(place(...given)).rejects.toThrow(said);
  });

  it('is taken from a CI job for a checkout', async () => {
    await using folder = await temporaryFolder();
    execFileSync('git', ['init', '-q', folder.root]);
    const project = { root: folder.root, pullRequests: {} } as ProjectConfig;
    const env = {
      PATH: process.env.PATH,
      GITLAB_CI: 'true',
      CI_API_V4_URL: 'https://x.example/git/api/v4',
      CI_PROJECT_PATH: 'a/b',
    };
    const origin = { checkout: folder.root };
    const { signal } = new AbortController();
    expect(await requestTarget({ project, workspace: 'test', origin, env, signal })).toMatchObject({
      host: 'gitlab',
      api: 'https://x.example/git/api/v4',
      repository: 'a/b',
      base: undefined,
    });
    await using elsewhere = await temporaryFolder();
    const outside = requestTarget({ project, workspace: 'test', origin: { checkout: elsewhere.root }, env, signal });
    await expect(outside).rejects.toThrow('cannot read the repository');
  });
});
