import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { Interrupts } from '../../src/cli/interrupts.ts';
import { journalLine } from '../../src/state/journal-lines.ts';
import type { StateDocument } from '../../src/state/state-document.ts';
import { listenHttp } from '../platform/listen.ts';
import { TerraformServer } from '../state/backends/http/terraform-server.ts';
import { command } from '../trust/in-process.ts';
import { API_KEY, agentManifest, projectFile, type TestWorkspace, testWorkspace } from './workspace.ts';

const FILES = { 'manifests/a.yaml': agentManifest('day'), 'manifests/b.yaml': agentManifest('night') };
const RESCUE = '.voxform/rescue/run.jsonl';

interface Scene extends TestWorkspace {
  readonly id: string;
  /** The rescue file of a run that could not store the id of the night line. */
  rescueFile(lineage?: string): string;
  at(file: string): string;
}

/** A workspace whose state lost a record. */
async function scene(): Promise<Scene> {
  const workspace = await testWorkspace(FILES);
  const at = (file: string) => path.join(workspace.folder.root, file);
  await workspace.run('apply', '--auto-approve');
  const { stdout: pulled } = await workspace.run('state', 'pull');
  const document = JSON.parse(pulled) as StateDocument;
  const { 'Agent/night': entry, ...resources } = document.resources;
  if (entry === undefined) throw new Error('nothing was applied');
  await workspace.folder.write('less.json', JSON.stringify({ ...document, resources }));
  expect((await workspace.run('state', 'push', '--force', 'less.json')).code).toBe(0);
  return Object.assign(workspace, {
    id: entry.id,
    at,
    rescueFile: (lineage = document.lineage) =>
      journalLine({
        lineage,
        serial: 1,
        sequence: 2,
        at: '2030-01-01T00:00:00Z',
        event: { type: 'saved', address: 'Agent/night', entry },
      }),
  });
}

const oneLine = (text: string): string => text.replace(/\s+/g, ' ');

it('a rescue file causes a warning in commands that read, and is recorded by the next command that writes', {
  tags: ['long'],
}, async () => {
  await using w = await scene();
  mkdirSync(w.at('.voxform/rescue'));
  writeFileSync(w.at(RESCUE), w.rescueFile());
  for (const command of ['plan', 'status']) {
    expect(oneLine((await w.run(command)).stderr)).toContain(`${RESCUE} contains ids that are not in the state yet`);
  }
  const writes = w.writes();
  const applied = await w.run('apply', '--auto-approve');
  expect([applied.code, w.writes()]).toEqual([0, writes]);
  expect(oneLine(applied.stderr)).toContain(`recorded from ${RESCUE}: Agent/night = ${w.id}`);
  expect(readdirSync(w.at('.voxform/rescue'))).toEqual([]);
  const after = await w.run('plan', '--detailed-exitcode');
  expect([after.code, after.stderr]).toEqual([0, '']);
});

it('a rescue file with damaged lines is kept, and its other lines are recorded', async () => {
  await using w = await scene();
  mkdirSync(w.at('.voxform/rescue'));
  const content = `${w.rescueFile()}${w.rescueFile().slice(1)}`;
  writeFileSync(w.at(RESCUE), content);
  const { code, stderr } = await w.run('apply', '--auto-approve');
  expect([code, oneLine(stderr)]).toEqual([0, expect.stringContaining(`recorded from ${RESCUE}: Agent/night`)]);
  expect(oneLine(stderr)).toContain(`${RESCUE} has damaged lines (1), which were not recorded`);
  expect(readFileSync(w.at(`${RESCUE}.damaged`), 'utf8')).toBe(content);
  expect((await w.run('apply', '--auto-approve')).stderr).toBe('');
});

it('apply refuses a plan that was saved before the rescued record was known', async () => {
  await using w = await scene();
  await w.run('plan', '--out', 'p.plan');
  mkdirSync(w.at('.voxform/rescue'));
  writeFileSync(w.at(RESCUE), w.rescueFile());
  const writes = w.writes();
  const { code, stderr } = await w.run('apply', 'p.plan', '--auto-approve');
  expect([code, w.writes()]).toEqual([1, writes]);
  expect(oneLine(stderr)).toMatch(/error: .*(stale|changed)/);
});

it('apply writes nothing if the folder of rescue files is not readable', async () => {
  await using w = await scene();
  const writes = w.writes();
  await w.folder.write('.voxform/rescue', 'not a folder');
  const { code, stderr } = await w.run('apply', '--auto-approve');
  expect([code, w.writes(), stderr]).toEqual([1, writes, expect.stringContaining('cannot read')]);
});

