import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
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
  /** As a run leaves it that could not store the id of the night line. */
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

it('is said by commands that read, and recorded by the next one that writes', { tags: ['long'] }, async () => {
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

it('keeps a file with damaged lines, whose ids may be nowhere else, and records the others', async () => {
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

it('refuses a plan that was saved before the record was known', async () => {
  await using w = await scene();
  await w.run('plan', '--out', 'p.plan');
  mkdirSync(w.at('.voxform/rescue'));
  writeFileSync(w.at(RESCUE), w.rescueFile());
  const writes = w.writes();
  const { code, stderr } = await w.run('apply', 'p.plan', '--auto-approve');
  expect([code, w.writes()]).toEqual([1, writes]);
  expect(oneLine(stderr)).toMatch(/error: .*(stale|changed)/);
});

it('writes nothing while the folder of rescue files cannot be read', async () => {
  await using w = await scene();
  const writes = w.writes();
  await w.folder.write('.voxform/rescue', 'not a folder');
  const { code, stderr } = await w.run('apply', '--auto-approve');
  expect([code, w.writes(), stderr]).toEqual([1, writes, expect.stringContaining('cannot read')]);
});

it('takes a file of another machine', async () => {
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
  ['of which half is damaged', (w: Scene) => `${w.rescueFile()}${w.rescueFile().slice(1)}`, 'is damaged, or is not'],
  ['with nothing in it', () => '', 'is damaged, or is not a rescue file'],
  ['of something else', () => '{"kind":"Agent"}\n', 'is damaged, or is not a rescue file'],
])('refuses a file %s', { tags: ['long'] }, async (_, content, message) => {
  await using w = await scene();
  await w.folder.write('found.jsonl', content(w));
  const { code, stderr } = await w.run('state', 'rescue', 'found.jsonl');
  expect([code, oneLine(stderr)]).toEqual([1, expect.stringContaining(message)]);
  expect((await w.run('state', 'list')).stdout).not.toContain('night');
});

it('refuses a file of which everything is known, and one that is not there', async () => {
  await using w = await scene();
  await w.folder.write('found.jsonl', w.rescueFile());
  await w.run('state', 'rescue', 'found.jsonl');
  expect((await w.run('state', 'rescue', 'found.jsonl')).stderr).toContain('nothing to record');
  expect(oneLine((await w.run('state', 'rescue', 'none.jsonl')).stderr)).toContain('no such file');
});

describe('a store that does not answer', () => {
  async function silent(asked: () => void, manifest = agentManifest('day')) {
    const { url } = await listenHttp(() => asked());
    const workspace = await testWorkspace({ 'manifests/a.yaml': manifest });
    await workspace.folder.write(
      'voxform.yaml',
      projectFile(workspace.emulator, `    state: { backend: http, address: "${url}/state" }\n`),
    );
    return workspace;
  }

  it.each(['plan', 'apply'])('keeps no %s from saying what is wrong with the manifests', async (verb) => {
    await using w = await silent(() => undefined, agentManifest('day').replace('Agent', 'Agnt'));
    const { code, stderr } = await w.run(verb);
    expect(code).toBe(1);
    expect(stderr).toContain('unknown kind');
    expect(stderr).not.toContain('state');
  });

  it.each(['plan', 'apply', 'state list'])('does not keep %s from ending at a signal', async (words) => {
    const interrupts = new Interrupts(() => undefined);
    await using w = await silent(() => interrupts.raise('SIGTERM'));
    const env = { VOXFORM_API_KEY: API_KEY };
    const { code } = await command(words.split(' '), { cwd: w.folder.root, env, interrupts });
    expect(code).toBe(143);
  });
});

it('says once why nothing more could be stored', async () => {
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
