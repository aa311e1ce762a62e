/** @module-tag long */

import { type ChildProcess, execFile, fork } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { startEmulator } from '../../src/emulator/start-emulator.ts';
import { type Folder, temporaryFolder } from '../cli/voxform-process.ts';
import type { CommandResult } from '../trust/in-process.ts';
import { startVoicePlatform, type VoicePlatform } from './voice-platform.ts';

/** One file and one line per member, and nothing else. */
const members = [
  {
    file: 'state/backends/memory.ts',
    from: 'state/backends/memory-backend.ts',
    line: "import { memory } from './memory.ts';",
    entry: ['backends = { local', 'backends = { local, memory'],
  },
  {
    file: 'kinds/voice.ts',
    from: 'new-members/voice.ts',
    line: "import { voice } from './voice.ts';",
    entry: ['byName([agent, ', 'byName([agent, voice, '],
  },
  {
    file: 'output/formats/titles-format.ts',
    from: 'new-members/titles.ts',
    line: '',
    entry: ['  html:', "  titles: () => import('./titles-format.ts'),\n  html:"],
  },
] as const;

const REPOSITORY = path.join(import.meta.dirname, '../..');

function addTo(source: string, { file, from, line, entry }: (typeof members)[number]): void {
  const folder = path.dirname(file);
  const text = readFileSync(path.join(REPOSITORY, 'test', from), 'utf8');
  const moved = text.replace(/'(?:\.\.\/)+src\/([^']*)'/g, (_, target: string) => {
    const relative = path.posix.relative(folder, target);
    return relative.startsWith('.') ? `'${relative}'` : `'./${relative}'`;
  });
  writeFileSync(path.join(source, file), moved);
  const index = path.join(source, folder, 'index.ts');
  const before = readFileSync(index, 'utf8');
  const after = before.replace(entry[0], entry[1]);
  expect(after).not.toBe(before);
  writeFileSync(index, `${line}\n${after}`);
}

/** Executes commands of the copy in one process, because loading its sources takes far longer than most commands. */
const COMMANDS = ['test/new-members/commands.ts', 'test/trust/in-process.ts'] as const;

let copy: Folder;
let commands: ChildProcess;
let platform: VoicePlatform;
let workspaceId: string;
/** The output of the compiler, which works while the commands run. */

beforeAll(async () => {
  copy = await temporaryFolder();
  symlinkSync(path.join(REPOSITORY, 'node_modules'), path.join(copy.root, 'node_modules'));
  for (const part of ['package.json', 'src', 'ci', 'scripts/schemas.ts', ...COMMANDS])
    cpSync(path.join(REPOSITORY, part), path.join(copy.root, part), { recursive: true });
  for (const member of members) addTo(path.join(copy.root, 'src'), member);
  commands = fork(path.join(copy.root, COMMANDS[0]), { execArgv: [] });
  commands.on('message', ({ id, ...result }: CommandResult & { readonly id: number }) => asked[id]?.(result));
  const emulator = await startEmulator();
  workspaceId = emulator.workspaceId;
  platform = await startVoicePlatform(emulator.url);
  return async () => {
    commands.disconnect();
    await platform[Symbol.asyncDispose]();
    await emulator.close();
    await copy[Symbol.asyncDispose]();
  };
});

const exec = promisify(execFile);

function compile(): Promise<string> {
  const { compilerOptions } = JSON.parse(readFileSync(path.join(REPOSITORY, 'tsconfig.json'), 'utf8'));
  writeFileSync(path.join(copy.root, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['src'] }));
  return exec(path.join(REPOSITORY, 'node_modules/.bin/tsc'), ['-p', copy.root, '--checkers', '1']).then(
    ({ stdout }) => stdout,
    (error: { readonly stdout: string }) => error.stdout,
  );
}

const asked: ((result: CommandResult) => void)[] = [];

/** Returns the result of a command of the copy. */
function commandIn(cwd: string, args: readonly string[]): Promise<CommandResult> {
  const { promise, resolve } = Promise.withResolvers<CommandResult>();
  commands.send({ id: asked.push(resolve) - 1, args, cwd, env: { HOME: copy.root, API_KEY: 'key' } });
  return promise;
}

