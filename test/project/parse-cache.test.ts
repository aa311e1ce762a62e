import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { kinds, lookups } from '../../src/kinds/index.ts';
import { type DocumentCache, documentKey } from '../../src/manifests/parse-cache.ts';
import { loadDesired } from '../../src/project/load-desired.ts';
import { loadProject } from '../../src/project/load-project.ts';
import { selectWorkspace } from '../../src/project/select-workspace.ts';
import { TemporaryProject } from './temporary-project.ts';

/** Loads the project with a cache, if there is a folder for it. Also returns how many texts were parsed. */
async function load(root: string, cacheFolder: string | undefined) {
  const project = await loadProject({ cwd: root, env: {}, cacheFolder });
  const workspace = selectWorkspace(project, { name: undefined, env: {} });
  const parsed: string[] = [];
  const { documents } = project;
  const counting: DocumentCache | undefined = documents && {
    get: (key) => documents.get(key),
    set: (key, file) => {
      parsed.push(key);
      documents.set(key, file);
    },
    endRound: () => documents.endRound(),
  };
  const options = { workspace, kinds, lookups, env: {}, mode: 'offline' } as const;
  const desired = await loadDesired({ ...options, project: { ...project, documents: counting } });
  return { desired, parsed };
}

const agent = (name: string, prompt: string): string =>
  `apiVersion: voxform/v1\nkind: Agent\nmetadata: { name: ${name} }\nspec:\n  prompt_config: { prompt: ${prompt} }\n`;

const NAMES = ['a', 'b', 'c', 'd', 'e'];

describe('load of a project with the cache', () => {
  it('parses each text once while it is unchanged, and stores only new ones', async () => {
    using project = new TemporaryProject(
      Object.fromEntries(NAMES.map((name) => [`manifests/${name}.yaml`, agent(name, 'Hi.')])),
    );
    const { root } = project;
    const caches = path.join(root, 'caches');
    const parsed = async () => (await load(root, caches)).parsed;

    expect(await parsed()).toEqual(NAMES.map((name) => documentKey(agent(name, 'Hi.'))));
    const { ino } = statSync(cacheIn(caches));
    expect(await parsed()).toEqual([]);
    expect(statSync(cacheIn(caches)).ino).toBe(ino);

    project.write({ 'manifests/c.yaml': agent('c', 'Hello.') });
    expect(await parsed()).toEqual([documentKey(agent('c', 'Hello.'))]);
    expect(await parsed()).toEqual([]);

    project.write({ 'manifests/c.yaml': agent('c', 'Hi.') });
    expect(await parsed()).toEqual([]);
  });

  it('stores nothing unless enabled', async () => {
    using project = new TemporaryProject({ 'manifests/a.yaml': agent('a', 'Hi.') });
    await load(project.root, undefined);
    expect(readdirSync(project.root).sort()).toEqual(['manifests', 'voxform.yaml']);
  });

  it('gives the same resources and problems as without it, even if it is corrupt', {
    tags: ['long'],
  }, async () => {
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
    const field = fc.constantFrom('name', 'call_config', 'llm_config', 'prompt_config', 'tools', '<<', '__proto__');
    const document = fc.tuple(name, fc.array(fc.tuple(field, value), { maxLength: 3 })).map(([own, fields]) => {
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
        const caches = path.join(root, 'caches');
        const { desired } = await load(root, undefined);
        expect((await load(root, caches)).desired).toEqual(desired);
        expect((await load(root, caches)).desired).toEqual(desired);
        mangle(cacheIn(caches), at, bits);
        expect((await load(root, caches)).desired).toEqual(desired);
      }),
      { numRuns: 40 },
    );
  });
});

/** Returns the cache file of the manifests. The project file has a separate one. */
function cacheIn(caches: string): string {
  const folder = path.join(caches, 'manifests');
  const names = existsSync(folder) ? readdirSync(folder) : [];
  const hasManifests = (name: string) => readFileSync(path.join(folder, name), 'utf8').includes('apiVersion');
  return path.join(folder, names.find(hasManifests) ?? 'none');
}

/** Changes a byte, or truncates the file there if the number is large. */
function mangle(file: string, at: number, bits: number): void {
  if (!existsSync(file)) return;
  const bytes = readFileSync(file);
  const index = at % bytes.length;
  bytes[index] = (bytes[index] ?? 0) ^ bits;
  if (bits === 255) rmSync(file);
  writeFileSync(file, bits < 128 ? bytes : bytes.subarray(0, index));
}
