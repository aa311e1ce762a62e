import { execFile } from 'node:child_process';
import {
  accessSync,
  constants,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { VERSION } from '../src/version.ts';

/** @module-tag long */

const root = path.resolve(import.meta.dirname, '..');
const folder = path.join(tmpdir(), `voxform-package-${process.pid}`);
const bin = path.join(folder, 'node_modules', '.bin', 'voxform');

interface Finished {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

interface Surroundings {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
}

function execute(file: string, args: readonly string[], { cwd = folder, env = process.env }: Surroundings = {}) {
  return new Promise<Finished>((resolve) => {
    execFile(file, args, { cwd, env }, (error, stdout, stderr) => {
      const exitCode = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
      resolve({ exitCode, stdout, stderr });
    });
  });
}

async function succeed(file: string, args: readonly string[], surroundings?: Surroundings): Promise<string> {
  const { exitCode, stdout, stderr } = await execute(file, args, surroundings);
  expect(exitCode, `${path.basename(file)} ${args.join(' ')}\n${stdout}${stderr}`).toBe(0);
  return stdout;
}

beforeAll(async () => {
  mkdirSync(folder);
  const packed = await succeed('npm', ['pack', '--json', '--pack-destination', folder], { cwd: root });
  expect(packed).toContain(`voxform-${VERSION}.tgz`);
  await install(path.join(folder, `voxform-${VERSION}.tgz`));
});

/** Installs like npm, with exactly the packages that it names, from their local copies. */
async function install(tarball: string): Promise<void> {
  const modules = path.join(folder, 'node_modules');
  const unpacked = path.join(modules, 'voxform');
  mkdirSync(unpacked, { recursive: true });
  await succeed('tar', ['-xzf', tarball, '-C', unpacked, '--strip-components=1']);
  const { bin: commands } = packageIn(unpacked);
  const links = [
    ...Object.entries(commands).map(([name, file]) => [`.bin/${name}`, path.join(unpacked, file)] as const),
    ...packagesFor(unpacked).map((name) => [name, path.join(root, 'node_modules', name)] as const),
  ];
  for (const [name, target] of links) {
    const link = path.join(modules, name);
    mkdirSync(path.dirname(link), { recursive: true });
    symlinkSync(target, link);
  }
  writeFileSync(path.join(folder, 'package.json'), '{ "private": true }\n');
}

interface PackageFile {
  readonly bin: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

function packageIn(taken: string): PackageFile {
  return JSON.parse(readFileSync(path.join(taken, 'package.json'), 'utf8')) as PackageFile;
}

/** Returns the packages that npm installs with this one. */
function packagesFor(taken: string): readonly string[] {
  const { dependencies, optionalDependencies } = packageIn(taken);
  const needed = Object.keys({ ...dependencies, ...optionalDependencies }).filter(
    // npm installs only the build of a native package for this machine.
    (name) => name in (dependencies ?? {}) || existsSync(path.join(root, 'node_modules', name)),
  );
  const further = needed.flatMap((name) => packagesFor(path.join(root, 'node_modules', name)));
  return [...new Set([...needed, ...further])];
}

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('packed command, installed in an empty folder', () => {
  it('is executable and prints its version', async () => {
    accessSync(bin, constants.X_OK);
    expect(await succeed(bin, ['--version'])).toBe(`${VERSION}\n`);
  });

  it('contains all files that it reads at run time, and no sources', () => {
    const files = readdirSync(path.join(folder, 'node_modules', 'voxform'));
    expect(files).toEqual(
      expect.arrayContaining([
        'CHANGELOG.md',
        'LICENSE',
        'README.md',
        'completions',
        'dist',
        'docs',
        'examples',
        'schemas',
      ]),
    );
    expect(files).not.toEqual(expect.arrayContaining(['src']));
    expect(files).not.toEqual(expect.arrayContaining(['test']));
  });

  it('is 42 MB and a few packages, with the licenses of bundled ones', async () => {
    const modules = path.join(folder, 'node_modules');
    expect(packagesFor(path.join(modules, 'voxform')).length).toBeLessThan(12);
    // The links of `install` point to the packages.
    expect(Number.parseInt(await succeed('du', ['-smL', modules]), 10)).toBeLessThanOrEqual(42);
    const licences = readFileSync(path.join(modules, 'voxform', 'dist', 'LICENSES.txt'), 'utf8');
    const isInside = (name: string) => new RegExp(`^${name} \\d`, 'm').test(licences);
    const inside = ['pino', 'pg-boss', 'pg-types', 'hono', '@opentelemetry/core', '@modelcontextprotocol/server'];
    expect(inside.filter((name) => !isInside(name))).toEqual([]);
    // Of the Model Context Protocol, only its server on standard input and output.
    expect(['@modelcontextprotocol/client', 'ajv', 'express'].filter(isInside)).toEqual([]);
    const dist = path.join(modules, 'voxform', 'dist');
    const serving = globSync('chunks/mcp-*.mjs', { cwd: dist }).map((file) => statSync(path.join(dist, file)).size);
    expect(serving.map((bytes) => bytes < 400_000)).toEqual([true]);
  });

  it('creates a valid project', async () => {
    await succeed(bin, ['init', 'project']);
    expect(existsSync(path.join(folder, 'project', 'voxform.yaml'))).toBe(true);
    expect(await succeed(bin, ['--chdir', 'project', 'validate'])).toMatch('Valid');
  });

  it('prints its schemas', async () => {
    const schema: unknown = JSON.parse(await succeed(bin, ['schema', 'Agent']));
    expect(schema).toMatchObject({ title: 'Agent manifest' });
  });
});

describe('package, imported by a program', () => {
  const tarball = path.join(folder, `voxform-${VERSION}.tgz`);
  const tool = (name: string) => path.join(root, 'node_modules', '.bin', name);

  it.concurrent('is found by every resolver of modules', async () => {
    const [lint, types] = await Promise.all([
      succeed(tool('publint'), ['run', tarball, '--strict']),
      succeed(tool('attw'), [tarball, '--profile', 'esm-only', '--no-emoji', '--format', 'ascii']),
    ]);
    expect(lint).toContain('All good!');
    expect(types).toMatch(/from ESM\): OK[\s\S]*bundler: OK/);
  });

  it.concurrent('has the types that its page shows, and works as described', async () => {
    writeFileSync(path.join(folder, 'program.ts'), PROGRAM);
    const options = { strict: true, exactOptionalPropertyTypes: true, module: 'nodenext', target: 'es2024' };
    const types = { types: ['node'], typeRoots: [path.join(root, 'node_modules', '@types')] };
    const settings = { compilerOptions: { ...options, ...types }, files: ['program.ts'] };
    writeFileSync(path.join(folder, 'tsconfig.json'), JSON.stringify(settings));
    await succeed(tool('tsc'), ['-p', 'tsconfig.json', '--checkers', '1']);
    expect(await succeed(process.execPath, ['program.js'])).toBe('UserError ok\n');
  });
});

/** Uses every export; without a project it must fail in the documented way. */
const PROGRAM = `
import { apply, drift, InvalidManifests, InvalidProject, loadProject, plan, PlatformError, readPlan, UserError, VERSION } from 'voxform';
import type { Applied, Diagnostic, LogEntry, PlanDocument, Planned } from 'voxform';

export async function converge(cwd: string, signal: AbortSignal): Promise<Applied> {
  const messages: LogEntry[] = [];
  const project = await loadProject({ cwd, env: {}, workspace: 'staging', log: (entry) => messages.push(entry) });
  const planned: Planned = await plan(project, { signal, target: ['Agent/a'], onProgress: ({ done, total }) => done + total });
  const document: PlanDocument = planned.document;
  const again = readPlan(project, JSON.stringify(document));
  const creates: number = again.document.summary.create;
  if ((await drift(project)).drifted && creates > 0) throw new Error(VERSION);
  const action: 'create' | 'update' | undefined = document.resources.map((each) => each.action).find((each) => each === 'create');
  return apply(again, { signal, lockTimeout: 10, onEvent: (event) => console.log(event.address, action) });
}

converge('.', new AbortController().signal).catch((error: unknown) => {
  const diagnostics: readonly Diagnostic[] =
    error instanceof InvalidManifests || error instanceof InvalidProject ? error.diagnostics : [];
  const isExpected = error instanceof UserError && error.hint !== undefined && !(error instanceof PlatformError);
  console.log((error as Error).name, isExpected && diagnostics.length === 0 ? 'ok' : error);
});
`;

describe('packed command on an older Node', () => {
  const older = nodesOnPath().filter((file) => file !== process.execPath);

  it('prints its requirement and how to install it', async () => {
    const answers: Finished[] = [];
    for (const node of older) {
      const version = await succeed(node, ['--version']);
      if (isOld(version)) answers.push(await execute(node, [bin, 'validate']));
    }
    answers.push(await execute(process.execPath, [...pretending('20.19.0'), bin, 'validate']));
    for (const { exitCode, stdout, stderr } of answers) {
      expect(exitCode).toBe(1);
      expect(stdout).toBe('');
      expect(stderr).toMatch(
        /^voxform needs Node 22\.22 or later; this is \d+\.\d+\.\d+\.\nhint: .*nvm install \d+.*\n$/,
      );
    }
  });

  it.each([
    { node: '20.19.0', isGlobal: true, code: 1, reason: 'the command would refuse to start' },
    { node: '22.21.1', isGlobal: true, code: 1, reason: 'it would refuse to start here' },
    { node: '22.22.0', isGlobal: true, code: 0, reason: 'it runs' },
    { node: '20.19.0', isGlobal: false, code: 0, reason: 'a clone brings its own Node' },
  ])('is installed on $node or not, for all: $isGlobal, because $reason', async ({ node, isGlobal, code }) => {
    const { scripts } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
      readonly scripts: { readonly preinstall: string };
    };
    const env = {
      npm_lifecycle_event: 'preinstall',
      npm_config_global: isGlobal ? 'true' : '',
      npm_config_user_agent: `npm/10.8.2 node/v${node} linux x64`,
    };
    const ended = await execute(process.execPath, scripts.preinstall.split(' ').slice(1), {
      cwd: root,
      env,
    });
    expect(ended.exitCode).toBe(code);
    expect(ended.stderr.includes('nvm install')).toBe(code === 1);
  });

  it.each(['22.22.0', '22.23.1', '24.0.0'])('runs on %s', async (version) => {
    expect(await succeed(process.execPath, [...pretending(version), bin, '--version'])).toBe(`${VERSION}\n`);
  });
});

function nodesOnPath(): string[] {
  const folders = (process.env.PATH ?? '').split(path.delimiter);
  return [...new Set(folders.map((each) => path.join(each, 'node')))].filter((file) => existsSync(file));
}

function isOld(version: string): boolean {
  const [major = 0, minor = 0] = version.replace('v', '').split('.').map(Number);
  return major < 22 || (major === 22 && minor < 22);
}

/** Flags that make Node report another version, so that the message is tested without an older Node. */
function pretending(version: string): string[] {
  const versions = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } })`;
  return ['--import', `data:text/javascript,${encodeURIComponent(versions)}`];
}
