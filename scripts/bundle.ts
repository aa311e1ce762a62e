import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { rolldown } from 'rolldown';

/*
 * Puts the sources together as JavaScript, in chunks: what a command does not use is not even opened when it starts. What
 * package.json lists as a dependency stays outside; every other package that is used is taken in, with its licence.
 *   node scripts/bundle.ts FOLDER [PART...]
 * A part is a file under src/ that is to be there by its own name too, for who takes the command apart: `cli/run`.
 */

interface PackageFile {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

const root = path.resolve(import.meta.dirname, '..');
const [out = 'dist', ...parts] = process.argv.slice(2);
const folder = path.resolve(root, out);
/** The library's types speak of it, so it is a dependency; what runs of it is taken in like the rest. */
const FOR_TYPES = 'zod';
const outside = Object.keys(packageIn(root).dependencies ?? {}).filter((name) => name !== FOR_TYPES);

const bundle = await rolldown({
  cwd: root,
  input: {
    ...Object.fromEntries(['main', 'library', ...parts].map((part) => [part, `src/${part}.ts`])),
    // A thread begins with a file of its own.
    'parse-worker': 'src/manifests/parse-worker.ts',
  },
  platform: 'node',
  external: (id) =>
    id.startsWith('node:') || outside.some((name) => id === name || id.startsWith(`${name}/`)),
});
const { output } = await bundle.write({
  dir: folder,
  cleanDir: true,
  format: 'esm',
  chunkFileNames: 'chunks/[name]-[hash].js',
  // Classes and functions keep the names that stack traces show.
  keepNames: true,
});
chmodSync(path.join(folder, 'main.js'), 0o755);
const modules = output.flatMap((chunk) => (chunk.type === 'chunk' ? chunk.moduleIds : []));
writeFileSync(path.join(folder, 'LICENSES.txt'), licencesOf(modules));

function licencesOf(modules: readonly string[]): string {
  const folders = new Set(
    modules.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(id)?.[0] ?? []),
  );
  const texts = [...folders].sort().map((taken) => {
    const { name, version, license } = packageIn(taken);
    const file = readdirSync(taken).find((entry) => /^licen[cs]e/i.test(entry));
    if (file === undefined) throw new Error(`${name} comes without a licence`);
    return `${name} ${version} (${license})\n\n${readFileSync(path.join(taken, file), 'utf8').trim()}\n`;
  });
  return `Packages that are part of these files:\n\n${texts.join(`\n${'-'.repeat(80)}\n\n`)}`;
}

function packageIn(taken: string): PackageFile {
  return JSON.parse(readFileSync(path.join(taken, 'package.json'), 'utf8')) as PackageFile;
}