it('apply refuses a rescue file that never ends', async () => {
  await using w = await scene();
  const writes = w.writes();
  mkdirSync(w.at('.voxform/rescue'));
  symlinkSync('/dev/zero', w.at(RESCUE));
  const { code, stderr } = await w.run('apply', '--auto-approve');
  expect([code, w.writes(), oneLine(stderr)]).toEqual([1, writes, expect.stringMatching(/cannot read .*move it away/)]);
});

it('state rescue records a file of another machine', async () => {
  await using w = await scene();
  await w.folder.write('found.jsonl', w.rescueFile());
  const { code, stdout } = await w.run('state', 'rescue', 'found.jsonl');
  expect([code, stdout]).toEqual([0, `Recorded Agent/night = ${w.id}.\n`]);
  expect((await w.run('plan', '--detailed-exitcode')).code).toBe(0);
  expect(readFileSync(w.at('found.jsonl'), 'utf8')).toBe(w.rescueFile());
});

it.each([
  ['of another state', (w: Scene) => w.rescueFile('another'), 'belongs to another state (lineage another)'],
  ['that is damaged', (w: Scene) => w.rescueFile().replace('night', 'nicht'), 'is damaged, or is not a rescue file'],
  ['with a damaged line', (w: Scene) => `${w.rescueFile()}${w.rescueFile().slice(1)}`, 'is damaged, or is not'],
  ['without content', () => '', 'is damaged, or is not a rescue file'],
  ['in another format', () => '{"kind":"Agent"}\n', 'is damaged, or is not a rescue file'],
])('state rescue refuses a file %s', { tags: ['long'] }, async (_, content, message) => {
  await using w = await scene();
  await w.folder.write('found.jsonl', content(w));
  const { code, stderr } = await w.run('state', 'rescue', 'found.jsonl');
  expect([code, oneLine(stderr)]).toEqual([1, expect.stringContaining(message)]);
  expect((await w.run('state', 'list')).stdout).not.toContain('night');
});

it('state rescue refuses a file without new ids, and a missing file', async () => {
  await using w = await scene();
  await w.folder.write('found.jsonl', w.rescueFile());
  await w.run('state', 'rescue', 'found.jsonl');
  expect((await w.run('state', 'rescue', 'found.jsonl')).stderr).toContain('nothing to record');
  expect(oneLine((await w.run('state', 'rescue', 'none.jsonl')).stderr)).toContain('no such file');
});

describe('a store that does not respond', () => {
  async function silentStore(asked: () => void, manifest = agentManifest('day')) {
    const { url } = await listenHttp(() => asked());
    const workspace = await testWorkspace({ 'manifests/a.yaml': manifest });
    await workspace.folder.write(
      'voxform.yaml',
      projectFile(workspace.emulator, `    state: { backend: http, address: "${url}/state" }\n`),
    );
    return workspace;
  }

  it.each(['plan', 'apply'])('does not prevent %s from reporting problems of the manifests', async (verb) => {
    await using w = await silentStore(() => undefined, agentManifest('day').replace('Agent', 'Agnt'));
    const { code, stderr } = await w.run(verb);
    expect(code).toBe(1);
    expect(stderr).toContain('unknown kind');
    expect(stderr).not.toContain('state');
  });

  it.each(['plan', 'apply', 'state list'])('does not prevent %s from stopping at a signal', async (words) => {
    const interrupts = new Interrupts(() => undefined);
    await using w = await silentStore(() => interrupts.raise('SIGTERM'));
    const env = { VOXFORM_API_KEY: API_KEY };
    const { code } = await command(words.split(' '), { cwd: w.folder.root, env, interrupts });
    expect(code).toBe(143);
  });
});

it('apply reports once why it could not store more', async () => {
  await using server = await TerraformServer.start({ credentials: 'ci:first' });
  await using w = await testWorkspace(FILES, {
    onRequest({ method }) {
      if (method === 'POST') server.credentials = 'ci:second';
      return undefined;
    },
  });
  const settings = {
    ...server.settings('/state'),
    backend: 'http',
    username: 'ci',
    password: { $secret: 'PW' },
  };
  await w.folder.write('voxform.yaml', projectFile(w.emulator, `    state: ${JSON.stringify(settings)}\n`));
  const { code, stdout, stderr } = await w.runWith({ PW: 'first' }, 'apply', '--auto-approve');
  expect(code).toBe(1);
  expect(oneLine(stdout + stderr).match(/rejected the user name/g)).toHaveLength(1);
  expect(readdirSync(path.join(w.folder.root, '.voxform/rescue'))).toHaveLength(1);
});
