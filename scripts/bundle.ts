import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import path from 'node:path';
import { type ChunkingContext, type Plugin, rolldown } from 'rolldown';
import { licencesOf, packageIn } from './licences.ts';

/*
 * Bundles the sources as JavaScript in chunks, so that a command opens no file that it does not use. Dependencies in package.json stay
 * outside. All other packages are bundled, with their licences.
 *   node scripts/bundle.ts FOLDER [--executable | PART...]
 * A part, such as `cli/run`, is a file under src/ that tests import by its own name.
 * With --executable, writes the chunks of the one-file executable in one folder, as CommonJS, which is all that it can load, and without
 * the library.
 */

const root = path.resolve(import.meta.dirname, '..');
const [out = 'dist', ...others] = process.argv.slice(2);
const isExecutable = others[0] === '--executable';
const parts = isExecutable ? [] : others;
const folder = path.resolve(root, out);
const { dependencies, optionalDependencies } = packageIn(root);
const all = Object.keys({ ...dependencies, ...optionalDependencies });
// The embedded database and the key store read files of their packages.
const outside = isExecutable ? all.filter((name) => name !== 'croner') : all;

/**
 * Reads only the used members of Node's built-in modules. An import reads all members, and some of them load a dozen more modules.
 */
const onlyUsedMembers: Plugin = {
  name: 'only-used-members',
  resolveId(id, importer = '', { kind }) {
    const isOfCommander = importer.includes('/node_modules/commander/');
    // Only some commands load the other packages.
    if (importer.includes('/node_modules/') && !isOfCommander) return undefined;
    if (kind !== 'import-statement' || !isBuiltin(id) || importer.startsWith('\0')) return undefined;
    const name = id.startsWith('node:') ? id : `node:${id}`;
    // commander uses child_process only for commands in separate programs, which voxform does not have. The module loads Node's network code.
    const isNeeded = name !== 'node:child_process' || !isOfCommander;
    return { id: `\0${isNeeded ? name : 'nothing'}`, moduleSideEffects: false };
  },
  load(id) {
    if (id === '\0nothing') return 'export default {};';
    if (!id.startsWith('\0node:')) return undefined;
    const name = id.slice(1);
    const members = Object.keys(process.getBuiltinModule(name) ?? {}).filter((member) => /^[a-zA-Z]\w*$/.test(member));
    return [
      `const whole = /* @__PURE__ */ globalThis.process.getBuiltinModule(${JSON.stringify(name)});`,
      'export default whole;',
      ...members.map((member) => `const its_${member} = whole.${member}; export { its_${member} as ${member} };`),
    ].join('\n');
  },
};

/**
 * Replacements for parts of undici that are not used: HTTP/2, which the pool does not allow and which loads TLS even for plain addresses;
 * forms; and Node's `http` and `assert`, which load a dozen modules. undici needs one number of `http`, and `assert` only for failures.
 */
const notForUndici: Readonly<Record<string, string>> = {
  './client-h2.js': '',
  '../web/fetch/body.js': '',
  '../web/fetch/formdata': '',
  '../web/webidl': '',
  'node:http': 'exports.maxHeaderSize = 16384;',
  'node:assert':
    'module.exports = (holds, message) => { if (!holds) process.getBuiltinModule("node:assert")(holds, message); };',
};
const leanUndici: Plugin = {
  name: 'lean-undici',
  resolveId: (id, importer) =>
    importer?.includes('/undici/') && Object.hasOwn(notForUndici, id) ? `\0undici:${id}` : undefined,
  load: (id) => (id.startsWith('\0undici:') ? notForUndici[id.slice('\0undici:'.length)] : undefined),
};

/** The MCP server validates responses to elicitations with ajv. voxform sends none, and zod checks the arguments of tools. */
const leanMcp: Plugin = {
  name: 'lean-mcp',
  resolveId: (id) => (id === '@modelcontextprotocol/server/_shims' ? '\0mcp-shims' : undefined),
  load: (id) =>
    id === '\0mcp-shims'
      ? 'export const process = globalThis.process; export class DefaultJsonSchemaValidator {}'
      : undefined,
};

