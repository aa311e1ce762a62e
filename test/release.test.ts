import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, readdirSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { root, shipped, type Workflow } from './ci-kit/workflow.ts';
import { type Folder, temporaryFolder } from './cli/voxform-process.ts';

const released = '## [Unreleased]\n\n## [1.2.0] - 2026-12-01\n\n### Added\n\n- A thing.\n';

/** Creates a repository with the script, and a tag on its last commit. */
async function repository(changelog: string, tag: string): Promise<Folder> {
  const folder = await temporaryFolder({
    'package.json': '{ "name": "voxform", "version": "1.2.0", "type": "module" }',
    'CHANGELOG.md': changelog,
    '.gitignore': 'node_modules\n',
  });
  for (const name of ['release.ts', 'licences.ts'])
    cpSync(path.join(root, 'scripts', name), path.join(folder.root, 'scripts', name));
  symlinkSync(path.join(root, 'node_modules'), path.join(folder.root, 'node_modules'));
  git(folder, 'init', '--quiet');
  commit(folder);
  git(folder, 'tag', tag);
  return folder;
}

function git({ root: cwd }: Folder, ...args: readonly string[]): void {
  execFileSync('git', ['-c', 'user.name=dev', '-c', 'user.email=dev@example.com', ...args], { cwd, stdio: 'pipe' });
}

function commit(folder: Folder): void {
  git(folder, 'add', '--all');
  git(folder, 'commit', '--quiet', '--message', 'An edit');
}

function release({ root: cwd }: Folder, tag: string, env: NodeJS.ProcessEnv = process.env) {
  const args = ['scripts/release.ts', 'out', '--tag', tag];
  const { status, stderr } = spawnSync(process.execPath, args, { cwd, env, encoding: 'utf8' });
  return { status, stderr };
}

/** Expects a failure with one line. */
function expectRefusal({ status, stderr }: ReturnType<typeof release>, says: string): void {
  expect([status, stderr]).toEqual([1, expect.stringContaining(says)]);
  expect(stderr).toMatch(/^error: .*\n$/);
}

describe('refused release', () => {
  it.each([
    { reason: 'another version', tag: 'v1.2.1', changelog: released, says: '1.2.0' },
    { reason: 'a tag without v', tag: '1.2.0', changelog: released, says: '1.2.0' },
    { reason: 'a command', tag: 'v1.2.0$(touch\u0024{IFS}pwned);`id`', changelog: released, says: '1.2.0' },
    {
      reason: 'a version only in a link',
      tag: 'v1.2.0',
      changelog: '## [Unreleased]\n\n- A thing.\n\n[1.2.0]: https://example.com/1.2.0\n',
      says: '## [1.2.0]',
    },
    {
      reason: 'a version without a description',
      tag: 'v1.2.0',
      changelog: '## [1.2.0] - 2026-12-01\n\n## [1.1.0] - 2026-11-01\n\n- A thing.\n\n[1.2.0]: https://example.com\n',
      says: '## [1.2.0]',
    },
    { reason: 'a version without a date', tag: 'v1.2.0', changelog: '## [1.2.0]\n\n- A thing.\n', says: 'YYYY-MM-DD' },
    {
      reason: 'a version with the same prefix',
      tag: 'v1.2.0',
      changelog: released.replace('1.2.0', '1.2.00'),
      says: '1.2.0',
    },
  ])('has $reason', { tags: ['long'] }, async ({ tag, changelog, says }) => {
    await using folder = await repository(changelog, tag);
    const before = readdirSync(folder.root);
    expectRefusal(release(folder, tag), says);
    expect(readdirSync(folder.root)).toEqual(before);
  });

  it('has a tag on another commit, or a changelog that is not committed', { tags: ['long'] }, async () => {
    await using folder = await repository('## [Unreleased]\n', 'v1.2.0');
    await folder.write('CHANGELOG.md', released);
    expectRefusal(release(folder, 'v1.2.0'), 'CHANGELOG.md');
    commit(folder);
    expectRefusal(release(folder, 'v1.2.0'), 'not on the last commit');
    git(folder, 'tag', '--delete', 'v1.2.0');
    expectRefusal(release(folder, 'v1.2.0'), 'v1.2.0');
    expect(existsSync(path.join(folder.root, 'out'))).toBe(false);
  });

  it('needs missing programs', { tags: ['long'] }, async () => {
    await using folder = await repository(released, 'v1.2.0');
    expectRefusal(release(folder, 'v1.2.0', { PATH: '' }), 'git is not on the path');
  });

  it('uses a folder that another run has filled', { tags: ['long'] }, async () => {
    await using folder = await repository(released, 'v1.2.0');
    await folder.write('out/voxform-1.1.0.tgz', 'older');
    expectRefusal(release(folder, 'v1.2.0'), 'not an empty folder');
    expect(readdirSync(path.join(folder.root, 'out'))).toEqual(['voxform-1.1.0.tgz']);
  });
});

describe('release workflow', () => {
  const { permissions, jobs } = shipped<Workflow>('.github/workflows/release.yml');

  it('may write only in the publishing job, and keeps no token in a checkout', () => {
    expect(permissions).toEqual({ contents: 'read' });
    expect(Object.keys(jobs).filter((name) => jobs[name]?.permissions !== undefined)).toEqual(['publish']);
    const checkouts = Object.values(jobs).flatMap(({ steps }) =>
      steps.filter(({ uses }) => uses?.includes('checkout')),
    );
    expect(checkouts).toHaveLength(3);
    for (const { with: inputs } of checkouts) expect(inputs).toEqual({ 'persist-credentials': false });
    const scripts = Object.values(jobs).flatMap(({ steps }) => steps.flatMap(({ run = '' }) => run));
    expect(scripts.filter((script) => script.includes('\u0024{{'))).toEqual([]);
  });
});
