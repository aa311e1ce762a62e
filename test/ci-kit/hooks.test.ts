import { execFile } from 'node:child_process';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CACHES, temporaryFolder } from '../cli/voxform-process.ts';
import { agentManifest } from '../cli/workspace.ts';
import { copySources, type SourceCopy } from './source-copy.ts';
import { shipped } from './workflow.ts';

interface Hook {
  readonly id: string;
  readonly entry: string;
  readonly language: string;
  readonly files: string;
  readonly pass_filenames: boolean;
}

const hooks = shipped<readonly Hook[]>('.pre-commit-hooks.yaml');
const project = {
  'voxform.yaml': 'version: 1\nworkspaces:\n  test:\n    base_url: http://127.0.0.1:1\n    workspace_id: W1\n',
};

/** The checkout of pre-commit, without installed packages. */
let checkout: SourceCopy;
beforeAll(async () => {
  checkout = await copySources();
});
afterAll(() => checkout[Symbol.asyncDispose]());

/** Runs a hook of `language: script` like pre-commit: the entry in the hook's own checkout, started in the project. */
function run({ entry }: Hook, cwd: string, args: readonly string[] = []): Promise<number | string> {
  const [file = '', ...own] = entry.split(' ');
  return new Promise((resolve) => {
    const env = {
      PATH: [checkout.bin, path.dirname(process.execPath), process.env.PATH].join(path.delimiter),
      HOME: cwd,
      XDG_CACHE_HOME: CACHES,
    };
    execFile(path.join(checkout.root, file), [...own, ...args], { cwd, env }, (error, stdout, stderr) =>
      resolve(error === null ? 0 : `${error.code} ${stdout}${stderr}`),
    );
  });
}

describe.each(hooks)('the hook $id', (hook) => {
  it('checks the whole project', () => {
    expect(hook).toMatchObject({ language: 'script', pass_filenames: false });
    const files = new RegExp(hook.files);
    const names = ['voxform.yaml', 'voices/manifests/a.yml', 'src/a.ts', 'my-voxform.yaml'];
    expect(names.map((name) => files.test(name))).toEqual([true, true, false, false]);
  });

  it('passes a valid project, also in a subfolder, and fails an invalid one', { tags: ['long'] }, async () => {
    const good = agentManifest('day').replace('"Be kind."', 'Be kind.');
    await using folder = await temporaryFolder({ ...project, 'manifests/a.yaml': good });
    expect(await run(hook, path.dirname(folder.root), ['--chdir', folder.root])).toBe(0);
    await folder.write('manifests/a.yaml', `${good}  unknown:   1\n`);
    expect(await run(hook, folder.root)).toMatch(/^1 [\s\S]*manifests\/a\.yaml/);
  });
});
