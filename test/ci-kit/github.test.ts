import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type Emulator, startEmulator } from '../../src/emulator/start-emulator.ts';
import { agentManifest, projectFile } from '../cli/workspace.ts';
import { S3Server } from '../state/backends/s3/s3-server.ts';
import { step } from '../step.ts';
import { API_KEY, createdAt, GithubProject, type Request, sharedProject } from './github-project.ts';
import { action, shipped, type Workflow } from './workflow.ts';

const workflow = shipped<Workflow>('examples/ci/github/voxform.yml');
const cloudWorkflow = shipped<Workflow>('examples/ci/github/cloud-state.yml');
const promotion = shipped<Workflow>('examples/ci/github/promote.yml');

/** A request with hostile strings. */
const evil: Request = {
  number: 7,
  branch: 'feat/$(touch\u0024{IFS}pwned)-`touch\u0024{IFS}pwned`";\'&',
  title: '$(touch pwned) `touch pwned` "\'\n::set-output name=x::y\n\u0024{{ secrets.VOXFORM_API_KEY }}',
};
const another: Request = { number: 8, branch: 'another', title: 'Another' };
const MARKER = '<!-- voxform plan .  -->\n';

describe('the workflow for one workspace', () => {
  it('plans a branch and applies exactly this plan after the merge', { tags: ['long'] }, async () => {
    const posts = { isLast: false };
    await using project = await GithubProject.open(
      (emulator) => sharedProject(emulator).replace('VOXFORM_API_KEY', 'STAGING_KEY'),
      ({ method }) => {
        if (posts.isLast && method === 'POST') project.host.revokeTokens();
        return undefined;
      },
    );
    const { host, repository } = project;
    // Anyone could edit their own comment later, so a comment of another user is never used.
    const foreign = { body: `${MARKER}nothing changes`, user: { id: 13, login: 'mallory' } };
    host.commentsOn(7).push({ id: 1, ...foreign }, { id: 2, ...foreign }, { id: 3, ...foreign });

    await step('for an invalid manifest, the comment reports the failed plan', async () => {
      const broken = await project.propose(workflow, another, { 'manifests/a.yaml': 'kind: Nothing\n' });
      expect([broken.validate, broken.plan].map((end) => end?.result)).toEqual(['failure', 'failure']);
      expect(broken.validate?.log).toMatch(/^::error file=manifests\/a\.yaml,line=1/m);
      expect(host.commentsOn(8)[0]?.body).toContain('The plan failed');
      expect(host.artifacts).toEqual([]);
    });

    const first = await step('for a new request, it posts the plan as a comment without the key', async () => {
      const first = await project.propose(workflow, evil, { 'manifests/night.yaml': agentManifest('night') });
      expect([first.validate, first.plan, first.apply].map((end) => end?.result)).toEqual([
        'success',
        'success',
        'skipped',
      ]);
      expect(first.plan?.masks).toEqual([API_KEY]);
      expect(first.plan?.log.replace(`::add-mask::${API_KEY}\n`, '')).not.toContain(API_KEY);
      const comment = host.commentsOn(7)[3];
      expect(comment?.body.startsWith(`${MARKER}### voxform plan`)).toBe(true);
      expect(comment?.body).toContain('Agent/night');
      expect(first.plan?.summary).toContain('Agent/night');
      expect(first.plan?.log, 'the key is passed under its name in the project').not.toContain('instead of');
      return first;
    });

    const second = await step('after a change and one failure of the host, it updates the same comment', async () => {
      host.faults.push(502);
      const noon = { 'manifests/noon.yaml': agentManifest('noon') };
      const second = await project.propose(workflow, evil, noon, 'plan');
      expect(second.plan?.result, second.plan?.log).toBe('success');
      expect(host.commentsOn(7).map(({ body }) => body.includes('Agent/noon'))).toEqual([
        ...[false, false, false],
        true,
      ]);
      expect(project.writes()).toBe(0);
      return second;
    });

    await step('it omits parts of a plan that is longer than a comment', async () => {
      const lines = Array.from({ length: 12 }, (_, line) => `${line} Say this slowly. ${'Twice. '.repeat(40)}`);
      const manifests = Array.from({ length: 70 }, (_, at) => agentManifest(`agent-${at}`, lines.join('\n')));
      const files = { 'manifests/a.yaml': manifests.join('---\n') };
      const long = await project.propose(workflow, another, files, 'plan');
      expect(long.plan?.result, long.plan?.log).toBe('success');
      const [comment, more] = host.commentsOn(8);
      expect(more).toBeUndefined();
      expect(comment?.body.length).toBeLessThanOrEqual(65_536);
      expect(comment?.body).toMatch(/\d+ parts? omitted/);
    });

    const merged = await step(
      'after the merge, it applies the plan of the request and ignores forged plans',
      async () => {
        forgePlans(project, repository.git(['rev-parse', evil.branch]));
        const merged = await project.merge(workflow, evil);
        expect(merged.apply?.result, merged.apply?.log).toBe('success');
        expect(merged.plan?.result).toBe('skipped');
        expect(project.created()).toEqual(['day', 'night', 'noon']);
        expect(repository.inState('test')).toEqual(['Agent/day', 'Agent/night', 'Agent/noon']);
        return merged;
      },
    );

    const stale = await step('after the merge of a request with a stale plan, it applies nothing', async () => {
      const stale = await project.merge(workflow, another, 'apply');
      expect(stale.apply?.result).toBe('failure');
      expect(stale.apply?.summary).toContain('was not applied');
      return stale;
    });

    await step('after a push to main without a request, it applies nothing', async () => {
      const dawn = { 'manifests/dawn.yaml': agentManifest('dawn') };
      const direct = await project.push(workflow, dawn, 'apply');
      expect(direct.apply?.result).toBe('failure');
      expect(direct.apply?.log).toContain('does not come from a merged pull request');
      expect(project.writes()).toBe(3);
    });

    const next = { ...another, branch: 'next' };
    await step('in a fresh clone, the next plan contains no applied changes', async () => {
      const files = { 'manifests/a.yaml': agentManifest('ember') };
      const { plan } = await project.propose(workflow, next, files, 'plan');
      expect(plan?.summary).toContain('2 to create. 2 manual afterwards, 3 unchanged.');
    });

    await step('if its job may no longer push, an artifact keeps the ids that are missing from the state', async () => {
      posts.isLast = true;
      const { apply } = await project.merge(workflow, next, 'apply');
      expect(apply?.result).toBe('failure');
      const [file] = host.artifacts.find(({ name }) => name === 'voxform-plan-default-rescue-1')?.files.values() ?? [];
      const ids = [...project.emulator.world.agents.keys()].slice(3);
      expect(ids).toHaveLength(2);
      for (const id of ids) expect(Buffer.from(file ?? []).toString()).toContain(id);
    });

    await step('it never runs a title or a branch name as a command', () => {
      for (const end of [first.plan, second.plan, merged.apply, stale.apply]) {
        expect(readdirSync(end?.workspace ?? '', { recursive: true })).not.toContain('pwned');
      }
    });
  });
});

