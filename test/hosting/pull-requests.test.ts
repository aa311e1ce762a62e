import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { HostClient, HostProblem } from '../../src/hosting/host-client.ts';
import { type CredentialForm, hostCredentials } from '../../src/hosting/host-credentials.ts';
import { hostKinds } from '../../src/hosting/index.ts';
import type { CommitState, CommitStatus, PullRequests } from '../../src/hosting/pull-requests.ts';
import { Secret } from '../../src/values/value.ts';
import { temporaryFolder } from '../cli/voxform-process.ts';
import { type CodeHostFake, READER, REPOSITORY, TOKEN } from './code-host-fake.ts';
import { type HostName, hostNames, hosts } from './drift-project.ts';

const SHA = /^[0-9a-f]{40}$/;
const ABSENT = '0123456789abcdef0123456789abcdef01234567';

interface ClientOptions {
  readonly token?: string;
  readonly app?: { readonly id: number; readonly privateKey: string };
  readonly maxPauseMs?: number;
  readonly secrets?: string[];
}

function clientFor(
  name: HostName,
  host: CodeHostFake,
  { token = TOKEN, app, maxPauseMs = 0, secrets = [] }: ClientOptions = {},
): HostClient {
  const kind = hostKinds[name];
  const context = {
    api: kind.apiOf(new URL(host.url)),
    shown: 'acme/voices',
    repository: REPOSITORY,
    settings: { api: 'pull_requests.api', repository: 'git' },
    kind,
    network: {},
    signal: new AbortController().signal,
    maxPauseMs,
    redact: (text: string) => text,
    onNotice: () => undefined,
    addSecret: (text: string) => secrets.push(text),
    howToSet: (secret: string) => `Set ${secret}.`,
  };
  const form: CredentialForm =
    app === undefined
      ? { token: new Secret('HOST_TOKEN', token) }
      : { app: { id: app.id, privateKey: new Secret('APP_KEY', app.privateKey) } };
  return new HostClient({ ...context, credentials: hostCredentials(form, context), rights: kind.pullRights });
}

async function scene<Name extends HostName>(name: Name) {
  const host = (await hosts[name].start({ 'a.txt': 'a\n' })) as InstanceType<(typeof hosts)[Name]>;
  const clients: HostClient[] = [];
  const pullsWith = (options: ClientOptions = {}): PullRequests => {
    const client = clientFor(name, host, options);
    clients.push(client);
    return hostKinds[name].pulls(client, REPOSITORY);
  };
  return {
    host,
    pullsWith,
    pulls: pullsWith(),
    async [Symbol.asyncDispose]() {
      for (const client of clients) await client.close();
      await host[Symbol.asyncDispose]();
    },
  };
}

/** Returns the statuses of the responses to the calls of an action. */
async function statusesOf(host: CodeHostFake, act: () => Promise<unknown>): Promise<readonly (number | undefined)[]> {
  const { length } = host.calls;
  await act();
  return host.calls.slice(length).map(({ status }) => status);
}

