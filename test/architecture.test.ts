import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { kinds, lookups } from '../src/kinds/index.ts';
import { workspaceCommands } from '../src/problems/workspace-command.ts';

const source = path.join(import.meta.dirname, '..', 'src');

/** Lowest layer first. A file imports from its own layer and from those below. */
const layers = [
  'problems',
  'files',
  'git',
  'values',
  'platform',
  'hosting',
  'emulator',
  'manifests',
  'state',
  'project',
  'kinds',
  'engine/plan',
  'engine/decide',
  'engine/observe',
  'engine/apply',
  'engine',
  'policies',
  'runs',
  'output',
  'operator',
  'fleet',
  'page',
  'editor',
  'library',
  'library.ts',
  'cli',
  'main.ts',
];

/** In no layer. Every file may import these. */
const freeForAll = new Set(['version.ts']);

/** All that the emulator may import from the client's side, because it must not share the client's mistakes. */
const emulatorMayImport = ['problems/', 'files/', 'values/', 'platform/records/'];

const vagueNames = ['utils', 'util', 'helpers', 'helper', 'common', 'misc', 'shared', 'manager', 'service'];
const MOST_LINES = 500;

/** The same input gives the same plan: no clock, no randomness, no file, no promise, no platform client. */
const pure = ['engine/plan/', 'engine/decide/'];

const EXPORT = /^export (?:abstract |async )?(?:function\*?|const|let|type|interface|class|enum) (\w+)/gm;

const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => file.replaceAll('\\', '/'))
  .sort();
const imports = new Map(files.map((file) => [file, importsIn(textOf(file), file)]));

/** Returns the project's own files that a file imports, including types and lazy imports. */
function importsIn(text: string, file: string): string[] {
  const found = [...text.matchAll(/(?:\bfrom\s*|\bimport\s*\(?\s*)'(\.[^']*)'/g)].map((match) =>
    path.posix.join(path.posix.dirname(file), match[1] ?? ''),
  );
  return [...new Set(found)];
}

function textOf(file: string): string {
  return readFileSync(path.join(source, file), 'utf8');
}