it.each(['voxform', 'cloud-state', 'promote'])(
  'the jobs of %s.yml that plan or apply check out the whole history, which tells whether a commit is old',
  (name) => {
    const { jobs } = shipped<Workflow>(`examples/ci/github/${name}.yml`);
    const planning = Object.values(jobs).filter(({ steps }) =>
      steps.some(({ with: given }) => given?.mode === 'plan' || given?.mode === 'apply'),
    );
    expect(planning.length).toBeGreaterThan(0);
    const depths = planning.flatMap(({ steps }) =>
      steps
        .filter(({ uses }) => uses?.startsWith('actions/checkout@'))
        .map(({ with: given }) => given?.['fetch-depth']),
    );
    expect(depths).toEqual(planning.map(() => 0));
  },
);

describe('the workflow for a state in S3', { tags: ['long'] }, () => {
  it('plans and applies with the identity of its jobs, without an AWS key', async () => {
    await using server = await S3Server.start();
    const { access_key_id: _, secret_access_key: __, region: ___, ...settings } = server.settings();
    await using project = await GithubProject.open((emulator) =>
      projectFile(emulator, `state: ${JSON.stringify({ backend: 's3', ...settings })}\n`),
    );
    const env = { AWS_ROLE_ARN: 'arn:aws:iam::123456789012:role/voxform', AWS_REGION: server.region };
    const cloud = { ...cloudWorkflow, env: { ...env, AWS_ENDPOINT_URL_STS: server.url } };
    const planned = await project.propose(cloud, another, { 'manifests/night.yaml': agentManifest('night') });
    expect(planned.plan?.result, planned.plan?.log).toBe('success');
    const merged = await project.merge(cloud, another);
    expect(merged.apply?.result, merged.apply?.log).toBe('success');
    expect(project.created()).toEqual(['day', 'night']);
    expect([...server.objects().keys()].some((key) => key.endsWith('/head.json'))).toBe(true);
    const roles = server.requests.map(({ headers }) => headers['x-amz-security-token']);
    expect(new Set(roles.filter((token) => token !== undefined))).toEqual(new Set(['session-of-the-role']));
    expect(cloudWorkflow.permissions).toEqual({ contents: 'read' });
    for (const job of Object.values(cloudWorkflow.jobs)) expect(job.permissions).toMatchObject({ contents: 'read' });
  });
});

