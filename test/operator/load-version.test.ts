import {
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DocumentMemory } from '../../src/manifests/parse-cache.ts';
import type { ParsedFile } from '../../src/manifests/parse-documents.ts';
import { LastLoad } from '../../src/operator/last-load.ts';
import { loadVersion } from '../../src/operator/load-version.ts';
import { attempt } from '../../src/problems/attempt.ts';
import { Secret } from '../../src/values/value.ts';
import { manifest, PLAIN_PROJECT, TemporaryProject } from '../project/temporary-project.ts';
import { testContext } from './test-context.ts';

/** Counts the documents that are parsed. */
class Counted extends DocumentMemory {
  parsed = 0;

  override set(key: string, file: ParsedFile): void {
    this.parsed += 1;
    super.set(key, file);
  }
}

const agent = (name: string, prompt: string): string => manifest('Agent', name, `prompt_config: { prompt: ${prompt} }`);

const load = (root: string, last: LastLoad) =>
  loadVersion(testContext(root, { env: {} }), {
    version: { folder: root, commit: undefined },
    local: undefined,
    last,
  });

/** Returns the result of a load as JSON, with revealed secrets. */
async function found(root: string, last: LastLoad): Promise<unknown> {
  const result = await load(root, last);
  function plain(this: Readonly<Record<string, unknown>>, key: string, value: unknown): unknown {
    const own = this[key];
    return own instanceof Secret ? own.reveal() : value;
  }
  if (!('loaded' in result)) return JSON.stringify(result, plain);
  const { opened, resources, warnings } = result.loaded;
  return JSON.stringify([opened.workspace, resources, warnings, result.inputs], plain);
}

it('reads no more values than a fleet allows, and reports only that', async () => {
  using project = new TemporaryProject({
    'voxform.yaml': PROJECT.replace('workspace_id:', 'skip: [Agent/c]\n    workspace_id:'),
    'secrets/PLATFORM_KEY': 'key-of-the-platform',
    'manifests/a.yaml': agent('a', 'one'),
    'manifests/b.yaml': manifest('Agent', 'b', `llm_config: { tools: [[${'1, '.repeat(20)}]] }`),
    'manifests/c.yaml': agent('c', 'one'),
  });
  const outcome = async (maxValues: number) => {
    const documents = new Counted();
    const result = await loadVersion(testContext(project.root, { env: {} }), {
      version: { folder: project.root, commit: undefined },
      local: { root: project.root, allowed: [], maxValues },
      last: new LastLoad({ documents }),
    });
    const problems = 'invalid' in result ? result.invalid.diagnostics : [];
    const errors = problems.filter(({ severity }) => severity === 'error').map(({ code }) => code);
    return { errors, parsed: documents.parsed };
  };
  expect(await outcome(20)).toEqual({ errors: ['too-many-values'], parsed: 2 });
  expect((await outcome(1000)).parsed).toBe(3);
});

it('evaluates no more characters than a fleet allows, and counts a file for each resource that contains it', async () => {
  using project = new TemporaryProject({
    'voxform.yaml': `${PROJECT}\ndefaults: { Agent: { llm_config: { tools: [{ ${'key'.repeat(100)}: 1 }] } } }\n`,
    'secrets/PLATFORM_KEY': 'key-of-the-platform',
    'manifests/a.yaml': ['a', 'b', 'c'].map((name) => agent(name, '{ $file: long.md }')).join('---\n'),
    'manifests/long.md': 'x'.repeat(1000),
  });
  const errors = async (maxCharacters: number) => {
    const result = await loadVersion(testContext(project.root, { env: {} }), {
      version: { folder: project.root, commit: undefined },
      local: { root: project.root, allowed: [], maxCharacters },
      last: new LastLoad(),
    });
    return 'invalid' in result ? result.invalid.diagnostics.map(({ code }) => code) : [];
  };
  expect(await errors(3500)).toEqual(['too-many-characters']);
  expect(await errors(4500)).toEqual([]);
});

