import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { ciWorkflow } from '../../src/cli/actions/init-settings.ts';
import { defaultManifests } from '../../src/project/check-project.ts';
import { command } from '../trust/in-process.ts';
import { temporaryFolder } from './voxform-process.ts';

interface Workflow {
  readonly env: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, { readonly steps: readonly { readonly run?: string }[] }>>;
}

it('init writes the pattern that projects have by default', async () => {
  await using folder = await temporaryFolder();
  expect((await command(['init', 'x'], { cwd: folder.root })).code).toBe(0);
  const text = await readFile(path.join(folder.root, 'x/voxform.yaml'), 'utf8');
  expect((parse(text) as { readonly manifests: unknown }).manifests).toEqual([...defaultManifests]);
});

it('init names a key of its own: the overriding variable would apply to every workspace that is added', async () => {
  await using folder = await temporaryFolder();
  const { stdout } = await command(['init', 'x'], { cwd: folder.root });
  const text = await readFile(path.join(folder.root, 'x/voxform.yaml'), 'utf8');
  const { workspaces } = parse(text) as {
    readonly workspaces: Readonly<Record<string, { api_key: unknown }>>;
  };
  expect(Object.values(workspaces).map(({ api_key }) => api_key)).toEqual([{ $secret: 'LOCAL_API_KEY' }]);
  for (const shown of [stdout, text, ciWorkflow('1.2.3')]) expect(shown).not.toContain('VOXFORM_API_KEY');
  expect(stdout).toContain('export LOCAL_API_KEY=');
  expect(ciWorkflow('1.2.3')).toMatch(/LOCAL_API_KEY: \$\{\{ secrets\.LOCAL_API_KEY \}\}/);
});

it('init writes files in canonical form', async () => {
  await using folder = await temporaryFolder();
  await command(['init'], { cwd: folder.root });
  expect((await command(['fmt', '--check'], { cwd: folder.root })).code).toBe(0);
});

it('init keeps a .gitignore and lists the patterns that it lacks', async () => {
  await using folder = await temporaryFolder({ 'x/.gitignore': 'node_modules\r\n.env\r\n' });
  const { stdout } = await command(['init', 'x'], { cwd: folder.root });
  expect(stdout).toContain('\nAdd to x/.gitignore:\n  secrets/\n  *.plan\n  .voxform/cache/\n');
  expect(await readFile(path.join(folder.root, 'x/.gitignore'), 'utf8')).toBe('node_modules\r\n.env\r\n');
});

it('init names a folder as a shell takes it', async () => {
  await using folder = await temporaryFolder();
  const { stdout } = await command(['init', "Ann's agents"], { cwd: folder.root });
  expect(stdout).toContain(String.raw`voxform -C 'Ann'\''s agents' validate`);
});

describe('the state of a new project', () => {
  it.each([
    {
      reason: 'a folder of a repository with a remote',
      git: [
        ['init', '-q'],
        ['remote', 'add', 'origin', 'x'],
      ],
      backend: 'git',
    },
    { reason: 'a repository without a remote', git: [['init', '-q']], backend: 'local' },
    {
      reason: 'a repository whose remote no clone of it in CI has',
      git: [
        ['init', '-q'],
        ['remote', 'add', 'up', 'x'],
      ],
      backend: 'local',
    },
    { reason: 'no repository', git: [], backend: 'local' },
  ])('is $backend in $reason', async ({ git, backend }) => {
    await using folder = await temporaryFolder();
    for (const args of git) execFileSync('git', args, { cwd: folder.root });
    const { code, stdout } = await command(['init', 'teams/x'], { cwd: folder.root });
    expect(code).toBe(0);
    const read = (name: string) => readFile(path.join(folder.root, 'teams/x', name), 'utf8');
    expect(parse(await read('voxform.yaml'))).toMatchObject({ state: { backend } });
    expect(stdout.includes('refs/voxform/ of the remote origin')).toBe(backend === 'git');
    expect((await read('.gitignore')).split('\n').includes('.voxform/*')).toBe(backend === 'git');
    expect(await command(['validate', '-C', 'teams/x'], { cwd: folder.root })).toMatchObject({ code: 0 });
  });
});

describe('the workflow that init writes', () => {
  const text = ciWorkflow('1.2.3-rc.1');
  const { env, jobs } = parse(text) as Workflow;
  const commands = Object.values(jobs)
    .flatMap(({ steps }) => steps.map(({ run = '' }) => run))
    .filter((run) => run.includes('npx'));

  it('runs one exact version, which stands in one place', () => {
    expect(env).toEqual({ VOXFORM: 'voxform@1.2.3-rc.1' });
    expect(text.match(/1\.2\.3/g)).toHaveLength(1);
  });

  it('never runs the name without its version', () => {
    expect(commands).toHaveLength(3);
    for (const command of commands) expect(command).toMatch(/^npx --yes "\$VOXFORM" \w/);
  });
});
