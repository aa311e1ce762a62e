import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openSession } from '../../src/state/session.ts';
import { createStore } from '../../src/state/state-location.ts';
import { saved, sessionOptions, statePath } from './temporary-state.ts';

const user = {
  host: 'here',
  user: 'ann',
  pid: process.pid,
  version: '0.0.0',
  now: () => new Date('2030-01-01T00:00:00Z'),
};

describe('createStore', () => {
  it('keeps a local state at its path, and names it by its path in the project', async () => {
    const path = await statePath();
    const store = createStore({ backend: 'local', path }, { ...user, root: dirname(dirname(path)) });
    expect(store.location).toBe('.voxform/staging.state.json');
    const session = await openSession(store, sessionOptions());
    await session.record(saved('a'));
    await session.close();
    expect(JSON.parse(await readFile(path, 'utf8')).serial).toBe(1);
  });

  it('names a state outside the project by its absolute path', async () => {
    const path = await statePath();
    const store = createStore({ backend: 'local', path }, { ...user, root: '/somewhere/else' });
    expect(store.location).toBe(path);
  });
});
