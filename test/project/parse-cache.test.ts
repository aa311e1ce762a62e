import fs, { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Lexer } from 'yaml';
import { kinds, lookups } from '../../src/kinds/index.ts';
import { loadDesired } from '../../src/project/load-desired.ts';
import { loadProject } from '../../src/project/load-project.ts';
import type { Desired } from '../../src/project/project.ts';
import { selectWorkspace } from '../../src/project/select-workspace.ts';
import { PLAIN_PROJECT, TemporaryProject } from './temporary-project.ts';

async function load(root: string, mayCache: boolean): Promise<Desired> {
  const project = await loadProject({ cwd: root, env: {}, mayCache });
  const workspace = selectWorkspace(project, { name: undefined, env: {}, requireKey: false });
  return loadDesired({ project, workspace, kinds, lookups, env: {}, mode: 'offline' });
}

interface Counts {
  /** Manifests that were opened, by how often. */
  readonly opened: ReadonlyMap<string, number>;
  readonly parsed: readonly string[];
}

/** What a load with the cache opens and parses, the project file aside. */
async function counted(root: string): Promise<Counts> {
  const opened = new Map<string, number>();
  const parsed: string[] = [];
  const { openSync } = fs;
  const { lex } = Lexer.prototype;
  vi.spyOn(fs, 'openSync').mockImplementation((file, ...more) => {
    const name = path.relative(root, String(file));
    if (name.startsWith('manifests')) opened.set(name, (opened.get(name) ?? 0) + 1);
    return openSync(file, ...more);
  });
  vi.spyOn(Lexer.prototype, 'lex').mockImplementation(function* (this: Lexer, text, incomplete) {
    if (text !== PLAIN_PROJECT) parsed.push(text);
    yield* lex.call(this, text, incomplete);
  });
  syncBuiltinESMExports();
  await load(root, true);
  restore();
  return { opened, parsed };
}

function restore(): void {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
}

const agent = (name: string, prompt: string): string =>
  `apiVersion: voxform/v1\nkind: Agent\nmetadata: { name: ${name} }\nspec:\n  prompt_config: { prompt: ${prompt} }\n`;

const NAMES = ['a', 'b', 'c', 'd', 'e'];

describe('loading a project with the cache', () => {
  afterEach(restore);

  it('opens each file once, and parses each text once for as long as it is the same', async () => {
    using project = new TemporaryProject(
      Object.fromEntries(NAMES.map((name) => [`manifests/${name}.yaml`, agent(name, 'Hi.')])),
    );
    const { root } = project;
    const cache = path.join(root, '.voxform', 'cache', 'manifests.jsonl');
    const once = new Map(NAMES.map((name) => [`manifests/${name}.yaml`, 1]));

    const cold = await counted(root);
    expect(cold.opened).toEqual(once);
    expect(cold.parsed).toEqual(NAMES.map((name) => agent(name, 'Hi.')));
    const written = statSync(cache, { bigint: true });

    expect(await counted(root)).toEqual({ opened: once, parsed: [] });
    expect(statSync(cache, { bigint: true })).toMatchObject({ ino: written.ino, mtimeNs: written.mtimeNs });

    project.write({ 'manifests/c.yaml': agent('c', 'Hello.') });
    expect(await counted(root)).toEqual({ opened: once, parsed: [agent('c', 'Hello.')] });
    expect(await counted(root)).toEqual({ opened: once, parsed: [] });

    project.write({ 'manifests/c.yaml': agent('c', 'Hi.') });
    expect((await counted(root)).parsed).toEqual([]);
  });

  it('parses again only what a diagnostic needs a position in', async () => {
    using project = new TemporaryProject({
      'manifests/a.yaml': agent('a', 'Hi.'),
      'manifests/b.yaml': agent('b', '7'),
    });
    await counted(project.root);
    expect((await counted(project.root)).parsed).toEqual([agent('b', '7')]);
  });

  it('writes nothing without being told that it may', async () => {
    using project = new TemporaryProject({ 'manifests/a.yaml': agent('a', 'Hi.') });
    await load(project.root, false);
    expect(readdirSync(project.root).sort()).toEqual(['manifests', 'voxform.yaml']);
  });

  it('declares the same, and finds the same wrong, as without it and with a mangled one', async () => {
    const name = fc.constantFrom('a', 'b', 'c', 'A', '""');
    const value = fc.constantFrom(
      '"x"',
      '-0',
      '0.1',
      '1e400',
      '.nan',
      '{ $ref: Agent/a }',
      '{ $secret: KEY }',
      '{ $literal: { $a: 1 } }',
      '&t [x, y]',
      '*t',
      '{ __proto__: 1 }',
      '{ a: 1, a: 2 }',
      '|\n    line\n    # no comment\n\n    é',
    );
    const field = fc.constantFrom(
      'name',
      'call_config',
      'llm_config',
      'prompt_config',
      'tools',
      '<<',
      '__proto__',
    );
    const document = fc
      .tuple(name, fc.array(fc.tuple(field, value), { maxLength: 3 }))
      .map(([own, fields]) => {
        const lines = fields.map(([key, text]) => `  ${key}: ${text} # why`);
        return `apiVersion: voxform/v1\nkind: Agent\nmetadata: { name: ${own} }\nspec:\n${lines.join('\n')}\n`;
      });
    const file = fc.array(document, { maxLength: 3 }).map((documents) => documents.join('---\n'));
    const files = fc.dictionary(fc.constantFrom('p.yaml', 'q.yaml', 'r.yml'), file);
    await fc.assert(
      fc.asyncProperty(files, fc.nat(), fc.integer({ min: 1, max: 255 }), async (texts, at, bits) => {
        using project = new TemporaryProject(
          Object.fromEntries(Object.entries(texts).map(([at, text]) => [`manifests/${at}`, text])),
        );
        const { root } = project;
        const without = await load(root, false);
        expect(await load(root, true)).toEqual(without);
        expect(await load(root, true)).toEqual(without);
        mangle(path.join(root, '.voxform', 'cache', 'manifests.jsonl'), at, bits);
        expect(await load(root, true)).toEqual(without);
      }),
      { numRuns: 40 },
    );
  });
});

/** Changes a byte, or where the number is large cuts the file off there. */
function mangle(file: string, at: number, bits: number): void {
  if (!fs.existsSync(file)) return;
  const bytes = readFileSync(file);
  const index = at % bytes.length;
  bytes[index] = (bytes[index] ?? 0) ^ bits;
  if (bits === 255) rmSync(file);
  writeFileSync(file, bits < 128 ? bytes : bytes.subarray(0, index));
}