describe('repeated load', () => {
  it('parses only changed files, and still finds errors in the others', async () => {
    using project = new TemporaryProject({
      'voxform.yaml': PROJECT,
      'secrets/PLATFORM_KEY': 'key-of-the-platform',
      'manifests/a.yaml': agent('a', 'one'),
      'manifests/b.yaml': agent('b', 'one'),
      'manifests/c.yaml': agent('c', '{ $file: c.md }'),
      'manifests/c.md': 'one',
    });
    const memory = new Counted();
    const last = new LastLoad({ documents: memory });
    const parsed = async () => {
      memory.parsed = 0;
      const result = await load(project.root, last);
      const prompts =
        'loaded' in result
          ? result.loaded.resources.map(({ spec }) => (spec.prompt_config as { prompt: unknown }).prompt)
          : result.invalid.diagnostics.map(({ message }) => message);
      return [memory.parsed, ...prompts];
    };
    expect(await parsed()).toEqual([3, 'one', 'one', 'one']);
    expect(await parsed()).toEqual([0, 'one', 'one', 'one']);
    project.write({ 'manifests/b.yaml': agent('b', 'two'), 'manifests/c.md': 'two' });
    expect(await parsed()).toEqual([1, 'one', 'two', 'two']);
    project.write({ 'manifests/b.yaml': agent('a', 'two') });
    expect(await parsed()).toEqual([1, expect.stringContaining('Agent/a')]);
    expect(await parsed()).toEqual([0, expect.stringContaining('Agent/a')]);
  });

  it('returns the previous result only if no file changed recently', async () => {
    using project = new TemporaryProject(FILES);
    using _ = prepare(project);
    const [settled, fresh] = [new LastLoad({ now: later }), new LastLoad()];
    const resources = async (last: LastLoad) => {
      const result = await load(project.root, last);
      return 'loaded' in result ? result.loaded.resources : undefined;
    };
    expect(await resources(settled)).toHaveLength(3);
    expect(await resources(settled)).toBe(await resources(settled));
    expect(await resources(fresh)).not.toBe(await resources(fresh));
  });

  it('finds every change in a sequence of edits', { tags: ['long'] }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom(...Object.keys(EDITS)), { maxLength: 8 }), async (edits) => {
        using project = new TemporaryProject(FILES);
        using _ = prepare(project);
        const last = new LastLoad({ now: later });
        expect(await found(project.root, last)).toContain('first-secret');
        for (const [index, edit] of edits.entries()) {
          tick(project.root);
          // An edit of a file that an earlier edit removed does nothing.
          attempt(() => EDITS[edit]?.(project.root, index));
          const expected = await found(project.root, new LastLoad());
          expect(await found(project.root, last), edit).toBe(expected);
          expect(await found(project.root, last), edit).toBe(expected);
        }
      }),
      { numRuns: 60 },
    );
  });

  it.each(Object.keys(EDITS))('finds a single change: %s', async (edit) => {
    using project = new TemporaryProject(FILES);
    using _ = prepare(project);
    const last = new LastLoad({ now: later });
    const before = await found(project.root, last);
    tick(project.root);
    EDITS[edit]?.(project.root, 0);
    const after = await found(project.root, last);
    expect(after).toBe(await found(project.root, new LastLoad()));
    expect(after).not.toBe(before);
  });
});

/** A clock ahead of the files, so that none of them counts as recently changed. */
const later = (): number => Date.now() + 60_000;

const PROJECT = PLAIN_PROJECT.replace('workspaces:\n  test:', 'workspaces:\n  test:\n    secrets_dir: secrets');

const FILES = {
  'voxform.yaml': PROJECT,
  'manifests/a.yaml': agent('a', 'one'),
  'manifests/b.yaml': agent('b', '{ $file: texts/b.md }'),
  'manifests/texts/b.md': 'one',
  'shared/c.yaml': agent('c', 'one'),
  'secrets/..1/PLATFORM_KEY': 'first-secret',
  'secrets/..2/PLATFORM_KEY': 'other-secret',
};

