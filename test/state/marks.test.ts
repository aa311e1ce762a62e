import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { emptyDocument } from '../../src/state/fold.ts';
import { createMarks } from '../../src/state/marks.ts';
import type { StateDocument } from '../../src/state/state-document.ts';

const empty = emptyDocument({ lineage: 'L1', salt: 'S1' }, 'W1', '0.0.0');
const at = (serial: number, write = `w${serial}`): StateDocument => ({ ...empty, serial, write });

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'voxform-marks-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

describe('marks of a machine', () => {
  it('keep the highest serial of each state, readable only by their user', async () => {
    const folder = join(await temporaryFolder(), 'voxform', 'states');
    const marks = createMarks({ folder, debug: () => undefined });
    expect(await marks.read(empty)).toBeUndefined();
    await Promise.all([3, 1, 2].map((serial) => marks.raise(at(serial), '/p')));
    await marks.raise(at(3, 'other'), '/q');
    await marks.raise(at(2), '/p');
    expect(await marks.read(empty)).toEqual({ serial: 3, write: 'other', path: '/q' });
    for (const other of [{ lineage: 'L2' }, { workspace_id: 'W2' }]) {
      expect(await marks.read({ ...empty, ...other })).toBeUndefined();
    }
    await marks.raise({ ...at(1), lineage: 'L2' }, '/r');
    await marks.raise({ ...at(1), workspace_id: 'W2' }, '/s');
    expect((await marks.of('W1')).map((mark) => mark.path).sort()).toEqual(['/q', '/r']);
    expect(await marks.of('W3')).toEqual([]);
    const names = await readdir(folder);
    expect(names).toHaveLength(3);
    for (const name of names) expect((await stat(join(folder, name))).mode & 0o777).toBe(0o600);
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
  });

  it('never fail a run, whatever is in their place', async () => {
    const place = join(await temporaryFolder(), 'file');
    await writeFile(place, 'x');
    const said: string[] = [];
    const marks = createMarks({ folder: place, debug: (message) => said.push(message) });
    await marks.raise(at(1), '/p');
    expect(await marks.read(empty)).toBeUndefined();
    expect(said.join()).toContain('cannot write the record of the last state');
    await rm(place);
    await marks.raise(at(1), '/p');
    for (const name of await readdir(place)) await writeFile(join(place, name), '{"serial":');
    expect(await marks.read(empty)).toBeUndefined();
    await marks.raise(at(1), '/p');
    expect(await marks.read(empty)).toMatchObject({ serial: 1 });
  });
});
