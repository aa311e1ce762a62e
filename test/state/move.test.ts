import { readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { FailPoint, StateBackend } from '../../src/state/backends/backend.ts';
import { createStateStore } from '../../src/state/backends/object-store/state-store.ts';
import { createMarks } from '../../src/state/marks.ts';
import { moveState } from '../../src/state/move.ts';
import { openSession, readState } from '../../src/state/session.ts';
import { MovedState } from '../../src/state/state-errors.ts';
import { memory } from './backends/memory-backend.ts';
import { settingsOf, testableBackends } from './backends/settings.ts';
import { creating, failureOf, saved, sessionOptions, statePath, storeAt } from './temporary-state.ts';

const session = sessionOptions();

/** Creates a state with a record, an orphan, and an unknown create in the journal of a dead run. */
async function stateToMove(): Promise<{ readonly old: string; readonly here: string }> {
  const old = await statePath();
  const store = storeAt(old);
  const first = await openSession(store, session);
  await first.record(saved('a'));
  await first.record(saved('b'));
  const orphan = { kind: 'Agent', id: 'id-b', address: 'Agent/b', reason: 'removed', since: '2030' } as const;
  await first.record({ type: 'forgotten', address: 'Agent/b', orphan });
  await first.close();
  const second = await openSession(store, session);
  await second.record(creating('c'));
  await store.unlock((await store.holder())?.id ?? '');
  await failureOf(second.close());
  return { old, here: old.replace('staging', 'production') };
}

/** Returns all contents of the state. */
async function knownAt(path: string): Promise<unknown> {
  const { lineage, salt, resources, pending, orphans } = await readState(storeAt(path), session);
  return { lineage, salt, resources: [...resources], pending: [...pending], orphans };
}

describe('move of a state', () => {
  it('moves all contents, and leaves a mark that refuses writes', async () => {
    const { old, here } = await stateToMove();
    const before = await knownAt(old);
    const { serial: from } = await readState(storeAt(old), session);
    const moved = await moveState({ from: storeAt(old), to: storeAt(here), session });
    expect(await knownAt(here)).toEqual(before);
    expect(moved.records).toBe(1);
    expect(moved.serial).toBeGreaterThan(from);

    const refused = await failureOf(readState(storeAt(old), session));
    expect(refused).toBeInstanceOf(MovedState);
    expect(refused.message).toContain(`was moved to ${here}`);
    expect(await failureOf(openSession(storeAt(old), session))).toBeInstanceOf(MovedState);
    const lease = await storeAt(old).lock(session.lock);
    const document = (await storeAt(here).read()).document;
    if (document === undefined) throw new Error('nothing was moved');
    const another = { ...document, lineage: 'another' };
    expect(await failureOf(lease.commit(another, undefined))).toBeInstanceOf(MovedState);
    await lease.release();
    expect((await readdir(dirname(old))).filter((name) => /\.(journal|lock)$/.test(name))).toEqual([]);
  });

  it('can return to the old location', async () => {
    const { old, here } = await stateToMove();
    const before = await knownAt(old);
    await moveState({ from: storeAt(old), to: storeAt(here), session });
    await moveState({ from: storeAt(here), to: storeAt(old), session });
    expect(await knownAt(old)).toEqual(before);
    expect(await failureOf(readState(storeAt(here), session))).toBeInstanceOf(MovedState);
  });

  it.each<[side: 'from' | 'to', FailPoint]>([
    ['from', 'before-fold'],
    ['from', 'before-rename'],
    ['from', 'after-rename'],
    ['from', 'before-truncate'],
    ['to', 'before-fold'],
    ['to', 'before-rename'],
    ['to', 'after-rename'],
    ['to', 'before-truncate'],
    ['from', 'before-mark'],
    ['from', 'after-mark'],
  ])(
    'that dies in the store it moves %s at %s is completed by another move',
    { tags: ['long'] },
    async (side, place) => {
      const { old, here } = await stateToMove();
      const before = await knownAt(old);
      const dying = {
        failPoint(name: FailPoint) {
          if (name === place) throw new Error(`died ${name}`);
        },
      };
      const [from, to] = [storeAt(old, side === 'from' ? dying : {}), storeAt(here, side === 'to' ? dying : {})];
      expect((await failureOf(moveState({ from, to, session }))).message).toBe(`died ${place}`);

      const isMoved = place === 'after-mark';
      expect(await knownAt(isMoved ? here : old)).toEqual(before);
      const again = moveState({ from: storeAt(old), to: storeAt(here), session });
      if (isMoved) expect(await failureOf(again)).toBeInstanceOf(MovedState);
      else await again;
      expect(await knownAt(here)).toEqual(before);
      expect(await failureOf(readState(storeAt(old), session))).toBeInstanceOf(MovedState);
    },
  );

  it.each<FailPoint>(['before-truncate', 'before-mark'])(
    'that dies at %s is completed on a machine that remembers the copy',
    async (place) => {
      const { old, here } = await stateToMove();
      const marks = createMarks({ folder: join(dirname(old), 'marks'), debug: () => undefined });
      let passages = 0;
      const dying = (path: string) =>
        storeAt(path, {
          marks,
          failPoint(name) {
            if (name === place && ++passages === (place === 'before-mark' ? 1 : 2)) throw new Error('died');
          },
        });
      const fallen = await failureOf(moveState({ from: dying(old), to: dying(here), session }));
      expect(fallen.message).toContain('died');
      const moved = await moveState({ from: storeAt(old, { marks }), to: storeAt(here, { marks }), session });
      expect(moved.records).toBe(1);
      expect((await marks.of('W1')).map(({ path }) => path)).toEqual([here]);
    },
  );

  it('is completed after runs continued with the copy, but not after runs continued with the old state', async () => {
    const { old, here } = await stateToMove();
    const dying = storeAt(old, {
      failPoint(name) {
        if (name === 'before-mark') throw new Error('died');
      },
    });
    const move = { from: storeAt(old), to: storeAt(here), session };
    await failureOf(moveState({ ...move, from: dying }));
    const going = await openSession(storeAt(here), session);
    await going.record(saved('d'));
    await going.close();
    const astray = await readFile(old, 'utf8');
    const back = await openSession(storeAt(old), session);
    await back.record(saved('e'));
    await back.close();
    expect((await failureOf(moveState(move))).message).toContain('already has another state');

    await writeFile(old, astray);
    await moveState(move);
    expect([...(await readState(storeAt(here), session)).resources.keys()]).toEqual(['Agent/a', 'Agent/d']);
  });

  it('refuses a second name of the same location without waiting for its own lock', async () => {
    const { old } = await stateToMove();
    const before = await knownAt(old);
    const link = `${dirname(old)}-link`;
    await symlink(dirname(old), link);
    const move = { from: storeAt(join(link, basename(old))), to: storeAt(old), session };
    expect((await failureOf(moveState(move))).message).toContain('are the same state');
    expect(await knownAt(old)).toEqual(before);
    expect(await storeAt(old).holder()).toBeUndefined();
  });

  it('refuses a location with another state, and one without a state to move', async () => {
    const { old, here } = await stateToMove();
    const other = await openSession(storeAt(here), { ...session, fresh: { lineage: 'L2', salt: 'S2' } });
    await other.record(saved('x'));
    await other.close();
    const [before, there] = [await knownAt(old), await knownAt(here)];
    const error = await failureOf(moveState({ from: storeAt(old), to: storeAt(here), session }));
    expect(error.message).toContain('already has another state');
    expect([await knownAt(old), await knownAt(here)]).toEqual([before, there]);
    const nothing = await failureOf(moveState({ from: storeAt(`${old}x`), to: storeAt(`${here}x`), session }));
    expect(nothing.message).toContain('there is no state at');
    const alien = { ...session, workspaceId: 'W2' };
    const wrong = await failureOf(moveState({ from: storeAt(old), to: storeAt(`${here}x`), session: alien }));
    expect(wrong.message).toContain('belongs to workspace W1');
  });
});

const all: [string, StateBackend][] = Object.entries({ ...testableBackends, memory });

describe.each(all)('move of a state to %s', (name, backend) => {
  it('and back keeps all contents, and refuses the old location', { tags: ['long'] }, async () => {
    const { old } = await stateToMove();
    const before = await knownAt(old);
    const root = dirname(old);
    const place = backend.locate(await settingsOf(name, root), { workspace: 'production', root });
    const user = { root, host: 'here', user: 'ann', pid: process.pid, version: '0.0.0', now: session.now };
    const there = () => createStateStore(backend.open(place, user), user);
    await moveState({ from: storeAt(old), to: there(), session });
    const moved = await readState(there(), session);
    const { lineage, salt, resources, pending, orphans } = moved;
    expect({ lineage, salt, resources: [...resources], pending: [...pending], orphans }).toEqual(before);
    const { location } = there();
    expect((await failureOf(openSession(storeAt(old), session))).message).toContain(`was moved to ${location}`);
    expect(await failureOf(moveState({ from: storeAt(old), to: there(), session }))).toBeInstanceOf(MovedState);

    const more = await openSession(there(), session);
    await more.record(saved('d'));
    await more.close();
    await moveState({ from: there(), to: storeAt(old), session });
    expect((await readState(storeAt(old), session)).resources.get('Agent/d')?.id).toBe('id-d');
    expect(await failureOf(openSession(there(), session))).toBeInstanceOf(MovedState);
    expect(await failureOf(readState(there(), session))).toBeInstanceOf(MovedState);
  });
});
