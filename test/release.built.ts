import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { VERSION } from '../src/version.ts';
import { GithubHost } from './ci-kit/github-host.ts';
import { GithubRunner } from './ci-kit/github-runner.ts';
import { Repository, sha256 } from './ci-kit/repository.ts';
import { root, shipped, type Workflow } from './ci-kit/workflow.ts';

const workflow = shipped<Workflow>('.github/workflows/release.yml');
const tag = `v${VERSION}`;
const folder = mkdtempSync(path.join(tmpdir(), 'voxform release '));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/**
 * Creates a repository of these sources, released in the changelog, at a tag; on a machine with Node, and with programs
 * that record their calls.
 */
function sources(): Repository {
  const repository = new Repository({ 'README.md': '' });
  const { clone } = repository;
  const names = execFileSync('git', ['ls-files', '-z', '-co', '--exclude-standard'], { cwd: root, encoding: 'utf8' });
  for (const name of names.split('\0').filter((each) => each !== '' && existsSync(path.join(root, each))))
    cpSync(path.join(root, name), path.join(clone, name));
  const changelog = readFileSync(path.join(root, 'CHANGELOG.md'), 'utf8');
  const released = changelog.replace('## [Unreleased]', `## [Unreleased]\n\n## [${VERSION}] - 2026-12-01`);
  repository.commit({ 'CHANGELOG.md': released });
  repository.git(['tag', tag]);
  repository.git(['push', '-q', 'origin', 'main', tag]);
  const program = (name: string, script: string) =>
    writeFileSync(path.join(repository.bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const npm = execFileSync('which', ['npm'], { encoding: 'utf8' }).trim();
  const { HOME = '', NODE_EXTRA_CA_CERTS = '' } = process.env;
  const settings = `HOME='${HOME}' NODE_EXTRA_CA_CERTS='${NODE_EXTRA_CA_CERTS}'`;
  program('node', `exec '${process.execPath}' "$@"`);
  program('npm', `[ "$1" = ci ] && exec ln -s '${root}/node_modules' node_modules\n${settings} exec ${npm} "$@"`);
  const record = (name: string) => `printf '%s\\n' "$*" >>'${repository.folder}/${name}-calls'`;
  program(
    'gh',
    `${record('gh')}; mkdir '${folder}/published'; for f; do case $f in release/*) cp "$f" '${folder}/published'; esac; done`,
  );
  const digest = `sha256:${'d'.repeat(64)}`;
  program(
    'docker',
    `${record('docker')}; [ "$2" != build ] || echo '{ "containerimage.digest": "${digest}" }' >image.json`,
  );
  return repository;
}

it('the workflow builds a release from a tag, attests its files and publishes them', async () => {
  using repository = sources();
  await using host = await GithubHost.start();
  const runner = new GithubRunner(host, repository, {});
  const attested: Readonly<Record<string, string>>[] = [];
  runner.onAttest = (inputs) => attested.push(inputs);
  const sha = repository.git(['rev-parse', 'HEAD']);
  const trigger = { event: 'push', ref: `refs/tags/${tag}`, refName: tag, sha, payload: {} } as const;
  const { build, publish } = await runner.run({ ...workflow, jobs: withoutTests() }, trigger);
  expect(build?.result, build?.log).toBe('success');
  expect(publish?.result, publish?.log).toBe('success');

  const published = path.join(folder, 'published');
  const text = (name: string) => readFileSync(path.join(published, name), 'utf8');
  const files = ['linux-arm64', 'linux-x64', `${VERSION}.tgz`, `${VERSION}.vsix`].map((each) => `voxform-${each}`);
  files.push('voxform.cdx.json');
  expect(readdirSync(published).sort()).toEqual(['NOTES.md', 'SHA256SUMS', ...files].sort());
  const sums = files.sort().map((name) => `${sha256(readFileSync(path.join(published, name)))}  ${name}\n`);
  expect(text('SHA256SUMS').split('\n').sort()).toEqual(sums.join('').split('\n').sort());
  expect(text('NOTES.md')).toMatch(/^### Added\n[\s\S]*Container image: `ghcr.io\/acme\/voices@sha256:d{64}`\n$/);

  const { metadata, components, dependencies } = JSON.parse(text('voxform.cdx.json'));
  expect(metadata.component).toMatchObject({ name: 'voxform', version: VERSION });
  const names = components.map(({ name }: { readonly name: string }) => name);
  // Bundled, installed, in the executables, and in the extension only.
  expect(names).toEqual(
    expect.arrayContaining(['zod', '@aws-sdk/client-s3', 'croner', 'node', 'vscode-languageclient']),
  );
  for (const tool of ['vitest', 'rolldown', 'typescript', 'postject']) expect(names).not.toContain(tool);
  const refs = new Set([`voxform@${VERSION}`, ...components.map((each: Record<'bom-ref', string>) => each['bom-ref'])]);
  for (const { ref, dependsOn } of dependencies)
    expect([ref, ...dependsOn].filter((each) => !refs.has(each))).toEqual([]);

  expect(attested).toEqual([
    { 'subject-checksums': 'release/SHA256SUMS' },
    expect.objectContaining({ 'subject-name': 'ghcr.io/acme/voices', 'subject-digest': `sha256:${'d'.repeat(64)}` }),
  ]);
  expect(readFileSync(`${repository.folder}/docker-calls`, 'utf8')).toContain(`--tag ghcr.io/acme/voices:${VERSION} .`);
  expect(readFileSync(`${repository.folder}/gh-calls`, 'utf8')).toMatch(`release create ${tag} --verify-tag`);

  // The same commit in another folder, by a user with private files, from a changed folder.
  repository.git(['clone', '-q', repository.origin, path.join(folder, 'a copy')]);
  const again = path.join(folder, 'again');
  const script = `umask 077; echo changed >>README.md; npm ci; npm run release -- '${again}' --tag ${tag}`;
  execFileSync('sh', ['-c', script], { cwd: path.join(folder, 'a copy'), env: repository.env, stdio: 'pipe' });
  expect(readFileSync(path.join(again, 'SHA256SUMS'), 'utf8')).toBe(text('SHA256SUMS'));
}, 1_800_000);

/** Returns the jobs without the tests, which take too long. */
function withoutTests(): Workflow['jobs'] {
  const { build, test, publish } = workflow.jobs;
  if (build === undefined || test === undefined || publish === undefined) throw new Error('a job is missing');
  expect([test.needs, publish.needs]).toEqual(['build', 'test']);
  return { build, publish: { ...publish, needs: 'build' } };
}
