import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { command } from '../trust/in-process.ts';
import { type Folder, temporaryFolder } from './voxform-process.ts';

const VOXFORM = `version: 1
workspaces:
  test:
    base_url: https://platform.example.com
    workspace_id: "01TEST"
`;

const TIDY = `# one
apiVersion: voxform/v1
kind: Agent
metadata: { name: a }
spec:
  name: A # the name
`;
const UNTIDY = `# one
kind: Agent
apiVersion: voxform/v1
spec:
    name: A # the name
metadata: { name: a }
`;
const BROKEN = 'apiVersion: voxform/v1\nkind: [Agent\nspec: {}\n';

const run = (folder: Folder, ...args: string[]) => command(['fmt', ...args], { cwd: folder.root });
const read = (folder: Folder, name: string): Promise<string> => readFile(path.join(folder.root, name), 'utf8');

describe('fmt', () => {
  it('formats the manifests and the project file, and then finds no changes', async () => {
    await using folder = await temporaryFolder({
      'voxform.yaml': VOXFORM.replace('version: 1\n', '').concat('version: 1\n'),
      'manifests/a.yaml': UNTIDY,
      'manifests/b.yaml': TIDY.replace('name: a', 'name: b'),
      'manifests/c.json': `\ufeff{"kind":"Agent","apiVersion":"voxform/v1","spec":{},"metadata":{"name":"c"}}\r\n`,
      'notes.yaml': UNTIDY,
    });
    const check = await run(folder, '--check');
    expect(check).toMatchObject({ code: 1, stdout: 'voxform.yaml\nmanifests/a.yaml\nmanifests/c.json\n' });
    expect(await read(folder, 'manifests/a.yaml')).toBe(UNTIDY);

    const diff = await run(folder, '--diff');
    expect(diff.code).toBe(0);
    expect(diff.stdout).toContain('--- a/manifests/a.yaml\n+++ b/manifests/a.yaml\n@@ -1,6 +1,6 @@\n # one\n');
    expect(await read(folder, 'manifests/a.yaml')).toBe(UNTIDY);

    expect(await run(folder)).toMatchObject({ code: 0, stdout: check.stdout });
    expect(await read(folder, 'manifests/a.yaml')).toBe(TIDY);
    expect(await read(folder, 'voxform.yaml')).toBe(VOXFORM);
    expect(await read(folder, 'manifests/c.json')).toMatch(/^\ufeff\{\r\n {2}"apiVersion": "voxform\/v1",\r\n/);
    expect(await read(folder, 'notes.yaml')).toBe(UNTIDY);
    expect(await run(folder, '--check')).toMatchObject({ code: 0, stdout: '' });
  });

  it('reports an invalid file, leaves it unchanged and formats the others', async () => {
    await using folder = await temporaryFolder({
      'voxform.yaml': VOXFORM,
      'manifests/a.yaml': UNTIDY,
      'manifests/broken.yaml': BROKEN,
    });
    const { code, stdout, stderr } = await run(folder);
    expect({ code, stdout }).toEqual({ code: 1, stdout: 'manifests/a.yaml\n' });
    expect(stderr).toMatch(/manifests\/broken\.yaml:\d+:\d+ /);
    expect((await run(folder)).stderr).toContain('3 files checked: 1 cannot be formatted.');
    expect(await read(folder, 'manifests/a.yaml')).toBe(TIDY);
    expect(await read(folder, 'manifests/broken.yaml')).toBe(BROKEN);
  });

  it('reports no file as changed if one of them cannot be written', async () => {
    // The name has the maximum length, so the temporary file cannot have a longer one.
    const long = `${'n'.repeat(250)}.yaml`;
    await using folder = await temporaryFolder({ 'a.yaml': UNTIDY, [long]: UNTIDY });
    const { code, stdout, stderr } = await run(folder, '.');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr.replaceAll(/\s+/g, ' ')).toContain('its name is too long; nothing was written');
    expect(await read(folder, 'a.yaml')).toBe(UNTIDY);
  });

  it('formats the named files and folders, only inside the project folder', async () => {
    await using folder = await temporaryFolder({ 'x/a.yaml': UNTIDY, 'y.yaml': UNTIDY, 'z.yaml': UNTIDY });
    expect(await run(folder, 'x', 'y.yaml')).toMatchObject({ code: 0, stdout: 'x/a.yaml\ny.yaml\n' });
    expect(await read(folder, 'z.yaml')).toBe(UNTIDY);
    const outside = await command(['fmt', '../z.yaml', '-C', 'x'], { cwd: folder.root });
    expect(outside.code).toBe(1);
    expect(outside.stderr).toContain('is outside the project folder');
    await writeFile(path.join(folder.root, 'prompt.md'), '# Greeting\n\n\n\n- Say hello.\n');
    const prompt = await run(folder, 'z.yaml', 'prompt.md');
    expect(prompt).toMatchObject({ code: 1, stdout: '' });
    expect(prompt.stderr).toContain('prompt.md is not a YAML or JSON file');
    expect(await read(folder, 'prompt.md')).toContain('\n\n\n\n');
    expect((await run(folder, 'none.yaml')).stderr.replaceAll(/\s+/g, ' ')).toContain('no such file');
  });
});
