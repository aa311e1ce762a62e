import { describe, expect, it } from 'vitest';
import { messageOf } from '../../../../src/operator/messages.ts';
import { postgres } from '../../../../src/state/backends/postgres/postgres-backend.ts';
import { othersStatement } from '../../../../src/state/backends/postgres/statements.ts';
import { emptyDocument } from '../../../../src/state/fold.ts';
import { openSession, readState } from '../../../../src/state/session.ts';
import type { StateStore } from '../../../../src/state/store.ts';
import { creating, failureOf, lockRequest, saved, sessionOptions } from '../../temporary-state.ts';
import { freshDatabase, storeIn } from './databases.ts';

async function recordedIn(store: StateStore, lock = lockRequest()): Promise<void> {
  const session = await openSession(store, sessionOptions({ lock }));
  await session.record(creating('a'));
  await session.record(saved('a'));
  await session.close();
}

const tablesIn = `SELECT table_schema || '.' || table_name AS name FROM information_schema.tables
  WHERE table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY 1`;

describe('schema', () => {
  it('is created once by the first run that writes, even if many start at the same time', async () => {
    const { url, sql } = await freshDatabase();
    const stores = await Promise.all([1, 2, 3, 4, 5, 6].map((each) => storeIn(url, { name: `state-${each}` })));
    expect((await stores[0]?.read())?.document).toBeUndefined();
    expect(await sql(tablesIn)).toEqual([]);
    await Promise.all(stores.map((store) => recordedIn(store)));
    for (const store of stores) {
      expect((await readState(store, sessionOptions())).resources.get('Agent/a')?.id).toBe('id-a');
    }
    expect(await sql('SELECT * FROM voxform.schema_version')).toEqual([{ part: 'state', version: 1 }]);
  });

  it('can be created by an administrator with the printed statements', async () => {
    const database = await freshDatabase();
    const url = database.urlWith({ user: await database.role(), password: 'p' });
    const script = postgres.setUp?.(postgres.locate({ url, schema: 'voices' }, { workspace: 'staging', root: '/' }));
    expect(script).not.toContain('p@');
    await database.sql(script ?? '');
    const store = await storeIn(url, { schema: 'voices' });
    await recordedIn(store);
    await recordedIn(await storeIn(database.url, { schema: 'voices', name: 'other' }));
    expect((await store.history()).length).toBe(0);
    expect((await store.backups()).length).toBe(2);
  });

  it('reports a state of the same workspace under another name', async () => {
    const { url, sql } = await freshDatabase();
    const fresh = await storeIn(url, { name: 'new' });
    expect(await fresh.findOther?.('W1')).toBeUndefined();
    const session = await openSession(await storeIn(url, { name: 'old' }), sessionOptions());
    await session.record(creating('a'));
    const found = {
      location: expect.stringMatching(/ old$/),
      from: '{ backend: postgres, url: { $secret: STATE_URL }, schema: voxform, name: "old" }',
    };
    expect(await fresh.findOther?.('W1')).toEqual({ ...found, records: 1 });
    await session.close();
    expect(await fresh.findOther?.('W1')).toEqual({ ...found, records: 1 });
    expect(await fresh.findOther?.('W2')).toBeUndefined();
    await sql("UPDATE voxform.states SET state = state || 'x'");
    expect(await fresh.findOther?.('W1')).toEqual({ ...found, records: undefined });
  });

  it('reports an empty state while a run uses it', async () => {
    const { url } = await freshDatabase();
    const fresh = await storeIn(url, { name: 'new' });
    const old = await storeIn(url, { name: 'old' });
    const commit = async () => {
      const lease = await old.lock(lockRequest());
      await lease.commit(emptyDocument({ lineage: 'L1', salt: 'S1' }, 'W1', '0.0.0'), undefined);
      return lease;
    };
    const lease = await commit();
    expect(await fresh.findOther?.('W1')).toMatchObject({ records: 0 });
    await lease.release();
    expect(await fresh.findOther?.('W1')).toBeUndefined();
  });

  it('accepts one first state of a workspace, even if many start under different names at the same time', async () => {
    const { url, sql } = await freshDatabase();
    const stores = await Promise.all(['a', 'b', 'c', 'd'].map((name) => storeIn(url, { name })));
    const sessions = await Promise.all(
      stores.map((store, index) => {
        const onMissing = async () => expect(await store.findOther?.('W1')).toBeUndefined();
        return openSession(
          store,
          sessionOptions({ onMissing, fresh: { lineage: `L${index}`, salt: 'S' }, lock: lockRequest() }),
        );
      }),
    );
    const begun = await Promise.all(
      sessions.map((session) =>
        session.record(creating('a')).then(
          () => 'begun',
          (error: unknown) => messageOf(error),
        ),
      ),
    );
    const refused = begun.filter((each) => each !== 'begun');
    expect(refused).toHaveLength(stores.length - 1);
    for (const each of refused) expect(each).toMatch(/ [abcd] of the same workspace W1/);
    for (const session of sessions) await session.close();
    expect(await sql('SELECT name FROM voxform.states WHERE state IS NOT NULL')).toHaveLength(1);
    expect(await sql('SELECT name FROM voxform.states WHERE lock IS NOT NULL')).toEqual([]);
    const second = stores[begun.findIndex((each) => each !== 'begun')];
    expect(await second?.findOther?.('W1')).toMatchObject({ records: 1 });
  });

  it('accepts a second state if the check for others is disabled', async () => {
    const { url } = await freshDatabase();
    await recordedIn(await storeIn(url, { name: 'a' }));
    const second = await storeIn(url, { name: 'b' });
    await recordedIn(second);
    expect((await second.read()).document).toBeDefined();
  });

  it('finds the other state by an index', async () => {
    const { url, sql } = await freshDatabase();
    await recordedIn(await storeIn(url));
    const { text, values } = othersStatement('voxform', 'new', 'W1');
    const given = values.map((value) => `'${value}'`).join(', ');
    const plan = await sql(
      `SET enable_seqscan = off; PREPARE others (text, text) AS ${text}; EXPLAIN EXECUTE others (${given})`,
    );
    expect(JSON.stringify(plan)).toContain('states_workspace');
  });

  it('may exist without tables', async () => {
    const { url, sql } = await freshDatabase();
    await sql('CREATE SCHEMA voxform; CREATE TABLE voxform.mine (a integer)');
    await recordedIn(await storeIn(url));
    expect(await sql(tablesIn)).toContainEqual({ name: 'voxform.mine' });
  });

  it.each([
    ['another table of that name', 'CREATE TABLE voxform.states (name text PRIMARY KEY, colour text)'],
    ['a view of that name', 'CREATE VIEW voxform.journal AS SELECT 1 AS a'],
    ['a version of another application', 'CREATE TABLE voxform.schema_version (version text)'],
    ['a missing version of ours', 'CREATE TABLE voxform.schema_version (part text, version integer)'],
  ])('of another application is refused and not changed: %s', { tags: ['long'] }, async (_reason, table) => {
    const { url, sql } = await freshDatabase();
    await sql(`CREATE SCHEMA voxform; ${table}`);
    const before = await sql(tablesIn);
    const store = await storeIn(url);
    for (const work of [() => store.read(), () => store.lock(lockRequest()), () => store.history()]) {
      const { message, hint } = await failureOf(work());
      expect(message).toContain('has tables of another program');
      expect(hint).toBe('Set state.schema to another schema. Nothing was changed.');
    }
    expect(await sql(tablesIn)).toEqual(before);
  });

  it.each([
    ['its tables are the same', 'SELECT 1'],
    ['its tables differ', 'ALTER TABLE voxform.states RENAME COLUMN revision TO number'],
    ['a table is missing', 'DROP TABLE voxform.journal'],
  ])('of a newer voxform is refused: %s', async (_reason, change) => {
    const { url, sql } = await freshDatabase();
    await recordedIn(await storeIn(url));
    await sql(`UPDATE voxform.schema_version SET version = 2; ${change}`);
    const { message, hint } = await failureOf((await storeIn(url)).lock(lockRequest()));
    expect(message).toContain('has version 2; this version of voxform supports 1');
    expect(hint).toBe('Upgrade voxform.');
  });

  it('with a missing table is refused', async () => {
    const { url, sql } = await freshDatabase();
    await recordedIn(await storeIn(url));
    await sql('DROP TABLE voxform.journal');
    const { message } = await failureOf((await storeIn(url)).lock(lockRequest()));
    expect(message).toContain('lacks journal');
  });
});

