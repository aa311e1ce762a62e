import { rmSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { githubWorkflow, parseInstallation } from '../../src/cli/actions/ci-workflow.ts';
import type { Emulator } from '../../src/emulator/start-emulator.ts';
import { agentManifest } from '../cli/workspace.ts';
import { step } from '../step.ts';
import { GithubProject, type Request, sharedProject } from './github-project.ts';
import { executable, sha256 } from './repository.ts';
import { COPY, type Workflow } from './workflow.ts';

const PACKAGE = 'a package';
const chosen = `p.tgz#sha256=${sha256(PACKAGE)}`;

/** Returns the workflow that `init` writes for this `--install`, with another workspace name. */
function workflowFor(install: string): Workflow {
  const text = githubWorkflow({ installation: parseInstallation(install), project: '.' });
  const { env, ...rest } = parse(text) as Workflow;
  return { ...rest, env: { ...env, VOXFORM_WORKSPACE: 'test' } };
}

const workflow = workflowFor(chosen);
const request: Request = { number: 8, branch: 'night', title: 'Night' };

it('the workflow of a new project plans requests and applies merged ones, one job at a time', {
  tags: ['long'],
}, async () => {
  const gate = { method: '', reached: Promise.withResolvers<void>(), goOn: Promise.withResolvers<void>() };
  const hold = (method: string) =>
    Object.assign(gate, { method, reached: Promise.withResolvers(), goOn: Promise.withResolvers() });
  await using project = await GithubProject.open(projectOf, async ({ method }) => {
    if (method !== gate.method) return undefined;
    gate.method = '';
    gate.reached.resolve();
    await gate.goOn.promise;
    return undefined;
  });
  const { repository, runner } = project;
  const installed = repository.recordNpm();
  /** Returns the message of the next job that waits for the lock. */
  const waiting = () =>
    new Promise<string>((resolve) => {
      runner.onLog = (text) => {
        if (text.includes('waiting for the lock')) resolve(text);
      };
    });

  await step('it plans a new request', async () => {
    const proposed = await project.propose(workflow, request, {
      'manifests/night.yaml': agentManifest('night'),
      'p.tgz': PACKAGE,
    });
    expect(installed()).toEqual([PACKAGE]);
    expect(proposed.plan?.result, proposed.plan?.log).toBe('success');
    expect(proposed.plan?.summary).toContain('Agent/night');
    expect(project.writes()).toBe(0);
  });

  const edit = { 'manifests/day.yaml': agentManifest('day', 'Be brief.') };
  const { merged, pushed } = await step('a job for another push waits during an apply', async () => {
    hold('POST');
    const merged = project.merge(workflow, request);
    await gate.reached.promise;
    const message = waiting();
    const pushed = project.push(workflow, edit);
    expect(await message).toContain('https://github.example/acme/voices/actions/runs/');
    return { merged, pushed };
  });

  await step('after the first job, the next one continues', async () => {
    const first = gate.goOn;
    hold('PUT');
    first.resolve();
    const { apply } = await merged;
    expect(apply?.result, apply?.log).toBe('success');
    await gate.reached.promise;
    expect(project.created()).toEqual(['day', 'night']);
  });

  await step('after a job was killed, the next one continues once a person has removed the lock', async () => {
    process.kill(repository.holderOf('test'), 'SIGKILL');
    expect((await pushed).apply?.result).toBe('failure');
    gate.goOn.resolve();
    const message = waiting();
    const next = project.push(workflow, { 'manifests/dusk.yaml': agentManifest('dusk') });
    const [, id = ''] = /, lock ([0-9a-f-]+)/.exec(await message) ?? [];
    repository.voxform('state', 'unlock', id);
    const { apply } = await next;
    expect(apply?.result, apply?.log).toBe('success');
    expect(project.created()).toEqual(['day', 'dusk', 'night']);
    expect(repository.inState('test')).toEqual(['Agent/day', 'Agent/dusk', 'Agent/night']);
  });
});

function projectOf(emulator: Emulator): string {
  return sharedProject(emulator).replace('VOXFORM_API_KEY', 'STAGING_API_KEY');
}

it.each([
  { reason: 'no package is configured', install: '', result: 'failure', says: /::error.*VOXFORM_PACKAGE/ },
  {
    reason: 'another package',
    install: `p.tgz#sha256=${sha256('other')}`,
    result: 'failure',
    says: /::error.*SHA256SUMS/,
  },
  { reason: 'an executable', install: `exe#sha256=${sha256(executable())}`, result: 'success', says: /^/ },
  {
    reason: 'another executable',
    install: `exe#sha256=${sha256('x')}`,
    result: 'failure',
    says: /::error.*SHA256SUMS/,
  },
  { reason: 'the action of a copy', install: COPY, result: 'success', says: /^/ },
])(
  'the workflow passes a key only to the configured voxform: $reason',
  { tags: ['long'] },
  async ({ install, result, says }) => {
    await using project = await GithubProject.open(projectOf);
    // The action of a copy uses the voxform on the path.
    if (install !== COPY) rmSync(path.join(project.repository.bin, 'voxform'));
    const workflow = workflowFor(install);
    const setsUpNode = JSON.stringify(workflow).includes('actions/setup-node');
    expect(setsUpNode).toBe(install === '' || install.startsWith('p.tgz'));
    for (const { steps } of Object.values(workflow.jobs)) {
      const installs = steps.findIndex(({ name, uses }) => name === 'Install voxform' || uses === COPY);
      const hasKey = steps.findIndex(({ env }) => JSON.stringify(env ?? {}).includes('secrets.'));
      expect(installs).toBeGreaterThan(0);
      expect(hasKey).toBeGreaterThan(installs);
    }
    const { plan } = await project.propose(workflow, request, { 'p.tgz': PACKAGE, exe: executable() });
    expect(plan?.log).toMatch(says);
    expect(plan?.result, plan?.log).toBe(result);
    expect(plan?.log).not.toContain('no Node here');
    expect(plan?.summary.includes('Agent/day')).toBe(result === 'success');
  },
);

it('the workflow runs all jobs in the configured image', () => {
  const image = `registry.example.com/voxform@sha256:${sha256(PACKAGE)}`;
  for (const { container } of Object.values(workflowFor(image).jobs)) expect(container?.image).toBe(image);
});
