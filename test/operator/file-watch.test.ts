import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { WatchedFiles } from '../../src/operator/file-watch.ts';
import { LastLoad } from '../../src/operator/last-load.ts';
import { loadVersion } from '../../src/operator/load-version.ts';
import { PLAIN_PROJECT, TemporaryProject } from '../project/temporary-project.ts';
import { testContext } from './test-context.ts';

const agent = (prompt: string): string =>
  `apiVersion: voxform/v1\nkind: Agent\nmetadata: { name: a }\nspec:\n  prompt_config: { prompt: ${prompt} }\n`;

/** Updates a volume as kubelet does: writes a new data folder, and moves one link to it. */
function swapData(folder: string, name: string, files: Readonly<Record<string, string>>): void {
  mkdirSync(path.join(folder, `..${name}`), { recursive: true });
  for (const [file, text] of Object.entries(files)) {
    writeFileSync(path.join(folder, `..${name}`, file), text);
    try {
      symlinkSync(`..data/${file}`, path.join(folder, file));
    } catch {
      // The link exists since the first write.
    }
  }
  symlinkSync(`..${name}`, path.join(folder, '..tmp'));
  renameSync(path.join(folder, '..tmp'), path.join(folder, '..data'));
}

function replace(file: string, text: string): void {
  writeFileSync(`${file}.tmp~`, text);
  renameSync(`${file}.tmp~`, file);
}

interface Case {
  readonly reason: string;
  readonly files?: Readonly<Record<string, string>>;
  setUp?(root: string): void;
  /** The watched folder, relative to the root. The root itself if absent. */
  readonly folder?: string;
  /** Changes made one after the other. The watch must notice each. */
  readonly changes: readonly ((root: string) => void)[];
}