describe('stored state', () => {
  it.each([
    ['a truncated document', 'UPDATE voxform.states SET state = left(state, 200)'],
    ['an edited document', "UPDATE voxform.states SET state = replace(state, 'id-a', 'id-b')"],
    ['truncated entries', 'UPDATE voxform.journal SET line = left(line, 40)'],
    [
      'a missing entry',
      'DELETE FROM voxform.journal WHERE (revision, nth) = (SELECT min(revision), 1 FROM voxform.journal)',
    ],
  ])('that is damaged is refused and not changed: %s', { tags: ['long'] }, async (_reason, change) => {
    const { url, sql } = await freshDatabase();
    await recordedIn(await storeIn(url));
    const lost = await openSession(await storeIn(url), sessionOptions());
    await lost.record(creating('b'));
    await lost.record(saved('b'));
    await sql(`UPDATE voxform.states SET lock = NULL; ${change}`);
    const before = await sql('SELECT state FROM voxform.states');
    const { hint } = await failureOf(openSession(await storeIn(url), sessionOptions()));
    expect(hint).toContain('voxform state push FILE');
    expect(await sql('SELECT state FROM voxform.states')).toEqual(before);
    expect((await (await storeIn(url)).backups()).flatMap(({ resources }) => [...resources.keys()])).toBeDefined();
  });

  it('keeps a limited number of earlier documents, and a limited history', async () => {
    const { url, sql } = await freshDatabase();
    const store = await storeIn(url);
    for (let run = 0; run < 8; run++) {
      const session = await openSession(store, sessionOptions({ lock: lockRequest({ isStep: false }) }));
      await session.record({ type: 'updating', address: 'Agent/a', paths: [`path-${run}`] });
      await session.record(saved('a', `id-${run}`));
      await session.close();
    }
    const ids = (await store.backups()).map(({ resources }) => resources.get('Agent/a')?.id);
    expect(ids).toEqual(['id-7', 'id-6', 'id-5', 'id-4', 'id-3', 'id-2']);
    expect(await store.history()).toHaveLength(8);
    await sql("INSERT INTO voxform.history SELECT 'staging', -n, repeat('x', 1000000) FROM generate_series(1, 9) n");
    await recordedIn(store, lockRequest({ isStep: false }));
    expect(await store.history()).toHaveLength(9);
    const old = 'SELECT count(*)::integer AS lines FROM voxform.history WHERE revision < 0';
    expect(await sql(old)).toEqual([{ lines: 3 }]);
    expect(await sql('SELECT count(*)::integer AS lines FROM voxform.journal')).toEqual([{ lines: 0 }]);
  });

  it("is on disk even if the server's default is asynchronous commit", async () => {
    const { url, sql, name } = await freshDatabase();
    await sql(`ALTER DATABASE ${name} SET synchronous_commit = off`);
    const session = await openSession(await storeIn(url), sessionOptions());
    const [before] = await sql('SELECT pg_current_wal_insert_lsn()::text AS at');
    await session.record(creating('a'));
    const [after] = await sql(`SELECT pg_current_wal_flush_lsn() > '${before?.at}' AS flushed`);
    expect(after).toEqual({ flushed: true });
    await session.close();
  });
});
