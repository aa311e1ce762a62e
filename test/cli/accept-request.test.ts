/** @module-tag long */

import { describe, expect, it } from 'vitest';
import { type Fault, READER, TOKEN } from '../hosting/code-host-fake.ts';
import { AGENTS, DriftProject, hostNames } from '../hosting/drift-project.ts';
import { step } from '../step.ts';

const BRANCH = 'voxform/drift/test';
const PUSH = /POST \/git-receive-pack/;

describe.each(hostNames)('accept --pull-request on %s', (name) => {
  /** Cases that do not depend on the host run on the first one only. */
  const isFirstHost = name === hostNames[0];

  it('keeps one request from the beginning to the end of a drift', async () => {
    await using project = await DriftProject.open(name);
    const { host } = project;
    const { repository } = host;

    await step('without drift, it only looks for a request', async () => {
      expect((await project.accept()).stdout).toContain('No drift to accept.');
      expect(host.writes).toEqual([]);
    });

    project.edit('day', { llm_config: { temperature: 0.9 } });
    const first = await step('the first run opens a request with the changes that the dry run printed', async () => {
      if (isFirstHost) {
        const dry = await project.accept('--dry-run');
        expect(dry.stdout).toContain('+    temperature: 0.9 # not too warm');
        expect(host.writes).toEqual([]);
      }
      const done = await project.accept();
      expect(done, done.stderr).toMatchObject({ code: 0 });
      const [request] = host.requests;
      expect(done.stdout).toMatch(new RegExp(`Pull request opened: http://\\S+/${request?.number}\n`));
      expect(request).toMatchObject({
        state: 'open',
        branch: BRANCH,
        base: 'main',
        title: 'Accept drift of test',
      });
      expect(project.text(BRANCH, 'manifests/agents.yaml')).toBe(AGENTS.replace('0.5', '0.9'));
      expect(repository.commits('main', BRANCH)).toHaveLength(1);
      expect(repository.changed('main', BRANCH)).toEqual(['manifests/agents.yaml']);
      expect(request?.body).toContain('llm_config.temperature: 0.9');
      expect(request?.body).not.toContain('Skipped changes');
      expect(project.git('-C', project.clone, 'status', '--porcelain')).toBe('');
      return request?.number ?? 0;
    });

    await step('while the drift is the same, it writes nothing', async () => {
      const { length } = host.writes;
      expect((await project.accept()).stdout).toContain('Pull request open:');
      expect(host.writes).toHaveLength(length);
    });

    await step('after the drift changes, it updates the branch and the description', async () => {
      project.edit('day', { llm_config: { temperature: 0.8 }, prompt_config: { prompt: 'Be very kind.' } });
      expect((await project.accept()).stdout).toContain('Pull request updated:');
      expect(project.text(BRANCH, 'manifests/agents.yaml')).toBe(AGENTS.replace('0.5', '0.8'));
      expect(project.text(BRANCH, 'prompts/day.md')).toBe('Be very kind.\n');
      expect(repository.commits('main', BRANCH)).toHaveLength(1);
      expect(host.request(first).body).toContain('Be very');
    });

    if (isFirstHost) {
      await step('after a part of the drift ends, the branch no longer has that file', async () => {
        project.edit('day', { prompt_config: { prompt: 'Be kind.' } });
        expect((await project.accept()).stdout).toContain('Pull request updated:');
        expect(repository.changed('main', BRANCH)).toEqual(['manifests/agents.yaml']);
        expect(repository.commits('main', BRANCH)).toHaveLength(1);
        expect(host.request(first).state).toBe('open');
        expect(repository.branches).toEqual([BRANCH]);
      });
    }

    await step('after the drift ends, it closes the request and keeps it closed', async () => {
      project.edit('day', { llm_config: { temperature: 0.5 }, prompt_config: { prompt: 'Be kind.' } });
      expect((await project.accept()).stdout).toContain('Pull request closed, because the drift has ended:');
      expect(host.request(first).state).toBe('closed');
      const { length } = host.writes;
      expect((await project.accept()).code).toBe(0);
      expect(host.writes).toHaveLength(length);
    });

    const second = await step('after a new drift, it opens a new request', async () => {
      project.edit('day', { llm_config: { temperature: 0.9 } });
      expect((await project.accept()).stdout).toContain('Pull request opened:');
      expect(host.requests.map(({ state }) => state)).toEqual(['closed', 'open']);
      expect(project.text(BRANCH, 'manifests/agents.yaml')).toContain('temperature: 0.9');
      return host.requests.at(-1)?.number ?? 0;
    });

    await step('after a person merges the request, the next plan has no changes', async () => {
      host.merge(second);
      const behind = await project.accept();
      expect(behind.code).toBe(1);
      expect(behind.stdout).toContain(
        'these files differ between the branch main and the checkout: manifests/agents.yaml',
      );
      project.pull();
      expect((await project.sure('plan', '--detailed-exitcode')).code).toBe(0);
      expect((await project.accept()).stdout).toContain('No drift to accept.');
    });

    if (!isFirstHost) return;
    await step('after a further drift, it opens a new request from the new base', async () => {
      project.edit('day', { llm_config: { temperature: 0.1 } });
      expect((await project.accept()).stdout).toContain('Pull request opened:');
      expect(host.requests.map(({ state }) => state)).toEqual(['closed', 'merged', 'open']);
      expect(repository.commits('main', BRANCH)).toHaveLength(1);
      expect(repository.mergeBase('main', BRANCH)).toBe(repository.head('main'));
    });
  });

  it('takes branch, title and base from the settings of a project in a subfolder', async () => {
    await using project = await DriftProject.open(name, {
      folder: 'clients/acme',
      settings: ', branch: "drift/{workspace}/x", title: "Dashboard: {project} {workspace}", base: release',
    });
    const { host } = project;
    host.repository.set('release', host.repository.head('main'));
    project.edit('day', { prompt_config: { prompt: 'Be very kind.' } });
    const done = await project.accept('--output', 'json');
    expect(done, done.stderr).toMatchObject({ code: 0 });
    expect(host.requests).toMatchObject([
      { branch: 'drift/test/x', title: 'Dashboard: clients/acme test', base: 'release', state: 'open' },
    ]);
    expect(project.text('drift/test/x', 'prompts/day.md')).toBe('Be very kind.\n');
    expect(JSON.parse(done.stdout)).toMatchObject({
      workspace: 'test',
      written: false,
      pull_request: {
        status: 'open',
        change: 'opened',
        url: expect.stringMatching(new RegExp(`/${host.requests[0]?.number}$`)),
      },
    });
  });

  const opening = name === 'github' ? /POST \S+\/pulls / : /POST \S+\/merge_requests /;
  const retry = { 'retry-after': '1' };
  type Case = Fault & { readonly reason: string };
  const ofEach: readonly Case[] = [
    { reason: 'the response to a push is lost', on: PUSH, answer: 'lost' },
    { reason: 'the response to a new request is lost', on: opening, answer: 'lost' },
    { reason: 'the push fails without effect', on: PUSH, answer: { status: 502 } },
  ];
  // These faults are handled by code that all hosts share.
  const ofOne: readonly Case[] = [
    { reason: 'the connection is closed before the push', on: PUSH, answer: 'cut' },
    { reason: 'a read fails', on: /GET/, answer: { status: 502 } },
    { reason: 'the host limits requests', on: opening, answer: { status: 429, headers: retry } },
    {
      reason: 'the host has a secondary rate limit',
      on: opening,
      answer: { status: 403, headers: retry, body: { message: 'You have exceeded a secondary rate limit.' } },
    },
  ];

  it('survives faults of the host with one request and one commit each time', () => survives(ofEach));

  if (isFirstHost) {
    it('survives faults that are the same on every host', () => survives(ofOne));
  }

  async function survives(faults: readonly Case[]): Promise<void> {
    await using project = await DriftProject.open(name);
    const { host } = project;
    for (const [index, { reason, ...fault }] of faults.entries()) {
      await step(reason, async () => {
        project.edit('day', { llm_config: { temperature: index / 100 } });
        host.faults.push(fault);
        const done = await project.accept();
        expect(done, done.stderr).toMatchObject({ code: 0 });
        expect(host.faults).toEqual([]);
        expect(host.requests.map(({ state }) => state)).toEqual([...Array(index).fill('merged'), 'open']);
        expect(host.repository.commits('main', BRANCH)).toHaveLength(1);
        host.merge(host.requests.at(-1)?.number ?? 0);
        project.pull();
      });
    }
  }

  it('prints the reason of a rejection without the token', async () => {
    await using project = await DriftProject.open(name);
    const { host } = project;
    project.edit('day', { llm_config: { temperature: 0.9 } });
    const refused = async (env: Readonly<Record<string, string>>, ...flags: string[]): Promise<string> => {
      const done = await project.runWith(env, 'accept', '--pull-request', '--auto-approve', ...flags);
      expect(done.code).toBe(1);
      for (const token of [TOKEN, ...Object.values(env)]) expect(done.stdout + done.stderr).not.toContain(token);
      return done.stderr.replace(/\s+/g, ' ');
    };
    const rights = name === 'github' ? 'contents: write and pull-requests: write' : 'the scope api';
    const using = (token: string) => ({ GITHUB_TOKEN: token, GITLAB_TOKEN: token });

    const unknown = await refused(using('wrong-token-000000000'));
    expect(unknown).toMatch(/rejected the token \w+_TOKEN \(401/);
    expect(unknown).toContain(rights);
    const reader = await refused(using(READER));
    expect(reader).toContain('error: 403');
    expect(reader).toContain(rights);
    host.repository.protect(BRANCH);
    expect(await refused({})).toMatch(/rotected branch|not allowed to push/i);
    host.faults.push({ on: /GET/, answer: { status: 429, headers: { 'retry-after': '600' } } });
    expect(await refused({}, '--max-wait', '1s')).toMatch(/limits requests until \d{4}-\S+ hint: Try again then/);
    expect(host.requests).toEqual([]);
  });
});

describe('the branch of a request', () => {
  it("leaves other people's changes on the host alone", async () => {
    await using project = await DriftProject.open('github');
    const { host } = project;
    const { repository } = host;
    project.edit('day', { llm_config: { temperature: 0.9 } });
    await project.accept();
    const [{ number = 0 } = {}] = host.requests;

    const neighbour = repository.push(`${BRANCH}-next`, { 'notes.txt': 'Of the workspace test-next.\n' });
    await step('after a part of the drift ends, it recreates its branch and no other branch changes', async () => {
      project.edit('day', { prompt_config: { prompt: 'Be very kind.' } });
      await project.accept();
      project.edit('day', { prompt_config: { prompt: 'Be kind.' } });
      expect((await project.accept()).stdout).toContain('Pull request updated:');
      expect(repository.branches).toEqual([BRANCH, `${BRANCH}-next`]);
      expect(repository.head(`${BRANCH}-next`)).toBe(neighbour);
    });

    await step('it keeps the text that a person added above the description', async () => {
      host.request(number).body = `Please wait for Bob.\r\n\r\n${host.request(number).body.replaceAll('\n', '\r\n')}`;
      project.edit('day', { llm_config: { temperature: 0.8 } });
      await project.accept();
      expect(host.request(number).body).toMatch(/^Please wait for Bob\.\n\n<!-- voxform drift/);
      expect(host.request(number).body).toContain('0.8');
    });

    const [ours] = repository.commits('main', BRANCH);
    await step('it does not touch a branch to which a person committed', async () => {
      const theirs = repository.push(BRANCH, { 'notes.txt': 'Wait.\n' });
      project.edit('day', { llm_config: { temperature: 0.7 } });
      const { length } = host.writes;
      const result = await project.accept();
      expect(result.code).toBe(1);
      expect(result.stdout).toContain(
        `The branch ${BRANCH} has commits of other people, so voxform does not change it`,
      );
      project.edit('day', { llm_config: { temperature: 0.5 } });
      expect((await project.accept()).code).toBe(0);
      expect(host.writes).toHaveLength(length);
      expect(repository.head(BRANCH)).toBe(theirs);
      expect(host.request(number).state).toBe('open');
    });

    await step('it reports a commit of voxform that a person amended without changing the message', async () => {
      const amended = repository.commitOn(repository.head('main'), {
        files: { 'manifests/agents.yaml': AGENTS.replace('0.5', '0.6') },
        message: ours?.message ?? '',
      });
      repository.set(BRANCH, amended);
      project.edit('day', { llm_config: { temperature: 0.7 } });
      expect((await project.accept()).stdout).toContain('has commits of other people');
      expect(repository.head(BRANCH)).toBe(amended);
    });

    await step('it reports a commit of voxform that a person rebased', async () => {
      const theirs = repository.commitOn(repository.head('main'), {
        files: { 'notes.txt': 'x' },
        message: 'x',
      });
      const moved = repository.commitOn(theirs, {
        files: { 'manifests/agents.yaml': AGENTS.replace('0.5', '0.8') },
        message: ours?.message ?? '',
      });
      repository.set(BRANCH, moved);
      expect((await project.accept()).stdout).toContain('has commits of other people');
      expect(repository.head(BRANCH)).toBe(moved);
    });

    await step('after its branch is deleted, it recreates it with a new request', async () => {
      project.edit('day', { llm_config: { temperature: 0.8 } });
      host.delete(BRANCH);
      const done = await project.accept();
      expect(done.stdout).toContain('Pull request opened:');
      expect(host.requests.map(({ state }) => state)).toEqual(['closed', 'open']);
    });

    await step('a request that a person closed stays closed while the drift is the same', async () => {
      const { number: second = 0 } = host.requests.at(-1) ?? {};
      host.close(second);
      const { length } = host.writes;
      const result = await project.accept();
      expect(result.code).toBe(1);
      expect(result.stdout).toContain('The pull request for this drift was closed manually and stays closed:');
      expect(host.writes).toHaveLength(length);
      project.edit('day', { llm_config: { temperature: 0.75 } });
      expect((await project.accept()).stdout).toContain('Pull request opened:');
      expect(host.requests.map(({ state }) => state)).toEqual(['closed', 'closed', 'open']);
    });
  });

  it('follows its base and does not write for other manifests', async () => {
    await using project = await DriftProject.open('github');
    const { repository } = project.host;
    project.edit('day', { llm_config: { temperature: 0.9 } });
    await project.accept();
    const before = repository.head(BRANCH);

    await step('it keeps the branch when the base changes in other files', async () => {
      repository.push('main', { 'README.md': 'Voices\n' });
      project.pull();
      await project.accept();
      expect(repository.head(BRANCH)).toBe(before);
    });

    const changed = AGENTS.replace('Our agents', 'All agents');
    await step('it reports a file that was changed only on the base', async () => {
      repository.push('main', { 'manifests/agents.yaml': changed });
      const result = await project.accept();
      expect(result.code).toBe(1);
      expect(result.stdout).toContain(
        'these files differ between the branch main and the checkout: manifests/agents.yaml',
      );
      expect(repository.head(BRANCH)).toBe(before);
    });

    await step('after a pull, it recreates the branch on the base with one commit', async () => {
      project.pull();
      expect((await project.accept()).stdout).toContain('Pull request updated:');
      expect(project.text(BRANCH, 'manifests/agents.yaml')).toBe(changed.replace('0.5', '0.9'));
      expect(repository.mergeBase('main', BRANCH)).toBe(repository.head('main'));
      expect(repository.commits('main', BRANCH)).toHaveLength(1);
      expect(repository.branches).toEqual([BRANCH]);
      expect(project.host.requests.map(({ state }) => state)).toEqual(['open']);
    });
  });

  it('does not commit if a person changed the branch or the request first', async () => {
    await using project = await DriftProject.open('github');
    const { host } = project;
    project.edit('day', { llm_config: { temperature: 0.8 } });
    await project.accept();
    project.edit('day', { llm_config: { temperature: 0.9 } });
    let theirs = '';
    const act = (): void => {
      theirs = host.repository.push(BRANCH, { 'manifests/agents.yaml': `${AGENTS}# theirs\n` });
    };
    host.faults.push({ on: PUSH, answer: 'pass', act: () => host.close(host.requests[0]?.number ?? 0) });
    const closed = await project.accept();
    expect(closed.code).toBe(1);
    expect(closed.stdout).toContain('The pull request for this drift was closed manually');
    project.edit('day', { llm_config: { temperature: 0.7 } });
    host.faults.push({ on: PUSH, answer: 'pass', act });
    const result = await project.accept();
    expect(result.code).toBe(1);
    expect(result.stdout).toContain('has commits of other people');
    expect(host.repository.head(BRANCH)).toBe(theirs);
  });

  it('recreates a branch whose commits are all in its base', async () => {
    await using project = await DriftProject.open('github');
    const { host } = project;
    project.edit('day', { llm_config: { temperature: 0.8 } });
    await project.accept();
    host.repository.set('main', host.repository.push(BRANCH, { 'notes.txt': 'A person helps.\n' }));
    host.request(host.requests[0]?.number ?? 0).state = 'merged';
    host.repository.push('main', { 'README.md': 'Voices\n' });
    project.pull();
    project.edit('day', { llm_config: { temperature: 0.9 } });
    expect((await project.accept()).stdout).toContain('Pull request opened:');
    expect(host.requests.map(({ state }) => state)).toEqual(['merged', 'open']);
    expect(host.repository.commits('main', BRANCH)).toHaveLength(1);
    expect(host.repository.text(`refs/heads/${BRANCH}`, 'README.md')).toBe('Voices\n');
  });
});

describe('the description of a request', () => {
  it('lists the skipped changes and does not open a request for them alone', async () => {
    await using project = await DriftProject.open('github');
    const { host } = project;
    project.edit('night', { name: 'Bolt' });
    const alone = await project.accept();
    expect(alone.code).toBe(1);
    expect(alone.stdout).toContain('the value comes from the variable company');
    expect(host.requests).toEqual([]);

    const hostile =
      '```\n</details><!-- x --><script>alert(1)</script>\n@everyone @acme/all Fixes #1\n/merge\n| a | b |\n````\n~~~\nclose #2';
    project.edit('day', { prompt_config: { prompt: hostile } });
    expect((await project.accept('--dry-run')).code).toBe(0);
    expect((await project.accept()).code).toBe(0);
    const [{ body = '' } = {}] = host.requests;
    expect(body).toContain('#### Skipped changes');
    expect(body).toMatch(/<code>Agent\/night name<\/code>: the value comes from the variable company/);
    const fence = /^(`{5,})diff$/m.exec(body)?.[1] ?? '';
    const outside = body.replace(new RegExp(`^${fence}diff$[\\s\\S]*?^${fence}$`, 'm'), '');
    expect(outside).not.toMatch(/@\w|Fixes|<script|^\s*\/|<!-- x/m);
    expect(body.match(/<!--/g)).toHaveLength(3);

    project.edit('day', { prompt_config: { prompt: 'Be kind.' } });
    const rest = await project.accept();
    expect(rest.code).toBe(1);
    expect(rest.stdout).toContain('Pull request closed, because only skipped changes remain:');
  });

  it('fits the size limit of the host', async () => {
    const long = Array.from({ length: 3000 }, (_, line) => `${line} Say this slowly, and twice.`).join('\n');
    await using project = await DriftProject.open('github');
    project.edit('day', { prompt_config: { prompt: long } });
    expect((await project.accept()).code).toBe(0);
    const [{ body = '' } = {}] = project.host.requests;
    expect(body.length).toBeLessThanOrEqual(65_536);
    expect(body).toContain('more lines omitted');
    expect(project.text(BRANCH, 'prompts/day.md')).toBe(`${long}\n`);
  });

  it('never contains a secret from a field', async () => {
    await using project = await DriftProject.open('github');
    project.edit('day', {
      prompt_config: { prompt: 'Use a-long-secret-key.' },
      llm_config: { temperature: 0.9 },
    });
    const done = await project.accept();
    expect(done.stdout).toContain('the value contains a secret');
    expect(project.text(BRANCH, 'prompts/day.md')).toBe('Be kind.\n');
    expect(JSON.stringify([project.host.requests, done])).not.toContain('a-long-secret-key');
    project.edit('day', { prompt_config: { prompt: 'The code is K4y!9.' } });
    const args = ['accept', '--pull-request', '--auto-approve'];
    const short = await project.runWith({ LLM_KEY: 'K4y!9' }, ...args);
    expect(short.stdout).toContain('the value contains a secret');
    expect(project.text(BRANCH, 'prompts/day.md')).toBe('Be kind.\n');
    expect(project.host.requests[0]?.body).toContain('The code is (secret).');
  });
});

it('checks its prerequisites before it sends a request', async () => {
  await using project = await DriftProject.open('github');
  project.edit('day', { llm_config: { temperature: 0.9 } });
  const unset = await project.runWith({ GITHUB_TOKEN: '' }, 'accept', '--pull-request', '--auto-approve');
  expect(unset.stderr).toContain('the token GITHUB_TOKEN is not set');
  const some = await project.accept('Agent/day');
  expect(some).toMatchObject({ code: 64 });
  const unapproved = await project.run('accept', '--pull-request');
  expect(unapproved.stderr).toContain('approval needs a terminal');
  project.git('-C', project.clone, 'remote', 'remove', 'origin');
  expect((await project.accept()).stderr).toContain('the api_url for pull requests is unknown');
  expect(project.host.calls).toEqual([]);
  expect(`${unset.stderr}${unapproved.stderr}`).not.toContain(TOKEN);
});