const cases: readonly Case[] = [
  {
    reason: 'a file that is written in place, added and removed',
    changes: [
      (root) => writeFileSync(path.join(root, 'manifests/a.yaml'), agent('two')),
      (root) => writeFileSync(path.join(root, 'manifests/b.json'), '{}'),
      (root) => rmSync(path.join(root, 'manifests/b.json')),
    ],
  },
  {
    reason: 'an editor that writes by rename, each time',
    changes: ['two', 'three'].map((text) => (root) => replace(path.join(root, 'manifests/a.yaml'), agent(text))),
  },
  {
    reason: 'the project file',
    changes: [PLAIN_PROJECT, `${PLAIN_PROJECT}# again\n`].map(
      (text) => (root) => replace(path.join(root, 'voxform.yaml'), text),
    ),
  },
  {
    reason: 'a prompt file of a manifest',
    files: { 'manifests/a.yaml': agent('{ $file: ../prompts/p.md }'), 'prompts/p.md': 'one' },
    changes: [
      (root) => writeFileSync(path.join(root, 'prompts/p.md'), 'two'),
      (root) => replace(path.join(root, 'prompts/p.md'), 'three'),
    ],
  },
  {
    reason: 'a prompt file that was missing',
    files: { 'manifests/a.yaml': agent('{ $file: ../prompts/p.md }') },
    changes: [
      (root) => mkdirSync(path.join(root, 'prompts')),
      (root) => writeFileSync(path.join(root, 'prompts/p.md'), 'one'),
    ],
  },
  {
    reason: 'secrets in a mounted volume',
    files: { 'voxform.yaml': `${PLAIN_PROJECT}    secrets_dir: secrets\n` },
    setUp: (root) => swapData(path.join(root, 'secrets'), '1', { PLATFORM_KEY: 'one' }),
    changes: ['2', '3'].map((name) => (root) => {
      swapData(path.join(root, 'secrets'), name, { PLATFORM_KEY: name });
    }),
  },
  {
    reason: 'manifests in a mounted volume that removes its old data',
    setUp: (root) => {
      rmSync(path.join(root, 'manifests'), { recursive: true });
      swapData(path.join(root, 'manifests'), '1', { 'a.yaml': agent('one') });
    },
    changes: [2, 3, 4].map((number) => (root) => {
      swapData(path.join(root, 'manifests'), String(number), { 'a.yaml': agent(`n${number}`) });
      rmSync(path.join(root, `manifests/..${number - 1}`), { recursive: true });
    }),
  },
  {
    reason: 'a whole project in a mounted volume, with folders',
    setUp: (root) => {
      mkdirSync(path.join(root, 'mount/..1/manifests'), { recursive: true });
      writeFileSync(path.join(root, 'mount/..1/manifests/a.yaml'), agent('one'));
      symlinkSync('..data/manifests', path.join(root, 'mount/manifests'));
      swapData(path.join(root, 'mount'), '1', { 'voxform.yaml': PLAIN_PROJECT });
    },
    folder: 'mount',
    changes: ['2', '3'].map((name) => (root) => {
      mkdirSync(path.join(root, `mount/..${name}/manifests`), { recursive: true });
      writeFileSync(path.join(root, `mount/..${name}/manifests/a.yaml`), agent(`n${name}`));
      swapData(path.join(root, 'mount'), name, { 'voxform.yaml': PLAIN_PROJECT });
    }),
  },
  {
    reason: 'a checkout behind a link that is moved',
    setUp: (root) => {
      for (const name of ['v1', 'v2', 'v3']) {
        mkdirSync(path.join(root, name, 'manifests'), { recursive: true });
        writeFileSync(path.join(root, name, 'voxform.yaml'), PLAIN_PROJECT);
      }
      symlinkSync('v1', path.join(root, 'current'));
    },
    folder: 'current',
    changes: ['v2', 'v3'].map((name) => (root) => {
      symlinkSync(name, path.join(root, 'next'));
      renameSync(path.join(root, 'next'), path.join(root, 'current'));
    }),
  },
  {
    reason: 'a folder of manifests that is replaced, and later writes in the new folder',
    changes: [
      (root) => {
        mkdirSync(path.join(root, 'new'));
        renameSync(path.join(root, 'manifests'), path.join(root, 'old'));
        renameSync(path.join(root, 'new'), path.join(root, 'manifests'));
      },
      (root) => writeFileSync(path.join(root, 'manifests/a.yaml'), agent('two')),
    ],
  },
  {
    reason: 'a subfolder that is replaced',
    files: { 'manifests/team/b.yaml': '' },
    changes: [
      (root) => {
        mkdirSync(path.join(root, 'new'));
        renameSync(path.join(root, 'manifests/team'), path.join(root, 'old'));
        renameSync(path.join(root, 'new'), path.join(root, 'manifests/team'));
      },
      (root) => writeFileSync(path.join(root, 'manifests/team/b.yaml'), agent('two')),
    ],
  },
  {
    reason: 'manifests that are missing for a while',
    changes: [
      (root) => renameSync(path.join(root, 'manifests'), path.join(root, 'away')),
      (root) => renameSync(path.join(root, 'away'), path.join(root, 'manifests')),
      (root) => writeFileSync(path.join(root, 'manifests/a.yaml'), agent('two')),
    ],
  },
];

describe('file watch', () => {
  it.concurrent.each(cases)('notices changes: $reason', async ({ files = {}, setUp, folder = '', changes }) => {
    using project = new TemporaryProject({ 'manifests/a.yaml': agent('one'), ...files });
    setUp?.(project.root);
    const root = path.join(project.root, folder);
    let noticed = Promise.withResolvers<void>();
    const errors: unknown[] = [];
    const watch = new WatchedFiles({
      folder: root,
      changed: () => noticed.resolve(),
      onError: (error) => errors.push(error),
    });
    const arm = async (): Promise<number> => {
      for (let times = 0; ; times++) {
        const version = { folder: root, commit: undefined };
        const { inputs } = await loadVersion(testContext(root), { version, local: undefined, last: new LastLoad() });
        if (!(await watch.watch(inputs))) return times;
      }
    };
    await arm();
    for (const change of changes) {
      noticed = Promise.withResolvers();
      change(project.root);
      await noticed.promise;
      await arm();
    }
    expect(errors).toEqual([]);
    await watch.close();
  });
});
