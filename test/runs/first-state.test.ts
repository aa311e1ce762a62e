import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ProjectConfig, WorkspaceConfig } from '../../src/project/project.ts';
import { refuseSecondState } from '../../src/runs/first-state.ts';
import { emptyDocument } from '../../src/state/fold.ts';
import { createMarks } from '../../src/state/marks.ts';
import { openSession } from '../../src/state/session.ts';
import { LostState } from '../../src/state/state-errors.ts';
import { failureOf, saved, sessionOptions, storeAt } from '../state/temporary-state.ts';

/** Creates a project without a state, on a machine that wrote a state of the same workspace at this location. */
async function beginning(baseUrl: string, written: string, writtenFor?: string) {
  const machine = await realpath(await mkdtemp(path.join(tmpdir(), 'voxform-first-run-')));
  onTestFinished(() => rm(machine, { recursive: true, force: true }));
  const root = path.join(machine, 'project');
  await mkdir(root);
  const keeping = { folder: path.join(machine, 'marks'), debug: () => undefined };
  const place = path.join(machine, written);
  const session = await openSession(
    storeAt(place, { marks: createMarks({ ...keeping, baseUrl: writtenFor }) }),
    sessionOptions(),
  );
  await session.record(saved('a'));
  await session.close();
  const workspace = {
    name: 'live',
    workspaceId: 'W1',
    baseUrl,
    state: { backend: 'local', path: path.join(root, '.voxform/live.state.json') },
  } as WorkspaceConfig;
  const project = { root, workspaces: { live: workspace } } as unknown as ProjectConfig;
  const marks = createMarks({ ...keeping, baseUrl });
  const refused = () =>
    refuseSecondState(
      {
        project,
        workspace,
        store: { location: '.voxform/live.state.json' },
        selection: undefined,
        context: { cwd: root, env: {}, log: { warn() {}, info() {}, debug() {} } },
      },
      { marks },
    );
  return { refused, place, marks };
}

describe('first run', () => {
  it('is refused if the state written by this machine is missing, and can be recovered', async () => {
    const { refused, place } = await beginning('https://voice.example.com', 'project/.voxform/live.state.json');
    await rm(path.dirname(place), { recursive: true });
    const error = await failureOf(refused());
    expect(error).toBeInstanceOf(LostState);
    expect(error.message).toContain('(serial 1), and it is missing');
    expect(error.hint).toContain('voxform recover');
    expect(error.hint).toContain('voxform state init');
  });

  it('is refused if the state is in another copy of the project', async () => {
    const { refused, place } = await beginning('https://voice.example.com', 'other/.voxform/live.state.json');
    const error = await failureOf(refused());
    expect(error).not.toBeInstanceOf(LostState);
    expect(error.message).toContain(`${place}, with 1 record,`);
  });

  it('is refused if this machine wrote the state to another store', async () => {
    const { refused, marks, place } = await beginning('https://voice.example.com', 'other/.voxform/live.state.json');
    await rm(path.dirname(place), { recursive: true });
    const document = { ...emptyDocument({ lineage: 'L2', salt: 'S' }, 'W1', '0.0.0'), serial: 7, write: 'w' };
    await marks.raise(document, 'refs/voxform/live of origin');
    const error = await failureOf(refused());
    expect(error.message).toContain('wrote the state of the workspace W1 to refs/voxform/live of origin (serial 7)');
    expect(error.hint).toContain("state move --from '{ backend: BACKEND");
  });

  it('is refused if the state is missing from its store', async () => {
    const { refused, marks } = await beginning('https://voice.example.com', 'gone.json', 'https://other.example.com');
    const document = emptyDocument({ lineage: 'L2', salt: 'S2' }, 'W1', '0.0.0');
    await marks.raise({ ...document, serial: 4 }, '.voxform/live.state.json');
    const error = await failureOf(refused());
    expect(error).toBeInstanceOf(LostState);
    expect(error.message).toContain('to .voxform/live.state.json (serial 4), and it is missing');
  });

  it('starts if the state belonged to another platform with a workspace of the same id', async () => {
    const { refused } = await beginning(
      'https://voice.example.com',
      'other/.voxform/live.state.json',
      'https://voice.example.org',
    );
    await expect(refused()).resolves.toBeUndefined();
  });

  it("is refused if only the spelling of the platform's address differs", async () => {
    const { refused } = await beginning(
      'https://voice.example.com',
      'other/.voxform/live.state.json',
      'https://VOICE.example.com/',
    );
    expect((await failureOf(refused())).message).toContain('belongs to the same workspace');
  });

  it.each(['project/.voxform/live.state.json', 'other/.voxform/live.state.json'])(
    'starts on a platform of this machine, with any former state at %s',
    async (written) => {
      const { refused, place } = await beginning('http://127.0.0.1:4010', written);
      if (written.startsWith('project')) await rm(path.dirname(place), { recursive: true });
      await expect(refused()).resolves.toBeUndefined();
    },
  );
});
