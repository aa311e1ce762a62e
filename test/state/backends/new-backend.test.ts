import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { type Emulator, startEmulator } from '../../../src/emulator/start-emulator.ts';

const REPOSITORY = path.join(import.meta.dirname, '../../..');

const AGENT = 'apiVersion: voxform/v1\nkind: Agent\nmetadata: { name: line }\nspec: { name: Line }\n';

function projectFile({ url, workspaceId }: Emulator): string {
  return `version: 1
workspaces:
  test:
    base_url: ${url}
    workspace_id: ${workspaceId}
    api_key: { $secret: API_KEY }
    state: { backend: memory, name: shared }
`;
}

/** A copy of the source, with nothing changed but the new file and its line in the index. */
function copyWithMemory(): string {
  const copy = mkdtempSync(path.join(tmpdir(), 'voxform-source-'));
  onTestFinished(() => rmSync(copy, { recursive: true, force: true }));
  cpSync(path.join(REPOSITORY, 'src'), path.join(copy, 'src'), { recursive: true });
  cpSync(path.join(REPOSITORY, 'package.json'), path.join(copy, 'package.json'));
  symlinkSync(path.join(REPOSITORY, 'node_modules'), path.join(copy, 'node_modules'));
  const { compilerOptions } = JSON.parse(readFileSync(path.join(REPOSITORY, 'tsconfig.json'), 'utf8'));
  writeFileSync(path.join(copy, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['src'] }));

  const backends = path.join(copy, 'src/state/backends');
  const file = readFileSync(path.join(import.meta.dirname, 'memory-backend.ts'), 'utf8');
  writeFileSync(path.join(backends, 'memory.ts'), file.replaceAll("'../../../src/", "'../../"));
  const index = readFileSync(path.join(backends, 'index.ts'), 'utf8');
  const listed = index.replace('backends = { local', 'backends = { local, memory');
  expect(listed).not.toBe(index);
  writeFileSync(path.join(backends, 'index.ts'), `import { memory } from './memory.ts';\n${listed}`);
  return copy;
}

it('a backend is one file and one line: it passes the compiler, and holds the state of an apply', async () => {
  const copy = copyWithMemory();
  const compiler = path.join(REPOSITORY, 'node_modules/.bin/tsc');
  expect(spawnSync(compiler, ['-p', copy], { encoding: 'utf8' }).stdout).toBe('');

  await using emulator = await startEmulator();
  const project = path.join(copy, 'project');
  mkdirSync(path.join(project, 'manifests'), { recursive: true });
  writeFileSync(path.join(project, 'voxform.yaml'), projectFile(emulator));
  writeFileSync(path.join(project, 'manifests/agent.yaml'), AGENT);
  const run = async (...args: string[]) => {
    const child = spawn(process.execPath, [path.join(copy, 'src/main.ts'), ...args, '-C', project], {
      env: { ...process.env, API_KEY: 'key', NO_COLOR: '1' },
    });
    const output = Promise.all([text(child.stdout), text(child.stderr)]);
    const [code] = await once(child, 'exit');
    return [code, ...(await output)].join('\n');
  };
  expect(await run('apply', '--auto-approve')).toMatch(/^0\n/);
  expect([...emulator.world.agents.values()].map(({ name }) => name)).toEqual(['Line']);
  expect(readdirSync(project)).not.toContain('.voxform');
}, 180_000);
