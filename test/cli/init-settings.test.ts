import { execFileSync } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { defaultManifests } from '../../src/project/check-project.ts';
import type { GitlabJob } from '../ci-kit/gitlab-runner.ts';
import { command } from '../trust/in-process.ts';
import { temporaryFolder } from './voxform-process.ts';

it('init writes the default pattern for manifests', async () => {
  await using folder = await temporaryFolder();
  expect((await command(['init', 'x'], { cwd: folder.root })).code).toBe(0);
  const text = await readFile(path.join(folder.root, 'x/voxform.yaml'), 'utf8');
  expect((parse(text) as { readonly manifests: unknown }).manifests).toEqual([...defaultManifests]);
});

it('init names a key of its own, because the overriding variable would apply to every workspace', async () => {
  await using folder = await temporaryFolder();
  const { stdout } = await command(['init', 'x'], { cwd: folder.root });
  const text = await readFile(path.join(folder.root, 'x/voxform.yaml'), 'utf8');
  const { workspaces } = parse(text) as {
    readonly workspaces: Readonly<Record<string, { api_key: unknown }>>;
  };
  expect(Object.values(workspaces).map(({ api_key }) => api_key)).toEqual([{ $secret: 'LOCAL_API_KEY' }]);
  const workflow = await readFile(path.join(folder.root, 'x/.github/workflows/voxform.yml'), 'utf8');
  for (const shown of [stdout, text, workflow]) expect(shown).not.toContain('VOXFORM_API_KEY');
  expect(stdout).toContain('export LOCAL_API_KEY=');
});

it('init writes files in canonical form', async () => {
  await using folder = await temporaryFolder();
  await command(['init'], { cwd: folder.root });
  expect((await command(['fmt', '--check'], { cwd: folder.root })).code).toBe(0);
});

it('init keeps a .gitignore and prints the missing patterns', async () => {
  await using folder = await temporaryFolder({ 'x/.gitignore': 'node_modules\r\n.env\r\n' });
  const { stdout } = await command(['init', 'x'], { cwd: folder.root });
  expect(stdout).toContain('\nAdd to x/.gitignore:\n  secrets/\n  *.plan\n  .voxform/cache/\n');
  expect(await readFile(path.join(folder.root, 'x/.gitignore'), 'utf8')).toBe('node_modules\r\n.env\r\n');
});

it('init quotes a folder name for the shell', async () => {
  await using folder = await temporaryFolder();
  const { stdout } = await command(['init', "Ann's agents"], { cwd: folder.root });
  expect(stdout).toContain(String.raw`voxform -C 'Ann'\''s agents' validate`);
});

it.each([
  { args: ['-C', 'a', 'init', 'b'], next: `voxform -C ${path.join('a', 'b')} plan` },
  { args: ['-C', 'a', 'init'], next: 'voxform -C a plan' },
  { args: ['init'], next: 'voxform plan' },
])('init names the new folder from where $args was called', async ({ args, next }) => {
  await using folder = await temporaryFolder({ 'a/notes.txt': '' });
  const { stdout } = await command(args, { cwd: folder.root });
  expect(stdout).toContain(`  ${next}\n`);
});