describe.each(hostNames)('pull requests on %s', (name) => {
  it('include open, closed and merged requests, and those from forks', async () => {
    await using opened = await scene(name);
    const { host, pulls } = opened;
    const first = host.openRequest({ branch: 'feature/a', title: 'First', author: 'ann' });
    const fork = host.openRequest({ branch: 'b', title: 'Second', author: 'mallory', fork: 'mallory' });
    host.repository.push('release/1', { 'r.txt': 'r\n' });
    const other = host.openRequest({ branch: 'c', base: 'release/1' });
    const described = (request: typeof first) => ({
      number: request.number,
      url: expect.stringContaining(`/${request.number}`),
      title: request.title,
      state: request.state,
      author: request.author,
      base: request.base,
      branch: request.branch,
      head: host.headOf(request),
      isFork: request.fork !== undefined,
      mergedAs: request.mergedAs,
    });
    expect(await pulls.openFor('main')).toEqual([described(fork), described(first)]);
    expect(await pulls.openFor('release/1')).toEqual([described(other)]);

    host.close(fork.number);
    expect(await pulls.openFor('main')).toEqual([described(first)]);
    expect(await pulls.get(fork.number)).toEqual(described(fork));
    host.reopen(fork.number);
    fork.author = undefined;
    expect(await pulls.get(fork.number)).toEqual({ ...described(fork), author: '' });
    await expect(pulls.get(9999)).rejects.toMatchObject({ failure: { reason: 'refused', status: 404 } });
  });

  it.each(['merge', 'squash', 'rebase'] as const)('name the commit of the base after a %s', async (method) => {
    await using opened = await scene(name);
    const { host, pulls } = opened;
    const { number } = host.openRequest({ branch: 'b' });
    const head = host.push(number, { 'c.txt': 'c\n' });
    host.repository.push('main', { 'other.txt': 'o\n' });
    const merged = host.mergeBy(number, method);
    expect(merged).toMatch(SHA);
    // A rebase moves the branch on GitLab, and leaves it on GitHub.
    const last = name === 'gitlab' && method === 'rebase' ? merged : head;
    expect(await pulls.get(number)).toMatchObject({ state: 'merged', mergedAs: merged, head: last });
    expect(await pulls.openFor('main')).toEqual([]);
  });

  it('have the commit at which the branches diverged', async () => {
    await using opened = await scene(name);
    const { host, pulls } = opened;
    const base = host.repository.push('team/main', { 'a.txt': '1\n' });
    const { number } = host.openRequest({ branch: 'b', base: 'team/main' });
    host.repository.push('team/main', { 'a.txt': '2\n' });
    expect(await pulls.mergeBase(await pulls.get(number))).toBe(base);
  });

  it('are read with one conditional request for each unchanged page', { tags: ['long'] }, async () => {
    await using opened = await scene(name);
    const { host, pulls } = opened;
    const made = Array.from({ length: 101 }, (_, index) => host.openRequest({ branch: `b${index}`, files: {} }));
    expect(await statusesOf(host, () => pulls.openFor('main'))).toEqual([200, 200]);
    expect(await statusesOf(host, () => pulls.openFor('main'))).toEqual([304, 304]);
    expect(await pulls.openFor('main')).toHaveLength(101);
    host.close(made[0]?.number ?? 0);
    expect(await statusesOf(host, () => pulls.openFor('main'))).toEqual([200]);
    expect(await pulls.openFor('main')).toHaveLength(100);
  });

  it('are read without sending the token to another server or following redirects', async () => {
    await using opened = await scene(name);
    await using elsewhere = await hosts[name].start({});
    const { host, pulls } = opened;
    const api = hostKinds[name].apiOf(new URL(host.url));
    const other = hostKinds[name].apiOf(new URL(elsewhere.url));
    for (const next of [`${other}/repos?page=2`, `${host.url}/login?page=2`, `${api}/../../login`, '//x.example/y']) {
      const headers = { link: `<${api}/x?page=1>; rel="prev", <${next}>; rel="next"` };
      host.faults.push({ on: /./, answer: { status: 200, headers, body: [] } });
      await expect(pulls.openFor('main'), next).rejects.toThrow('not in the API');
    }
    for (const status of [301, 302, 307, 308]) {
      host.faults.push({ on: /./, answer: { status, headers: { location: `${other}/repos/acme/voices/pulls` } } });
      await expect(pulls.openFor('main')).rejects.toMatchObject({ failure: { reason: 'refused', status } });
    }
    expect(elsewhere.calls).toEqual([]);
  });

  it('cannot be an endless list', async () => {
    await using opened = await scene(name);
    const { host, pulls } = opened;
    const api = hostKinds[name].apiOf(new URL(host.url));
    const headers = { link: `<${api}/repos/x>; rel="next"` };
    for (let page = 0; page < 20; page++) host.faults.push({ on: /./, answer: { status: 200, headers, body: [] } });
    await expect(pulls.openFor('main')).rejects.toThrow('pages');
    expect(host.calls).toHaveLength(20);
  });

  it('have one status', async () => {
    await using opened = await scene(name);
    const { host, pulls, pullsWith } = opened;
    const head = host.headOf(host.openRequest({ branch: 'b' })) ?? '';
    const url = 'https://voxform.example.com/pulls/voices/1';
    const states: readonly CommitState[] = ['pending', 'pending', 'failure', 'pending', 'success'];
    for (const state of states) await pulls.setStatus({ head }, { state, description: '🎙'.repeat(150), url });
    const [last] = host.statuses(head).slice(-1);
    expect(last).toMatchObject({ name: 'voxform', state: 'success', url });
    expect([...(last?.description ?? '')]).toHaveLength(140);
    await pulls.setStatus({ head }, { state: 'failure', description: 'denied', url: undefined });
    expect(host.statuses(head).at(-1)).toMatchObject({ description: 'denied', url: undefined });

    const status: CommitStatus = { state: 'success', description: '', url };
    await expect(pulls.setStatus({ head: ABSENT }, status)).rejects.toMatchObject({ failure: { reason: 'refused' } });
    const reading = pullsWith({ token: READER });
    await expect(reading.setStatus({ head }, status)).rejects.toMatchObject({
      failure: { reason: 'refused', status: 403 },
      hint: `The token HOST_TOKEN needs ${hostKinds[name].pullRights}.`,
    });
    const stranger = pullsWith({ token: 'unknown' });
    await expect(stranger.setStatus({ head }, status)).rejects.toMatchObject({ failure: { status: 401 } });
  });

  it('keep our own comments, and never change those of others', async () => {
    await using opened = await scene(name);
    const { host, pulls, pullsWith } = opened;
    const { number } = host.openRequest({ branch: 'b' });
    const mark = '<!-- voxform -->';
    const forged = host.comment(number, 'mallory', `${mark}\nAll is well.`);
    await pulls.addComment(number, 'of another program');
    for (let index = 0; index < 120; index++) host.comment(number, 'ann', 'Looks good');
    await pulls.addComment(number, `${mark}\nfirst`);
    await pulls.addComment(number, `${mark}\nsecond`);
    const own = await pulls.ownComments(number, mark);
    expect(own.map(({ body }) => body)).toEqual([`${mark}\nfirst`, `${mark}\nsecond`]);
    const [first = { id: '' }, second = { id: '' }] = own;
    await pulls.changeComment(number, first.id, `${mark}\nchanged`);
    await pulls.removeComment(number, second.id);
    const again = pullsWith();
    expect(await again.ownComments(number, mark)).toEqual([{ id: first.id, body: `${mark}\nchanged` }]);
    expect(forged.body).toBe(`${mark}\nAll is well.`);
    expect(await pullsWith({ token: READER }).ownComments(number, mark)).toEqual([]);
    expect(host.calls.filter(({ path }) => path === '/user')).toHaveLength(3);

    for (const gone of [
      pulls.changeComment(number, second.id, mark),
      pulls.removeComment(number, second.id),
      pulls.addComment(9999, mark),
    ])
      await expect(gone).rejects.toMatchObject({ failure: { reason: 'refused', status: 404 } });
    const tooLong = pulls.addComment(number, 'x'.repeat(1_000_001));
    await expect(tooLong).rejects.toBeInstanceOf(HostProblem);
  });

  it('report the time until which requests are limited', async () => {
    await using opened = await scene(name);
    const { host, pulls } = opened;
    host.faults.push({ on: /./, answer: { status: 429, headers: { 'retry-after': '3600' } } });
    const problem = await pulls.openFor('main').catch((error: unknown) => error);
    expect(problem).toMatchObject({ failure: { reason: 'limited' }, hint: undefined });
    const { failure } = problem as HostProblem;
    expect(failure.reason === 'limited' && failure.until.getTime() - Date.now()).toBeGreaterThan(3_500_000);
  });

  it.each([{ 'retry-after': '9'.repeat(30) }, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1e300' }])(
    'are requested again after a day at most, for any delay of the host: %o',
    async (headers) => {
      await using opened = await scene(name);
      const { host, pulls } = opened;
      host.faults.push({ on: /./, answer: { status: 429, headers } });
      const problem = await pulls.openFor('main').catch((error: unknown) => error);
      expect(problem).toMatchObject({ failure: { reason: 'limited' } });
      const { failure } = problem as HostProblem;
      expect(failure.reason === 'limited' && failure.until.getTime() - Date.now()).toBeLessThanOrEqual(86_400_000);
    },
  );

  it('repeat no write with an unknown outcome', async () => {
    await using opened = await scene(name);
    const { host, pulls } = opened;
    const { number } = host.openRequest({ branch: 'b' });
    host.faults.push({ on: /POST/, answer: 'lost' });
    await expect(pulls.addComment(number, 'once')).rejects.toMatchObject({ failure: { reason: 'unclear' } });
    expect(host.comments(number)).toHaveLength(1);
  });

  describe('reviews', () => {
    const cases: readonly {
      readonly reason: string;
      act(host: CodeHostFake, number: number): void;
      readonly approvals?: readonly string[];
      readonly objections?: readonly string[];
    }[] = [
      { reason: 'nobody has reviewed', act: () => undefined },
      {
        reason: 'two people approved',
        act(host, number) {
          host.review(number, 'cara', 'approve');
          host.review(number, 'bob', 'approve');
        },
        approvals: ['bob', 'cara'],
      },
      {
        reason: 'a comment after an approval revokes nothing',
        act(host, number) {
          host.review(number, 'bob', 'approve');
          host.review(number, 'bob', 'comment');
        },
        approvals: ['bob'],
      },
      { reason: 'a comment is not an approval', act: (host, number) => host.review(number, 'bob', 'comment') },
      { reason: 'the author approves', act: (host, number) => host.review(number, 'ann', 'approve') },
      {
        reason: 'the approval was dismissed',
        act(host, number) {
          host.review(number, 'bob', 'approve');
          host.review(number, 'bob', 'dismiss');
        },
      },
      {
        reason: 'the approval is of an older commit',
        act(host, number) {
          host.review(number, 'bob', 'approve');
          host.push(number, { 'x.txt': '1\n' });
        },
      },
      {
        reason: 'the approval was given again after a push',
        act(host, number) {
          host.review(number, 'bob', 'approve');
          host.push(number, { 'x.txt': '1\n' });
          host.review(number, 'bob', 'approve');
        },
        approvals: ['bob'],
      },
      {
        reason: 'the approver pushed to the branch',
        act(host, number) {
          host.push(number, { 'x.txt': '1\n' }, { user: 'bob' });
          host.review(number, 'bob', 'approve');
        },
      },
      {
        reason: 'the approver pushed a commit in the name of another user',
        act(host, number) {
          host.push(number, { 'x.txt': '1\n' }, { user: 'bob', as: 'ann' });
          host.review(number, 'bob', 'approve');
        },
      },
      {
        reason: 'the push of the approver was overwritten',
        act(host, number) {
          host.push(number, { 'x.txt': '1\n' }, { user: 'bob', as: null });
          host.push(number, { 'y.txt': '1\n' }, { force: true });
          host.review(number, 'bob', 'approve');
          host.review(number, 'cara', 'approve');
        },
        approvals: ['cara'],
      },
      {
        reason: 'outsiders and readers do not count',
        act(host, number) {
          for (const user of ['mallory', 'reader']) host.review(number, user, 'approve');
          host.review(number, 'mallory', 'request-changes');
        },
      },
      {
        reason: 'changes are requested',
        act(host, number) {
          host.review(number, 'bob', 'approve');
          host.review(number, 'bob', 'request-changes');
          host.review(number, 'cara', 'approve');
        },
        approvals: ['cara'],
        objections: ['bob'],
      },
      {
        reason: 'requested changes stay after a push',
        act(host, number) {
          host.review(number, 'bob', 'request-changes');
          host.push(number, { 'x.txt': '1\n' });
        },
        objections: ['bob'],
      },
      {
        reason: 'requested changes were followed by an approval',
        act(host, number) {
          host.review(number, 'bob', 'request-changes');
          host.review(number, 'bob', 'approve');
        },
        approvals: ['bob'],
      },
      {
        reason: 'a merge keeps the reviews of the head',
        act(host, number) {
          host.review(number, 'bob', 'approve');
          host.mergeBy(number, 'merge');
          host.delete('b');
        },
        approvals: ['bob'],
      },
    ];

    it.each(cases)('are counted as expected: $reason', async ({ act, approvals = [], objections = [] }) => {
      await using opened = await scene(name);
      const { host, pulls } = opened;
      const { number } = host.openRequest({ branch: 'b', author: 'ann' });
      act(host, number);
      expect(await pulls.reviews(await pulls.get(number))).toEqual({ approvals, objections });
    });

    it('include pushers to the branch of a fork', async () => {
      await using opened = await scene(name);
      const { host, pulls } = opened;
      const { number } = host.openRequest({ branch: 'b', author: 'mallory', fork: 'mallory' });
      host.push(number, { 'x.txt': '1\n' }, { user: 'bob', as: 'mallory' });
      for (const user of ['bob', 'cara']) host.review(number, user, 'approve');
      expect(await pulls.reviews(await pulls.get(number))).toEqual({ approvals: ['cara'], objections: [] });
    });
  });
});

describe('reviews on GitHub', () => {
  async function reviewed() {
    const opened = await scene('github');
    const { host, pulls } = opened;
    const { number } = host.openRequest({ branch: 'b', author: 'ann' });
    return { ...opened, number, reviews: async () => pulls.reviews(await pulls.get(number)) };
  }

  it('exclude bots, as a workflow could approve the request that contains it', async () => {
    await using opened = await reviewed();
    const { host, number, reviews } = opened;
    host.collaborators.set('github-actions[bot]', 'write');
    host.review(number, 'github-actions[bot]', 'approve');
    expect(await reviews()).toEqual({ approvals: [], objections: [] });
  });

  it('exclude outsiders in a public repository, and deleted users', async () => {
    await using opened = await reviewed();
    const { host, number, reviews } = opened;
    host.permissionOfOthers = 'read';
    host.review(number, 'mallory', 'approve');
    host.faults.push({ on: /collaborators/, answer: { status: 404 } });
    host.review(number, 'bob', 'approve');
    expect(await reviews()).toEqual({ approvals: [], objections: [] });
  });

  it('depend only on the commits if the server shows no pushes', async () => {
    await using opened = await reviewed();
    const { host, number, reviews } = opened;
    host.hasActivity = false;
    host.push(number, { 'x.txt': '1\n' }, { user: 'bob', as: 'bob' });
    for (const user of ['bob', 'cara']) host.review(number, user, 'approve');
    expect(await reviews()).toEqual({ approvals: ['cara'], objections: [] });
  });

  it.each(['/activity', '/commits', '/reviews', '/permission'])('do not count if %s cannot be read', async (part) => {
    await using opened = await reviewed();
    const { host, number, reviews } = opened;
    host.review(number, 'bob', 'approve');
    host.faults.push({ on: new RegExp(`${part} `), answer: { status: 403 } });
    await expect(reviews()).rejects.toMatchObject({ failure: { reason: 'refused', status: 403 } });
  });

  it('do not count if a fork hides its pushes', async () => {
    await using opened = await scene('github');
    const { host, pulls } = opened;
    const { number } = host.openRequest({ branch: 'b', author: 'mallory', fork: 'mallory' });
    host.review(number, 'bob', 'approve');
    host.faults.push({ on: /mallory.*activity/, answer: { status: 404 } });
    await expect(pulls.reviews(await pulls.get(number))).rejects.toMatchObject({ failure: { status: 404 } });
  });

  it('do not count if a request has more commits than the list', async () => {
    await using opened = await reviewed();
    const { host, number, reviews } = opened;
    host.request(number).commits = Array(250).fill(host.repository.head('b'));
    host.review(number, 'bob', 'approve');
    await expect(reviews()).rejects.toThrow('more commits');
  });
});

describe('merge requests on GitLab', () => {
  async function reviewed() {
    const opened = await scene('gitlab');
    const { host, pulls } = opened;
    const { number } = host.openRequest({ branch: 'b', author: 'ann' });
    return { ...opened, number, reviews: async () => pulls.reviews(await pulls.get(number)) };
  }

  it.each([
    { reason: 'the last version', act: () => undefined, approvals: ['bob'] },
    {
      reason: 'an older version',
      act: (host: CodeHostFake, number: number) => host.push(number, { 'x.txt': '1\n' }),
      approvals: [],
    },
  ])('take the time of an approval of $reason from the notes of an older server', async ({ act, approvals }) => {
    await using opened = await reviewed();
    const { host, number, reviews } = opened;
    host.hasApprovalTimes = false;
    host.review(number, 'bob', 'approve');
    act(host, number);
    host.comment(number, 'bob', 'approved this merge request');
    expect(await reviews()).toEqual({ approvals, objections: [] });
  });

  it('count a push of many branches as a push to each', async () => {
    await using opened = await reviewed();
    const { host, number, reviews } = opened;
    host.notePush({ branch: '', fork: undefined, user: 'bob', kind: 'push', commit: ABSENT });
    for (const user of ['bob', 'cara']) host.review(number, user, 'approve');
    expect(await reviews()).toEqual({ approvals: ['cara'], objections: [] });
  });

  it('ignore tokens of the project', async () => {
    await using opened = await reviewed();
    const { host, number, reviews } = opened;
    host.collaborators.set('project_42_bot_1f2e', 'admin');
    host.review(number, 'project_42_bot_1f2e', 'approve');
    expect(await reviews()).toEqual({ approvals: [], objections: [] });
  });

  it('name no author of a commit as a reviewer', async () => {
    await using opened = await reviewed();
    const { host, number, reviews } = opened;
    host.push(number, { 'x.txt': '1\n' }, { user: 'ann', as: 'bob' });
    for (const user of ['bob', 'cara']) host.review(number, user, 'approve');
    expect(await reviews()).toEqual({ approvals: ['cara'], objections: [] });
  });

  it('are incomplete while the host compares branches', async () => {
    await using opened = await reviewed();
    const { host, number, pulls, reviews } = opened;
    const request = await pulls.get(number);
    host.isComparing = true;
    await expect(pulls.mergeBase(request)).rejects.toMatchObject({ failure: { reason: 'unreachable' } });
    host.isComparing = false;
    host.push(number, { 'x.txt': '1\n' });
    for (const asked of [pulls.mergeBase(request), pulls.reviews(request)])
      await expect(asked).rejects.toMatchObject({ failure: { reason: 'unreachable' } });
    expect(await reviews()).toEqual({ approvals: [], objections: [] });
  });

  it.each(['/versions', '/approvals', '/reviewers', '/commits', '/events', '/members/all/\\d+'])(
    'have no approval if %s cannot be read',
    async (part) => {
      await using opened = await reviewed();
      const { host, number, reviews } = opened;
      host.review(number, 'bob', 'approve');
      host.faults.push({ on: new RegExp(`${part} `), answer: { status: 403 } });
      await expect(reviews()).rejects.toMatchObject({ failure: { reason: 'refused', status: 403 } });
    },
  );

  it('report any other refusal of a status', async () => {
    await using opened = await reviewed();
    const { host, number, pulls } = opened;
    const head = host.headOf(host.request(number)) ?? '';
    host.faults.push({ on: /statuses/, answer: { status: 400, body: { message: 'bad' } } });
    const status: CommitStatus = { state: 'success', description: '', url: undefined };
    await expect(pulls.setStatus({ head }, status)).rejects.toMatchObject({ failure: { status: 400 } });
  });
});

it('waits for a secondary limit of GitHub only up to the maximum', async () => {
  await using opened = await scene('github');
  const { host, pullsWith } = opened;
  const limited = {
    status: 403,
    body: {
      message: 'You have exceeded a secondary rate limit.',
      documentation_url:
        'https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits',
    },
  };
  host.faults.push({ on: /./, answer: limited });
  const pulls = pullsWith();
  const limit = { failure: { reason: 'limited', until: expect.any(Date) } };
  await expect(pulls.openFor('main')).rejects.toMatchObject(limit);
  const sent = host.calls.length;
  await expect(pulls.openFor('main')).rejects.toMatchObject(limit);
  await expect(pulls.addComment(1, 'text')).rejects.toMatchObject(limit);
  expect(host.calls).toHaveLength(sent);
  host.faults.push({ on: /./, answer: { ...limited, headers: { 'retry-after': '1' } } });
  expect(await pullsWith({ maxPauseMs: 5000 }).openFor('main')).toEqual([]);
});

describe('GitHub App', () => {
  const ID = 12345;

  async function installed({ type }: { readonly type?: 'pkcs1' | 'pkcs8' } = {}) {
    const opened = await scene('github');
    const secrets: string[] = [];
    const privateKey = opened.host.installApp(ID, { type });
    const pulls = opened.pullsWith({ app: { id: ID, privateKey }, secrets });
    const renewals = () => opened.host.calls.filter(({ path }) => path.endsWith('/access_tokens')).length;
    return { ...opened, pulls, secrets, privateKey, renewals };
  }

  it.each(['pkcs1', 'pkcs8'] as const)('uses one token for many requests, with a key as %s', async (type) => {
    await using opened = await installed({ type });
    const { host, pulls, secrets, renewals } = opened;
    const { number } = host.openRequest({ branch: 'b' });
    await Promise.all([pulls.openFor('main'), pulls.openFor('main'), pulls.get(number)]);
    expect(renewals()).toBe(1);
    const [token = ''] = host.issued.keys();
    expect(secrets).toContain(token);
  });

  it('accepts a key with escaped line breaks', async () => {
    await using opened = await installed();
    const { pullsWith, privateKey } = opened;
    const escaped = pullsWith({ app: { id: ID, privateKey: privateKey.replaceAll('\n', '\\n') } });
    expect(await escaped.openFor('main')).toEqual([]);
  });

  it('renews a token before it expires', async () => {
    await using opened = await installed();
    const { host, pulls, renewals } = opened;
    host.tokenLife = 60_000;
    await pulls.openFor('main');
    host.tokenLife = 3_600_000;
    await pulls.openFor('main');
    await pulls.openFor('main');
    expect(renewals()).toBe(2);
  });

  it('renews a rejected token once', async () => {
    await using opened = await installed();
    const { host, pulls, renewals } = opened;
    const { number } = host.openRequest({ branch: 'b' });
    await pulls.openFor('main');
    for (const token of host.issued.values()) token.endsAt = 0;
    await pulls.addComment(number, 'mark');
    expect([renewals(), host.comments(number).length]).toEqual([2, 1]);
    host.tokenLife = -1;
    for (const token of host.issued.values()) token.endsAt = 0;
    await expect(pulls.openFor('main')).rejects.toMatchObject({ failure: { reason: 'refused', status: 401 } });
    expect(renewals()).toBe(3);
  });

  it('finds its comments by the app, not by the user', async () => {
    await using opened = await installed();
    const { host, pulls } = opened;
    const { number } = host.openRequest({ branch: 'b' });
    host.comment(number, `app-${ID}[bot]`, 'mark, forged');
    host.comments(number).push({ id: host.nextId(), user: 'mallory', app: ID, body: 'mark, of a person' });
    await pulls.addComment(number, 'mark, own');
    expect((await pulls.ownComments(number, 'mark')).map(({ body }) => body)).toEqual(['mark, own']);
  });

  it('fetches a commit of a fork by its id with the same token', async () => {
    await using opened = await installed();
    const { host, pulls } = opened;
    const { number } = host.openRequest({ branch: 'b', fork: 'mallory' });
    const { head } = await pulls.get(number);
    const [token = ''] = host.issued.keys();
    await using folder = await temporaryFolder();
    const run = promisify(execFile);
    await run('git', ['init', '--quiet', '--bare', folder.root]);
    const address = host.remote.replace('//', `//${hostKinds.github.gitUser}:${token}@`);
    await run('git', ['-C', folder.root, 'fetch', '--quiet', '--depth=1', address, head]);
    const { stdout } = await run('git', ['-C', folder.root, 'cat-file', '-t', head]);
    expect(stdout.trim()).toBe('commit');
  });

  it('reports missing permissions', async () => {
    await using opened = await installed();
    const { host, pulls, pullsWith, privateKey } = opened;
    expect(() => pullsWith({ app: { id: ID, privateKey: 'no key' } })).toThrow('PEM');
    const stranger = pullsWith({ app: { id: 999, privateKey } });
    await expect(stranger.openFor('main')).rejects.toMatchObject({
      message: expect.stringContaining('the GitHub App 999'),
      failure: { reason: 'refused', status: 401 },
    });
    const app = host.apps.get(ID);
    if (app !== undefined) app.isInstalled = false;
    await expect(pulls.openFor('main')).rejects.toMatchObject({ failure: { status: 404 } });
    if (app !== undefined) app.isInstalled = true;
    expect(await pulls.openFor('main')).toEqual([]);
  });

  it('is temporarily unreachable if the response with its token is lost', async () => {
    await using opened = await installed();
    const { host, pulls } = opened;
    host.faults.push({ on: /access_tokens/, answer: 'lost' });
    await expect(pulls.openFor('main')).rejects.toMatchObject({ failure: { reason: 'unreachable' } });
    host.faults.push({ on: /access_tokens/, answer: { status: 429, headers: { 'retry-after': '3600' } } });
    await expect(pulls.openFor('main')).rejects.toMatchObject({ failure: { reason: 'limited' } });
    expect(await pulls.openFor('main')).toEqual([]);
  });
});
