import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { strFromU8, unzipSync } from 'fflate';
import { packageIn } from './licences.ts';

/*
 * Builds the files of a release from the last commit, and publishes nothing:
 *   node scripts/release.ts [FOLDER] [--tag TAG]
 * The tag must be on that commit and match the version in package.json, and CHANGELOG.md must have that version. Without a tag, the build
 * is a rehearsal.
 */

/** A problem that the user can fix. */
class Refusal extends Error {}

const root = path.resolve(import.meta.dirname, '..');
const TARGETS = ['linux-x64', 'linux-arm64'];

// Packed files keep their modes, so do not depend on the user's umask.
process.umask(0o022);
try {
  const { values, positionals } = parseArgs({ options: { tag: { type: 'string' } }, allowPositionals: true });
  release(path.resolve(positionals[0] ?? 'release'), values.tag);
} catch (error) {
  if (!(error instanceof Refusal)) throw error;
  process.stderr.write(`error: ${error.message}\n`);
  process.exitCode = 1;
}

function release(folder: string, tag: string | undefined): void {
  if (isNotEmpty(folder)) throw new Refusal(`${folder} is not an empty folder: remove it, or name another one`);
  mkdirSync(path.dirname(folder), { recursive: true });
  const temporary = mkdtempSync(`${folder}.`);
  const [clone, files] = [path.join(temporary, 'clone'), path.join(temporary, 'files')];
  try {
    // Excludes uncommitted changes.
    run('git', ['clone', '--quiet', '--shared', '--config', 'advice.detachedHead=false', root, clone], temporary);
    const { version } = packageIn(clone);
    if (tag !== undefined) checkTag(tag, version, clone);
    const notes = notesOf(tag === undefined ? undefined : version, path.join(clone, 'CHANGELOG.md'));
    mkdirSync(files);
    symlinkSync(path.join(root, 'node_modules'), path.join(clone, 'node_modules'));
    build(clone, files);
    writeFileSync(path.join(files, 'voxform.cdx.json'), components(clone, path.join(files, `voxform-${version}.vsix`)));
    const sums = readdirSync(files).map((name) => `${sha256(path.join(files, name))}  ${name}\n`);
    writeFileSync(path.join(files, 'SHA256SUMS'), sums.sort(byName).join(''));
    writeFileSync(path.join(files, 'NOTES.md'), notes);
    if (isNotEmpty(folder)) throw new Refusal(`${folder} is no longer empty`);
    renameSync(files, folder);
    process.stdout.write(sums.join(''));
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}

function isNotEmpty(folder: string): boolean {
  return existsSync(folder) && readdirSync(folder).length > 0;
}

function checkTag(tag: string, version: string, clone: string): void {
  if (tag !== `v${version}`)
    throw new Refusal(`the tag is ${JSON.stringify(tag)}, but the version in package.json is ${version}`);
  const tags = run('git', ['tag', '--points-at', 'HEAD'], clone).split('\n');
  if (!tags.includes(tag)) throw new Refusal(`the tag ${tag} is not on the last commit`);
}

/** Returns the section of the changelog for a version, or the unreleased one. */
function notesOf(version: string | undefined, file: string): string {
  const [, ...parts] = readFileSync(file, 'utf8').replaceAll('\r', '').split(/^## /m);
  for (const part of parts) {
    const [heading = '', ...lines] = part.split('\n');
    const [, released] = /^\[(.+)\] - \d{4}-\d\d-\d\d$/.exec(heading) ?? [];
    const notes = lines
      .filter((line) => !/^\[.+\]: /.test(line))
      .join('\n')
      .trim();
    if (notes !== '' && (version === undefined ? heading === '[Unreleased]' : released === version))
      return `${notes}\n`;
  }
  throw new Refusal(
    `CHANGELOG.md has no text under ## [${version ?? 'Unreleased'}]${version === undefined ? '' : ' - YYYY-MM-DD'}`,
  );
}

function build(clone: string, files: string): void {
  run('npm', ['pack', '--silent', '--pack-destination', files], clone);
  const { version } = packageIn(clone);
  const script = (name: string, ...args: readonly string[]) =>
    run(process.execPath, [path.join(clone, 'scripts', name), ...args], clone);
  script('vscode.ts', path.join(files, `voxform-${version}.vsix`));
  for (const target of TARGETS) script('executable.ts', target, path.join(files, `voxform-${target}`));
}

interface Component {
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version: string;
  readonly properties: readonly { readonly name: string }[];
}

interface Dependency {
  readonly ref: string;
  readonly dependsOn: readonly string[];
}

/** Returns all packages that a file of the release contains or installs, as a CycloneDX document. */
function components(clone: string, extension: string): string {
  const zipped = unzipSync(readFileSync(extension), { filter: ({ name }) => name === 'extension/dist/LICENSES.txt' });
  const licences = [
    readFileSync(path.join(clone, 'dist', 'LICENSES.txt'), 'utf8'),
    ...Object.values(zipped).map((text) => strFromU8(text)),
  ];
  const node = `node ${process.versions.node}`;
  const inside = new Set([
    node,
    ...licences.flatMap((text) => [...text.matchAll(/^(\S+ \d\S*) \(/gm)].map(([, name = '']) => name)),
  ]);
  const all = JSON.parse(run('npm', ['sbom', '--sbom-format=cyclonedx', '--package-lock-only'], clone)) as {
    readonly metadata: { readonly component: object };
    readonly components: readonly Component[];
    readonly dependencies: readonly Dependency[];
  };
  const nameOf = ({ name, version }: Component) => `${name} ${version}`;
  const isInstalled = ({ properties }: Component) =>
    !properties.some(({ name }) => name === 'cdx:npm:package:development');
  const selected = all.components.filter((each) => inside.has(nameOf(each)) || isInstalled(each));
  const known = new Set(selected.map(nameOf));
  const missing = [...inside].filter((each) => !known.has(each));
  if (missing.length > 0) throw new Error(`package-lock.json lacks ${missing.join(', ')}`);
  const { version } = packageIn(clone);
  const refs = new Set([`voxform@${version}`, ...selected.map((each) => each['bom-ref'])]);
  const list = {
    ...all,
    // A serial number would differ in each build.
    serialNumber: undefined,
    metadata: {
      ...all.metadata,
      timestamp: run('git', ['show', '--no-patch', '--format=%cI', 'HEAD'], clone),
      component: { ...all.metadata.component, name: 'voxform', type: 'application' },
    },
    components: selected.map((each) => ({
      ...each,
      ...(nameOf(each) === node && { cpe: `cpe:2.3:a:nodejs:node.js:${each.version}:*:*:*:*:*:*:*` }),
    })),
    dependencies: all.dependencies
      .filter(({ ref }) => refs.has(ref))
      .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((each) => refs.has(each)) })),
  };
  return `${JSON.stringify(list, undefined, 2)}\n`;
}

function sha256(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}

function byName(a: string, b: string): number {
  return a.slice(64) < b.slice(64) ? -1 : 1;
}

/** Runs a program, and returns its output. */
function run(program: string, args: readonly string[], cwd: string): string {
  // npm would otherwise use this folder as the package.
  const { npm_config_local_prefix: _, ...env } = process.env;
  try {
    return execFileSync(program, args, {
      cwd,
      env,
      encoding: 'utf8',
      maxBuffer: 2 ** 26,
      stdio: ['ignore', 'pipe', 'inherit'],
    }).trim();
  } catch (error) {
    const { code, status } = error as NodeJS.ErrnoException & { readonly status?: number };
    const reason = code === 'ENOENT' ? 'is not on the path' : `${args[0]} failed with exit code ${status}`;
    throw new Refusal(`${path.basename(program)} ${reason}`, { cause: error });
  }
}
