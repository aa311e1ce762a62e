import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, inject, it } from 'vitest';
import { start, temporaryFolder } from './voxform-process.ts';
import { agentManifest, projectFile, testWorkspace } from './workspace.ts';

/** Packages that make a process slow to start: parsers, checkers, the network, servers. */
const HEAVY = [
  ...['undici', 'yaml/dist', 'zod', 'hono', 'chokidar', 'prom-client', 'pino', '@opentelemetry', 'croner'],
  'pg',
  '@bufbuild/cel',
  '@dagrejs/dagre',
  'vscode-languageserver-protocol',
  // A client of one server needs only half of this.
  'undici/index.js',
  // A module of ours that only the display of saved plans needs.
  'src/problems/next-step.ts',
];

interface Loaded {
  /** The heavy packages. */
  readonly packages: readonly string[];
  /** The number of files. */
  readonly count: number;
  /** The number of files with other characters than ASCII, which Node decodes slowly. */
  readonly decoded: number;
}

/** Returns the files that a process loaded, from its coverage report. */
function loadedIn(folder: string): Loaded {
  const scripts = readdirSync(folder).flatMap((name) => {
    const { result } = JSON.parse(readFileSync(path.join(folder, name), 'utf8')) as {
      readonly result: readonly { readonly url: string }[];
    };
    return result.map(({ url }) => url).filter((url) => url.startsWith('file:'));
  });
  const texts = scripts.map((url) => readFileSync(new URL(url), 'utf8'));
  const packages = HEAVY.filter(
    (name) =>
      scripts.some((url) => url.includes(`/node_modules/${name}`)) ||
      texts.some((text) => text.includes(`\n// node_modules/${name}`) || text.includes(`\n// ${name}`)),
  );
  return { packages, count: scripts.length, decoded: texts.filter((text) => /[^\0-\x7f]/.test(text)).length };
}

describe('a command', () => {
  it.each([
    { args: ['--version'], uses: [], files: 4, reason: 'ends before the command line is loaded' },
    { args: ['--help'], uses: [], files: 8, reason: 'loads the names of commands, not their code' },
    { args: ['validate'], uses: ['yaml/dist', 'zod'], files: 12, reason: 'sends no requests' },
    { args: ['plan'], uses: ['undici', 'yaml/dist', 'zod'], files: 16, reason: 'starts no server and no watch' },
    { args: ['graph'], uses: ['yaml/dist', 'zod'], files: 16, reason: 'draws no image' },
    {
      args: ['graph', '--output', 'svg'],
      uses: ['yaml/dist', 'zod', '@dagrejs/dagre'],
      files: 18,
      reason: 'draws an image',
    },
  ])('loads only the packages that it uses: $args.0 $reason', { tags: ['long'] }, async ({ args, uses, files }) => {
    await using workspace = await testWorkspace({ 'manifests/a.yaml': agentManifest('day') });
    await workspace.folder.write('voxform.yaml', projectFile(workspace.emulator));
    const caches = path.join(workspace.folder.root, 'caches');
    for (const run of ['first', 'next']) {
      const loaded = path.join(workspace.folder.root, run);
      const env = { NODE_V8_COVERAGE: loaded, XDG_CACHE_HOME: caches };
      const { code } = await workspace.start(args, { env }).ended;
      expect(code).toBe(0);
      const { packages, count, decoded } = loadedIn(loaded);
      // The second run reads parsed files from a cache. Long values of a plan are written as YAML.
      const isUnused = (name: string) => name === 'yaml/dist' && run === 'next' && args[0] !== 'plan';
      expect(packages).toEqual(uses.filter((name) => !isUnused(name)));
      expect(count).toBeLessThanOrEqual(run === 'first' ? files + 3 : files);
      // The templates of images and pages contain other characters than ASCII.
      expect(decoded).toBe(args.includes('svg') ? 1 : 0);
    }
  });

  it.each([
    {
      args: ['--help'],
      heavy: ['internal/fs/promises', 'internal/readline/interface', 'http', 'crypto'],
    },
    {
      args: ['plan', '--quiet'],
      heavy: ['internal/readline/promises', 'stream/web', 'tls', 'http', 'http2', 'zlib', 'assert'],
    },
  ])('loads no built-in modules of Node that $args.0 does not need', async ({ args, heavy: own }) => {
    await using workspace = await testWorkspace({
      'manifests/a.yaml': agentManifest('day'),
      'note-parts.mjs': `
        process.on('exit', () => process.stderr.write(process.moduleLoadList.join('\\n')));`,
    });
    await workspace.folder.write('voxform.yaml', projectFile(workspace.emulator));
    const preload = path.join(workspace.folder.root, 'note-parts.mjs');
    const { stderr } = await workspace.start(args, {
      env: { NODE_OPTIONS: `--import ${pathToFileURL(preload)}` },
    }).ended;
    const parts = stderr.split('\n').flatMap((line) => /^NativeModule (.+)$/.exec(line)?.[1] ?? []);
    expect(parts).toContain('fs');
    const heavy = ['child_process', 'worker_threads', ...own];
    expect(heavy.filter((name) => parts.includes(name))).toEqual([]);
  });

  it('parses many manifests in two threads', { tags: ['long'] }, async () => {
    const filler = '# Nothing that a manifest would say.\n'.repeat(80);
    const files = Array.from({ length: 300 }, (_, index) => [
      `manifests/${index}.yaml`,
      `${agentManifest(`line-${index}`)}${filler}`,
    ]);
    await using workspace = await testWorkspace({
      ...Object.fromEntries(files),
      // The thread is stopped when it is not needed any more. This delays the end until its first message.
      'note-threads.mjs': `
        process.on('worker', (worker) => {
          const first = new Promise((resolve) => {
            worker.once('message', () => resolve('it answered'));
            worker.once('error', ({ message }) => resolve(message));
          });
          const end = worker.terminate.bind(worker);
          worker.terminate = async () => {
            process.stderr.write(await first);
            return end();
          };
        });`,
    });
    await workspace.folder.write('voxform.yaml', projectFile(workspace.emulator));
    const preload = path.join(workspace.folder.root, 'note-threads.mjs');
    const ended = await workspace.start(['validate'], {
      env: { NODE_OPTIONS: `--import ${pathToFileURL(preload)}` },
    }).ended;
    expect(ended).toMatchObject({
      code: 0,
      stdout: 'Valid: 300 Agent in 300 files.\n',
      stderr: 'it answered',
    });
  });
});

it('says so if the current folder was removed', async () => {
  await using folder = await temporaryFolder();
  const script = 'mkdir gone && cd gone && rmdir ../gone && exec "$0" "$1" plan';
  const args = ['-c', script, process.execPath, path.join(inject('built'), 'main.js')];
  await using running = start(args, { cwd: folder.root, program: 'sh' });
  expect(await running.ended).toMatchObject({ code: 1, stderr: expect.stringMatching(/^error: the current folder/) });
});