/** Returns the output of a command. */
async function run(project: string, ...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await commandIn(project, args);
  expect(code, stderr).toBe(0);
  return stdout;
}

function projectWith(name: string, manifest: string, state = ''): string {
  const project = path.join(copy.root, name);
  mkdirSync(path.join(project, 'manifests'), { recursive: true });
  const workspace = `{ base_url: "${platform.url}", workspace_id: ${workspaceId}, api_key: { $secret: API_KEY }${state} }`;
  writeFileSync(path.join(project, 'voxform.yaml'), `version: 1\nworkspaces:\n  test: ${workspace}\n`);
  writeFileSync(path.join(project, 'manifests/one.yaml'), `apiVersion: voxform/v1\n${manifest}\n`);
  return project;
}

const VOICE = 'kind: Voice\nmetadata: { name: deep }\nspec: { name: Deep, pitch: -2 }';

describe('new member of one file and one line', () => {
  it('is a kind that every command supports', async () => {
    const project = projectWith('kind', VOICE);
    const voxform = (...args: readonly string[]) => run(project, ...args);
    await exec(process.execPath, [path.join(copy.root, 'scripts/schemas.ts')]);
    const shown = await Promise.all([
      voxform('validate'),
      voxform('schema', 'Voice'),
      voxform('explain', 'Voice.pitch'),
      voxform('completion', 'bash', '--complete', '=explain', '=Vo'),
      voxform('completion', 'bash', '--complete', '=get', '=vo'),
      voxform('get', '--help'),
      voxform('export', '--help'),
      commandIn(project, ['plan', '--detailed-exitcode']).then(({ code, stdout }) => `${code} ${stdout}`),
    ]);
    expect(shown).toEqual([
      expect.stringContaining('1 Voice'),
      expect.stringContaining('Semitones above the recording.'),
      expect.stringContaining('Semitones above the recording.'),
      expect.stringMatching(/^Voice\t/),
      expect.stringMatching(/^voices\t/),
      expect.stringMatching(/One of [\s\S]*voices,/),
      expect.stringMatching(/The\s+API\s+lists[^;]*voices,/),
      expect.stringMatching(/^2 [\s\S]*Voice\/deep/),
    ]);

    await voxform('apply', '--auto-approve');
    expect([...platform.voices.values()]).toEqual([{ id: 'voice-1', name: 'Deep', pitch: -2 }]);
    const [plan, voices, status] = await Promise.all([
      voxform('plan', '--detailed-exitcode'),
      voxform('get', 'voices'),
      voxform('status'),
    ]);
    expect(plan).toContain('No changes');
    expect(voices).toMatch(/voice-1 +Voice\/deep +-2/);
    expect(status).toMatch(/Voice\/deep +.*in sync/);

    writeFileSync(path.join(project, 'manifests/one.yaml'), `apiVersion: voxform/v1\n${VOICE.replace('-2', '3')}\n`);
    await voxform('apply', '--auto-approve');
    expect(platform.voices.get('voice-1')).toMatchObject({ pitch: 3 });
  });

  it('is a state backend that stores the state of an apply', async () => {
    const project = projectWith('backend', VOICE.replaceAll('eep', 'ry'), ', state: { backend: memory, name: shared }');
    expect(await run(project, 'apply', '--auto-approve')).toContain('Voice/dry');
    expect(readdirSync(project)).not.toContain('.voxform');
  });

  it('is an output format that --output accepts, --help lists and errors use', async () => {
    const project = projectWith('format', VOICE.replaceAll('eep', 'im'));
    const [plan, failed, help] = await Promise.all([
      run(project, 'plan', '--output', 'titles'),
      commandIn(project, ['plan', '--output', 'titles', '--workspace', 'none']).then(({ stdout }) => stdout),
      run(project, 'plan', '--help'),
    ]);
    expect(plan).toMatch(/^plan of test: /);
    expect(failed).toMatch(/^no result: .*none/);
    expect(help).toMatch(/--output <format>[^)]*\btitles\b/);
  });

  it('is valid for the compiler', async () => {
    expect(await compile()).toBe('');
  });
});
