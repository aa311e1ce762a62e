import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { packageFiles } from '../src/version.ts';
import { packageIn } from './licences.ts';

/*
 * Builds the one-file executable: Node with the bundle and the files of the package inside. The build is reproducible.
 *   node scripts/executable.ts [TARGET] [FILE]
 */

/**
 * The SHA-256 of the Node binary for each target, from the package `node-TARGET` in the version of the package `node`. There is none for
 * macOS, which runs only signed files.
 */
const NODES: Readonly<Record<string, string>> = {
  'linux-x64': '7fde7b8afa198da66257f42ee2001d874c7355631e6d1579a5fb5ef1f246df4c',
  'linux-arm64': '0f8949d1028f6d61506b2d5bc57e7e6fe893d7b1997509b7847294fc9c616584',
};

/** The marker in the Node binary that postject flips. */
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';

const root = path.resolve(import.meta.dirname, '..');
const scripts = path.join(root, 'scripts', 'executable');
const own = `${process.platform}-${process.arch}`;
const [target = own, file = path.join(root, `voxform-${target}`)] = process.argv.slice(2);
const expected = NODES[target];
if (expected === undefined) throw new Error(`unknown target ${target}; known: ${Object.keys(NODES).join(', ')}`);

const folder = mkdtempSync(path.join(tmpdir(), 'voxform-executable-'));
try {
  writeExecutable({ ...chunks(), ...packagedFiles() });
  process.stdout.write(`${path.relative(process.cwd(), file)}: ${statSync(file).size} bytes\n`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Returns the files that the loader runs, by name. */
function chunks(): Record<string, string> {
  const built = path.join(folder, 'chunks');
  const run = (...args: readonly string[]) => execFileSync(process.execPath, args, { cwd: root, stdio: 'inherit' });
  run(path.join(root, 'scripts', 'bundle.ts'), built, '--executable');
  for (const name of readdirSync(built).filter((each) => each.endsWith('.cjs'))) {
    const code = readFileSync(path.join(built, name), 'utf8');
    writeFileSync(path.join(built, name), `(function (exports, require, module, __filename) {${code}\n})`);
  }
  // The code cache is valid only for the processor that wrote it.
  if (target === own) {
    const args = ['--random-seed=1', path.join(scripts, 'code-cache.cjs'), built];
    execFileSync(process.execPath, args, { cwd: folder, env: {}, stdio: ['ignore', 'ignore', 'inherit'] });
  }
  writeFileSync(path.join(built, 'parse-worker'), program("load('parse-worker.cjs');"));
  return Object.fromEntries(readdirSync(built).map((name) => [name, path.join(built, name)]));
}

function program(start: string): string {
  return `${readFileSync(path.join(scripts, 'loader.cjs'), 'utf8')}\n${start}\n`;
}

/** Returns the files of the package that commands read, by path. */
function packagedFiles(): Record<string, string> {
  const folders = ['schemas', 'completions', 'ci', 'examples/quickstart', 'docs'];
  const files = folders.flatMap((each) => packageFiles(each).map((name) => `${each}/${name}`));
  const read = files.filter((name) => !/^docs\/.*\/|\/\./.test(name));
  return Object.fromEntries(['package.json', 'LICENSE', ...read].map((name) => [name, path.join(root, name)]));
}

function writeExecutable(assets: Readonly<Record<string, string>>): void {
  writeFileSync(path.join(folder, 'main.cjs'), program("load('start.cjs').start(process);"));
  const settings = {
    // The executable contains this path, so it must not be a temporary one.
    main: 'main.cjs',
    output: 'blob',
    assets,
    disableExperimentalSEAWarning: true,
    // Ignore NODE_OPTIONS: users do not expect it to affect voxform, and the files that it loads may not exist.
    execArgvExtension: 'none',
  };
  writeFileSync(path.join(folder, 'config.json'), JSON.stringify(settings));
  const run = (...args: readonly string[]) => execFileSync(process.execPath, args, { cwd: folder, stdio: 'pipe' });
  run('--experimental-sea-config', 'config.json');
  const built = path.join(folder, 'executable');
  copyFileSync(nodeBinary(), built);
  const postject = path.join(root, 'node_modules', 'postject', 'dist', 'cli.js');
  run(postject, built, 'NODE_SEA_BLOB', 'blob', '--sentinel-fuse', FUSE);
  chmodSync(built, 0o755);
  copyFileSync(built, file);
}

/** Returns the path of the Node binary for the target: the installed one, or one from the registry. */
function nodeBinary(): string {
  const { version } = packageIn(path.join(root, 'node_modules', 'node'));
  if (process.version !== `v${version}`) throw new Error(`build with Node ${version}, which npm run takes`);
  const binary = target === own ? process.execPath : download(`node-${target}@${version}`);
  const sha256 = createHash('sha256').update(readFileSync(binary)).digest('hex');
  if (sha256 !== expected) throw new Error(`${binary} has the SHA-256 ${sha256}, not ${expected}`);
  return binary;
}

function download(name: string): string {
  execFileSync('npm', ['pack', name, '--silent'], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
  const packed = readdirSync(folder).find((each) => each.endsWith('.tgz')) ?? '';
  execFileSync('tar', ['-xzf', packed, 'package/bin/node'], { cwd: folder });
  return path.join(folder, 'package', 'bin', 'node');
}