it.each(['github', 'gitlab'])('init writes a CI configuration that %s can read for any folder name', async (host) => {
  await using folder = await temporaryFolder();
  execFileSync('git', ['init', '-q'], { cwd: folder.root });
  execFileSync('git', ['remote', 'add', 'origin', `https://${host}.com/x/y.git`], { cwd: folder.root });
  const project = 'a: b, c #d]';
  await command(['init', project], { cwd: folder.root });
  const read = async (file: string) => parse(await readFile(path.join(folder.root, file), 'utf8')) as unknown;
  if (host === 'github') {
    expect(await read('.github/workflows/voxform-a-b-c-d--c37eb979.yml')).toMatchObject({
      name: 'voxform-a-b-c-d--c37eb979',
      defaults: { run: { 'working-directory': project } },
      jobs: { apply: { concurrency: { group: 'voxform-apply-a-b-c-d--c37eb979' } } },
    });
  } else {
    const template = '.gitlab/voxform-a-b-c-d--c37eb979.yml';
    expect(await read('.gitlab-ci.yml')).toMatchObject({ include: [{ local: template }] });
    expect(await read(template)).toMatchObject({
      '.voxform-a-b-c-d--c37eb979': { variables: { VOXFORM_PROJECT: project } },
    });
  }
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
      reason: 'a repository without a remote named origin',
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
    expect(parse(await read('voxform.yaml'))).toMatchObject({
      state: { backend },
      workspaces: { local: backend === 'git' ? { state: { backend: 'local' } } : {} },
    });
    expect(stdout.includes('refs/voxform/ of the remote origin')).toBe(backend === 'git');
    expect((await read('.gitignore')).split('\n').includes('.voxform/*')).toBe(backend === 'git');
    expect(await command(['validate', '-C', 'teams/x'], { cwd: folder.root })).toMatchObject({ code: 0 });
  });
});

describe('the source from which CI installs', () => {
  const commit = 'a1'.repeat(20);
  const hash = 'b2'.repeat(32);
  it.each([
    ['acme/voxform@', commit, true],
    ['acme/tools/voxform@', commit, true],
    ['vendor/voxform-0.1.0.tgz#sha256=', hash, true],
    ['https://files.example.com/voxform.tgz?v=1#sha256=', hash, true],
    ['https://files.example.com/voxform-linux-x64#sha256=', hash, true],
    ['registry.example.com:5000/voxform@sha256:', hash, true],
    ['voxform@', '0.1.0', false],
    ['acme/voxform@', 'main', false],
    ['acme/voxform@', commit.slice(1), false],
    ['vendor/voxform.tgz', '', false],
    ['http://files.example.com/voxform.tgz#sha256=', hash, false],
    ['$(id)#sha256=', hash, false],
    ['registry.example.com/voxform:', 'latest', false],
  ])('%s%s: %s', async (name, pin, isValid) => {
    await using folder = await temporaryFolder();
    const { code, stderr } = await command(['init', '--install', name + pin], { cwd: folder.root });
    expect(code, stderr).toBe(isValid ? 0 : 64);
    if (!isValid) return expect(await readdir(folder.root)).toEqual([]);
    const text = await readFile(path.join(folder.root, '.github/workflows/voxform.yml'), 'utf8');
    expect(text).toContain(pin);
    expect(parse(text)).toBeTruthy();
  });

  it('is written to the root of the repository, in the format of its host', async () => {
    for (const [origin, file] of [
      ['git@github.com:acme/voices.git', '.github/workflows/voxform-clients.acme.yml'],
      ['https://gitlab.example.com/acme/voices.git', '.gitlab/voxform-clients.acme.yml'],
    ] as const) {
      await using folder = await temporaryFolder();
      execFileSync('git', ['init', '--quiet'], { cwd: folder.root });
      execFileSync('git', ['remote', 'add', 'origin', origin], { cwd: folder.root });
      const args = ['init', 'clients/acme', '--install', `vendor/voxform.tgz#sha256=${hash}`];
      const { code, stdout } = await command(args, { cwd: folder.root });
      expect(code).toBe(0);
      expect(stdout).toContain(`created  ${file}\n`);
      const text = await readFile(path.join(folder.root, file), 'utf8');
      expect(text).toMatch(/(working-directory|VOXFORM_PROJECT): "clients\/acme"/);
      expect(text).toContain(hash);
      expect(text).toContain('VOXFORM_WORKSPACE: staging');
      if (file.startsWith('.github')) expect(text).toContain('group: voxform-apply-clients.acme');
      expect(parse(text)).toBeTruthy();
      expect(await readdir(path.join(folder.root, 'clients/acme'))).not.toContain('.github');
    }
  });

  it('is printed in lines of 80 columns', async () => {
    await using folder = await temporaryFolder();
    const { stdout } = await command(['init', 'voices'], { cwd: folder.root });
    expect(stdout).toContain('voices/.github/workflows/voxform.yml.\n');
    expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
  });

  it('cannot be an action on GitLab', async () => {
    await using folder = await gitlabRepository();
    const before = await readdir(folder.root);
    const given = await command(['init', '--install', `acme/voxform@${commit}`], { cwd: folder.root });
    const asked = await command(['init'], {
      cwd: folder.root,
      columns: 80,
      typed: `acme/voxform@${commit}\n`,
    });
    for (const ended of [given, asked]) {
      expect(ended.code).toBe(1);
      expect(ended.stderr).not.toContain('OWNER/');
    }
    expect(await readdir(folder.root)).toEqual(before);
  });

  it.each([
    { typed: `acme/voxform@${commit}\n`, code: 0, has: `uses: acme/voxform@${commit}\n`, reason: 'a source' },
    { typed: '\n', code: 0, has: 'VOXFORM_PACKAGE: ""', reason: 'no answer' },
    { typed: 'voxform@0.1.0\n', code: 1, has: undefined, reason: 'an invalid source' },
  ])('is prompted for on a terminal: $reason', async ({ typed, code, has }) => {
    await using folder = await temporaryFolder();
    const ended = await command(['init'], { cwd: folder.root, columns: 80, typed });
    expect(ended).toMatchObject({ code });
    if (has === undefined) return expect(await readdir(folder.root)).toEqual([]);
    const text = await readFile(path.join(folder.root, '.github/workflows/voxform.yml'), 'utf8');
    expect(text).toContain(has);
  });
});