/** Creates secrets as Kubernetes mounts them, and a link to a folder. */
function prepare({ root }: TemporaryProject): Disposable {
  symlinkSync('..1', path.join(root, 'secrets/..data'));
  symlinkSync('..data/PLATFORM_KEY', path.join(root, 'secrets/PLATFORM_KEY'));
  symlinkSync('../shared', path.join(root, 'manifests/linked'));
  return { [Symbol.dispose]: () => rmSync(`${root}-outside`, { recursive: true, force: true }) };
}

/** Waits until the file system's clock has advanced, so that the next change gets a new timestamp. */
function tick(root: string): void {
  const probe = path.join(root, 'probe');
  writeFileSync(probe, '');
  const { ctimeNs } = statSync(probe, { bigint: true });
  while (statSync(probe, { bigint: true }).ctimeNs === ctimeNs) writeFileSync(probe, 'x');
}

type Edit = (root: string, index: number) => void;

const EDITS: Readonly<Record<string, Edit>> = {
  content: (root, index) => writeFileSync(path.join(root, 'manifests/a.yaml'), agent('a', `other${index}`)),
  'same size and time': (root) => {
    const file = path.join(root, 'manifests/texts/b.md');
    const { atime, mtime } = statSync(file);
    writeFileSync(file, readFileSync(file, 'utf8') === 'one' ? 'two' : 'one');
    utimesSync(file, atime, mtime);
  },
  'renamed over': (root, index) => {
    writeFileSync(path.join(root, 'draft'), agent('a', `renamed${index}`));
    renameSync(path.join(root, 'draft'), path.join(root, 'manifests/a.yaml'));
  },
  deleted: (root) => rmSync(path.join(root, 'shared/c.yaml'), { force: true }),
  added: (root, index) =>
    writeFileSync(path.join(root, `manifests/added-${index}.yaml`), agent(`added-${index}`, 'one')),
  'added behind a link': (root, index) =>
    writeFileSync(path.join(root, `shared/more-${index}.yaml`), agent(`more-${index}`, 'one')),
  'secret replaced by a rename': (root) => {
    writeFileSync(path.join(root, 'secrets/PLATFORM_KEY.new'), 'third-secret');
    renameSync(path.join(root, 'secrets/PLATFORM_KEY.new'), path.join(root, 'secrets/PLATFORM_KEY'));
  },
  'link that points elsewhere': (root, index) => {
    const target = `shared-${index}`;
    mkdirSync(path.join(root, target));
    writeFileSync(path.join(root, target, 'd.yaml'), agent('d', 'one'));
    rmSync(path.join(root, 'manifests/linked'), { force: true });
    symlinkSync(`../${target}`, path.join(root, 'manifests/linked'));
  },
  'folder replaced by a link to it': (root) => {
    // The inode, size and times stay the same, but the path now goes through a folder outside the project.
    const outside = `${root}-outside`;
    rmSync(outside, { recursive: true, force: true });
    renameSync(path.join(root, 'manifests/texts'), outside);
    symlinkSync(outside, path.join(root, 'manifests/texts'));
  },
  'secret rotated': (root) => {
    const data = path.join(root, 'secrets/..data');
    const next = readFileSync(path.join(data, 'PLATFORM_KEY'), 'utf8') === 'first-secret' ? '..2' : '..1';
    symlinkSync(next, `${data}_tmp`);
    renameSync(`${data}_tmp`, data);
  },
  'secret gone': (root) => rmSync(path.join(root, 'secrets/..data'), { force: true }),
  'project file': (root, index) =>
    writeFileSync(path.join(root, 'voxform.yaml'), PROJECT.replace('01JWORKSPACE', `01JOTHER${index}`)),
  'second project file': (root) => writeFileSync(path.join(root, 'voxform.yml'), PROJECT),
  'other name of a file': (root, index) => {
    rmSync(path.join(root, 'manifests/a.yaml'), { force: true });
    writeFileSync(path.join(root, 'draft'), agent('e', 'one'));
    linkSync(path.join(root, 'draft'), path.join(root, `manifests/linked-${index}.yaml`));
    rmSync(path.join(root, 'draft'));
  },
};