/** Adds artifacts with the name of the plan: from a run of a fork, from another commit, and an expired one. */
function forgePlans({ host }: GithubProject, head: string): void {
  const planned = host.artifacts.find(({ workflow_run: run }) => run.head_sha === head);
  if (planned === undefined) throw new Error('the plan was not uploaded');
  const forged = { ...planned, id: 99_999, files: new Map([['voxform.plan', Buffer.from('forged')]]) };
  const { workflow_run: run } = planned;
  host.artifacts.push(
    { ...forged, workflow_run: { ...run, id: 5, head_repository_id: 13 } },
    { ...forged, workflow_run: { ...run, id: 6, head_sha: 'f'.repeat(40) } },
    { ...forged, workflow_run: { ...run, id: 9 }, expired: true },
  );
}

describe('the workflow for promotion', { tags: ['long'] }, () => {
  it('applies the reviewed plan on staging, and then a new plan on production', async () => {
    await using production = await startEmulator({ seed: 2, workspaceId: '01JVQ7XK2MPR0DVCT100000001' });
    await using project = await GithubProject.open((staging) => twoWorkspaces({ staging, production }));
    await step('for a new request, it plans on staging', async () => {
      const manifest = agentManifest('night').replace(/name: night\n {2}prompt/, 'name: { $var: words }\n  prompt');
      const files = { 'manifests/night.yaml': manifest };
      const proposed = await project.propose(promotion, another, files, 'plan-staging');
      expect(proposed['plan-staging']?.result, proposed['plan-staging']?.log).toBe('success');
      expect(project.host.commentsOn(8)[0]?.body).toContain('staging');
      expect(project.writes()).toBe(0);
    });

    await step('after the merge, it applies on staging and then on production', async () => {
      const merged = await project.merge(promotion, another);
      for (const job of ['apply-staging', 'plan-production', 'apply-production']) {
        expect(merged[job]?.result, `${job}\n${merged[job]?.log}`).toBe('success');
      }
      expect(merged['plan-production']?.outputs).toEqual({ changes: 'true' });
      expect(project.created()).toEqual(['day', 'staging']);
      expect(createdAt(production)).toEqual(['day', 'production']);
    });

    await step('each workspace has its own state', () => {
      for (const name of ['staging', 'production']) {
        expect(project.repository.inState(name)).toEqual(['Agent/day', 'Agent/night']);
      }
    });
  });
});

function twoWorkspaces(emulators: Readonly<Record<string, Emulator>>): string {
  const workspaces = Object.entries(emulators).map(
    ([name, { url, workspaceId }]) =>
      `  ${name}:\n    base_url: ${url}\n    workspace_id: ${workspaceId}\n    vars:\n      words: ${name}\n`,
  );
  return `version: 1\ndefault_workspace: staging\nstate: { backend: git }\nworkspaces:\n${workspaces.join('')}`;
}

describe('action.yml', () => {
  it('has no expression in a script', () => {
    const scripts = action.runs.steps.flatMap(({ run }) => (run === undefined ? [] : [run]));
    expect(scripts.length).toBeGreaterThan(5);
    expect(scripts.filter((script) => script.includes('\u0024{{'))).toEqual([]);
  });
});