/** Returns the text without comments, as far as a pattern can recognize them. */
function codeOf(file: string): string {
  return textOf(file)
    .replace(/^\s*\/\*[\s\S]*?\*\//gm, '')
    .replace(/^\s*\/\/.*$/gm, '');
}

function layerOf(file: string): string {
  return layers.find((layer) => file === layer || file.startsWith(`${layer}/`)) ?? file;
}

function forbidden(file: string, imported: string): string | undefined {
  if (freeForAll.has(imported)) return undefined;
  if (imported.startsWith('..')) return 'it lies outside src';
  const [from, to] = [layerOf(file), layerOf(imported)];
  if (from === to) return undefined;
  if (from === 'emulator' && !emulatorMayImport.some((start) => imported.startsWith(start))) {
    return `the emulator may import only ${emulatorMayImport.join(', ')}`;
  }
  if (freeForAll.has(file)) return 'a file that all may import must import nothing';
  if (layers.indexOf(to) > layers.indexOf(from)) return `${to} is a layer above ${from}`;
  return to === 'emulator' && from !== 'cli' ? 'only the command line starts the emulator' : undefined;
}

describe('architecture', () => {
  it('has every file in a known layer', () => {
    const strays = files.filter((file) => !layers.includes(layerOf(file)) && !freeForAll.has(file));
    expect(strays, `known layers: ${layers.join(' < ')}`).toEqual([]);
    expect(files.length).toBeGreaterThan(100);
  });

  it('imports only downwards', () => {
    const wrong = [...imports].flatMap(([file, targets]) =>
      targets.flatMap((imported) => {
        const why = forbidden(file, imported);
        return why === undefined ? [] : [`src/${file} imports src/${imported}: ${why}`];
      }),
    );
    expect(wrong).toEqual([]);
    expect([...imports.values()].flat().length).toBeGreaterThan(300);
  });

  it('names files after their contents', () => {
    const wrong = files.filter((file) => file.split(/[/.-]/).some((word) => vagueNames.includes(word)));
    expect(wrong).toEqual([]);
    expect(files.filter((file) => !/^[a-z0-9-/]+\.ts$/.test(file))).toEqual([]);
  });

  it('exports only names that another file uses', () => {
    const root = path.join(source, '..');
    const texts = ['src', 'editors', 'test', 'scripts'].flatMap((folder) =>
      readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
        .filter((file) => file.endsWith('.ts'))
        .map((file) => ({
          file: `${folder}/${file}`,
          text: readFileSync(path.join(root, folder, file), 'utf8'),
        })),
    );
    const users = Map.groupBy(
      texts.flatMap(({ file, text }) => {
        const words = new Set(text.match(/\w+/g));
        return importsIn(text, file).map((imported) => ({ imported, words }));
      }),
      ({ imported }) => imported,
    );
    const unused = files.flatMap((file) =>
      [...textOf(file).matchAll(EXPORT)]
        .filter(([, name = '']) => !users.get(`src/${file}`)?.some(({ words }) => words.has(name)))
        .map(([, name]) => `${file}: ${name}`),
    );
    expect(unused).toEqual([]);
  });

  it('has every file that CONTRIBUTING names, and no other folder', () => {
    const text = readFileSync(path.join(source, '../CONTRIBUTING.md'), 'utf8');
    const rows = [...text.matchAll(/^\| `([^|]*\/)`(?:, `[^|]*`)? \|(.*)\|$/gm)];
    const named = rows.flatMap(([, folder = '', contents = '']) =>
      [...contents.matchAll(/`([\w/-]+(?:\.ts|\/))`/g)].map(([, name = '']) => ({ folder, name })),
    );
    const missing = named.filter(({ folder, name }) => {
      const isNamed = name.endsWith('/')
        ? (file: string) => file.startsWith(folder + name)
        : (file: string) => file.startsWith(folder) && path.posix.basename(file) === name;
      return !files.some(isNamed);
    });
    expect(missing).toEqual([]);
    expect(named.length).toBeGreaterThan(30);
    const mapped = [...rows.map(([, folder]) => folder), ...named.map(({ folder, name }) => folder + name)];
    const folders = new Set(files.map((file) => `${path.posix.dirname(file)}/`));
    expect([...folders].filter((folder) => folder !== './' && !mapped.includes(folder))).toEqual([]);
  });

  it('keeps files short enough to read at once', () => {
    const long = files
      .map((file) => ({ file, lines: textOf(file).trimEnd().split('\n').length }))
      .filter(({ lines }) => lines > MOST_LINES);
    expect(long).toEqual([]);
  });

  it('names no kind outside the kinds and the API', () => {
    const asked = new RegExp(`['"\`](?:${[...kinds.keys(), ...lookups.keys()].join('|')})['"\`/]`);
    const generic = files.filter((file) => !['kinds', 'platform', 'emulator'].includes(layerOf(file)));
    expect(generic.filter((file) => asked.test(codeOf(file)))).toEqual([
      // Examples in help and in schemas.
      'cli/commands/inspect-commands.ts',
      'manifests/value-forms.ts',
      'project/policy-schema.ts',
    ]);
    expect(asked.test(codeOf('kinds/agent.ts'))).toBe(true);
    const members = (imports.get('kinds/index.ts') ?? []).filter(
      (file) => file.startsWith('kinds/') && file !== 'kinds/kind.ts',
    );
    expect(members.length).toBeGreaterThan(4);
    const wrong = generic.filter((file) => imports.get(file)?.some((each) => members.includes(each)));
    expect(wrong).toEqual([]);
  });

  it('keeps commands of a workspace as data, which the output adapts to a fleet', () => {
    const literal = new RegExp(`(?<!commandFor\\(['\`]|\\ba )\\bvoxform (?:${workspaceCommands.join('|')})\\b`, 'g');
    const named = (folders: readonly string[]) =>
      files
        .filter((file) => folders.some((folder) => file.startsWith(`${folder}/`)))
        .flatMap((file) => [...codeOf(file).matchAll(literal)].map(([text]) => `${file}: ${text}`));
    expect(named(['engine', 'state', 'runs', 'project'])).toEqual([
      // Titles of schemas, and marks in a pull request.
      'engine/plan/plan-schema.ts: voxform plan',
      ...Array<string>(4).fill('runs/drift-request/request-mark.ts: voxform drift'),
      'runs/past-runs.ts: voxform history',
    ]);
    expect(named(['cli']).length).toBeGreaterThan(10);
  });

  it('lets the engine access the platform only through kinds', () => {
    const endpoint = /\bclient\.(?:agents|numbers|knowledgeBases|calls|users|invoices|apiKeys|collection)\b/;
    const wrong = files.filter((file) => file.startsWith('engine/') && endpoint.test(codeOf(file)));
    expect(wrong).toEqual([]);
    expect(endpoint.test(codeOf('kinds/agent.ts'))).toBe(true);
  });

  it('plans and decides without clock, randomness, files, promises or a client', () => {
    const impure =
      /\bDate\.now\b|\bnew Date\(\)|\bMath\.random\b|\brandom\w*\(|\bawait\b|\basync\b|\bPromise\b|'node:(?!crypto)|\bclient\b|\bPlatformClient\b/;
    const deciding = files.filter((file) => pure.some((folder) => file.startsWith(folder)));
    expect(deciding.filter((file) => impure.test(codeOf(file)))).toEqual([]);
    expect(impure.test(codeOf('engine/apply/write.ts'))).toBe(true);
    expect(deciding.length).toBeGreaterThan(20);
  });

  it('reads project files through one file only, which records all inputs of a load', () => {
    const reads = /'node:fs(?:\/promises)?'|\bprocess\.getBuiltinModule\('(?:node:)?fs/;
    const others = files.filter((file) => ['manifests', 'project'].includes(layerOf(file)) && reads.test(codeOf(file)));
    expect(others.filter((file) => !file.includes('/write-back/'))).toEqual([
      // The cached result of a text depends only on the text.
      'manifests/parse-cache.ts',
      // Reads from an open file.
      'manifests/read-file.ts',
      // The environment is an input of the load.
      'project/env-file.ts',
    ]);
    const looks = /\b(?:open|readFile|stat|lstat|realpath|readlink|readdir|exists|access)Sync\b|\bfs\./;
    for (const file of ['manifests/find-files.ts', 'manifests/read-file.ts'])
      expect(codeOf(file).match(looks)?.[0]).toBeUndefined();
  });

  it('reads the command line and the environment, prints and exits only in the layer of the command line', () => {
    const word = /\bprocess\.(?:argv|env|exit|exitCode|stdout|stderr|stdin|on|once)\b|\bconsole\./;
    const wrong = files.filter((file) => !['cli', 'main.ts'].includes(layerOf(file)) && word.test(codeOf(file)));
    // Hides the environment from the parser, and reads nothing in it.
    expect(wrong).toEqual(['manifests/parse-documents.ts']);
    expect(files.some((file) => word.test(codeOf(file)))).toBe(true);
  });
});