/** Inlines the stylesheets and scripts of pages into the code that reads them. */
const filesOfPages: Plugin = {
  name: 'files-of-pages',
  transform: (code, id) =>
    code.replace(/readFileSync\(new URL\('(.+)', import\.meta\.url\), 'utf8'\)/g, (_, file: string) =>
      JSON.stringify(readFileSync(path.resolve(path.dirname(id), file), 'utf8')),
    ),
};

/** The executable has no folder from which a package could be loaded. */
const packagesInside: Plugin = {
  name: 'packages-inside',
  transform: (code) => code.replaceAll('createRequire(import.meta.url)(', 'require('),
};

/** The modules that a source loads, by its path. */
const loadedWith = new Map<string, ReadonlySet<string>>();

function isLoadedWith(source: string, id: string, chunking: ChunkingContext): boolean {
  let loaded = loadedWith.get(source);
  if (loaded === undefined) {
    const found = new Set([path.join(root, 'src', source)]);
    for (const one of found) for (const next of chunking.getModuleInfo(one)?.importedIds ?? []) found.add(next);
    loadedWith.set(source, found);
    loaded = found;
  }
  return loaded.has(id);
}

/**
 * Groups of modules that are loaded together. Each becomes one file, because opening a file takes longer than reading it. A module goes
 * into the first group whose sources all load it.
 */
const together: readonly { readonly name: string; readonly sources: readonly string[] }[] = [
  { name: 'start', sources: ['cli/start.ts'] },
  { name: 'ground', sources: ['cli/process.ts', 'library.ts'] },
  { name: 'ground', sources: ['cli/process.ts', 'manifests/parse-worker.ts'] },
  { name: 'command-line', sources: ['cli/process.ts'] },
  { name: 'schemas', sources: ['cli/actions/validate.ts', 'manifests/parse-worker.ts'] },
  { name: 'project', sources: ['cli/actions/validate.ts', 'cli/actions/plan.ts'] },
  { name: 'project', sources: ['runs/validate-project.ts'] },
  { name: 'parsing', sources: ['manifests/parse-worker.ts'] },
  { name: 'planning', sources: ['cli/actions/plan.ts', 'cli/actions/apply.ts'] },
  { name: 'report', sources: ['output/formats/text-format.ts'] },
];

/** The file of the second thread, without the code that the command shares with it. */
const THREAD = 'src/manifests/parse-worker.ts';

function chunkOf(id: string, chunking: ChunkingContext): string | null {
  if (id === path.join(root, THREAD) || id === '\0node:worker_threads') return null;
  const found = together.find(({ sources }) => sources.every((source) => isLoadedWith(source, id, chunking)));
  return found?.name ?? null;
}

const bundle = await rolldown({
  cwd: root,
  input: {
    ...(isExecutable
      ? { start: 'src/cli/start.ts' }
      : Object.fromEntries(['main', 'library', ...parts].map((part) => [part, `src/${part}.ts`]))),
    'parse-worker': THREAD,
  },
  platform: 'node',
  // Resolved links would change the paths of packages.
  resolve: { symlinks: false },
  plugins: [filesOfPages, leanUndici, leanMcp, onlyUsedMembers, ...(isExecutable ? [packagesInside] : [])],
  // Use the same undici parser as Node, not the experimental one.
  transform: { target: 'node22.22', define: { esbuildDetection: 'true' } },
  preserveEntrySignatures: 'allow-extension',
  treeshake: { propertyReadSideEffects: false },
  external: (id) => outside.some((name) => id === name || id.startsWith(`${name}/`)),
});
const { output } = await bundle.write({
  dir: folder,
  cleanDir: true,
  ...(isExecutable
    ? { format: 'cjs', dynamicImportInCjs: false, entryFileNames: '[name].cjs', chunkFileNames: '[name]-[hash].cjs' }
    : // For .mjs files, Node does not search for a package.json.
      { format: 'esm', chunkFileNames: 'chunks/[name]-[hash].mjs' }),
  comments: false,
  // With other characters, Node would decode the whole file and use twice the memory.
  charset: 'ascii',
  codeSplitting: {
    groups: [{ debugName: 'together', name: chunkOf, includeDependenciesRecursively: false }],
  },
  // Classes and functions keep the names that stack traces show.
  keepNames: true,
});
if (!isExecutable) chmodSync(path.join(folder, 'main.js'), 0o755);
writeFileSync(path.join(folder, 'LICENSES.txt'), licencesOf(output));