describe('several projects of a repository on GitLab', () => {
  it('get the missing lines of an existing .gitlab-ci.yml printed', async () => {
    await using folder = await gitlabRepository();
    const file = path.join(folder.root, '.gitlab-ci.yml');
    await writeFile(file, 'stages: [test, deploy]\nlint: { script: [make lint] }\n');
    const first = await command(['init', 'a'], { cwd: folder.root });
    expect(first.stdout).toContain('Add to .gitlab-ci.yml:\n  include:\n    - local: .gitlab/voxform-a.yml\n');
    await writeFile(file, 'stages: [test, deploy]\ninclude:\n  - local: .gitlab/voxform-a.yml\n');
    const second = await command(['init', 'b'], { cwd: folder.root });
    expect(second.stdout).toContain('Add to .gitlab-ci.yml:\n    - local: .gitlab/voxform-b.yml\n');
  });

  it('share no name in their templates, because GitLab merges them', async () => {
    await using folder = await gitlabRepository();
    const names: string[] = [];
    for (const [project, suffix] of [
      ['.', ''],
      ['a', '-a'],
      ['teams/b', '-teams.b'],
      ['teams-b', '-teams-b'],
      ['teams.b', '-teams-b-376a9afa'],
    ] as const) {
      expect((await command(['init', project], { cwd: folder.root })).code).toBe(0);
      const text = await readFile(path.join(folder.root, `.gitlab/voxform${suffix}.yml`), 'utf8');
      const template = parse(text) as Record<string, GitlabJob & { variables?: object }>;
      names.push(...Object.keys(template));
      const apply = template[`voxform${suffix}:apply`];
      expect(apply?.extends).toBe(`.voxform${suffix}`);
      expect(apply?.resource_group).toBe(`voxform${suffix}`);
      expect(apply?.script?.join()).toContain(`reviewed-plan voxform${suffix}:plan `);
      expect(apply?.artifacts?.paths).toEqual(['$VOXFORM_PROJECT/.voxform/rescue']);
      const { variables } = suffix === '' ? template : (template[`.voxform${suffix}`] ?? {});
      expect(variables).toMatchObject({ VOXFORM_PROJECT: project, VOXFORM_WORKSPACE: 'staging' });
    }
    expect(names).toEqual([...new Set(names)]);
  });
});

async function gitlabRepository() {
  const folder = await temporaryFolder();
  execFileSync('git', ['init', '--quiet'], { cwd: folder.root });
  const origin = 'https://gitlab.example.com/acme/voices.git';
  execFileSync('git', ['remote', 'add', 'origin', origin], { cwd: folder.root });
  return folder;
}
