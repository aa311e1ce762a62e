import { describe, expect, it } from 'vitest';
import type { EmulatorOptions } from '../../../../src/emulator/start-emulator.ts';
import { openSession, readState } from '../../../../src/state/session.ts';
import { type Ended, start, temporaryFolder } from '../../../cli/voxform-process.ts';
import { API_KEY, agentManifest, projectFile, type TestWorkspace, testWorkspace } from '../../../cli/workspace.ts';
import { saved, sessionOptions } from '../../temporary-state.ts';
import { TcpProxy } from '../tcp-proxy.ts';
import { type Database, freshDatabase, storeIn } from './databases.ts';
import { postgresServer } from './postgres-server.ts';

const STATE = 'state: { backend: postgres, url: { $secret: STATE_URL }, name: "voices/{workspace}" }\n';

/** Creates a workspace whose state is in the database, and its project. */
async function workspaceIn(count: number, options?: EmulatorOptions): Promise<TestWorkspace> {
  const workspace = await testWorkspace(manifests(count), options);
  await workspace.folder.write('voxform.yaml', projectFile(workspace.emulator, STATE));
  return workspace;
}

/** Returns manifests of agents named line-0, line-1 and so on. */
function manifests(count: number): Record<string, string> {
  const names = Array.from({ length: count }, (_, index) => `line-${index}`);
  return { 'manifests/lines.yaml': names.map((name) => agentManifest(name)).join('---\n') };
}

/** Runs an apply in a separate process and folder. */
async function applyElsewhere({ emulator }: TestWorkspace, url: string, ...flags: string[]): Promise<Ended> {
  await using folder = await temporaryFolder({
    'voxform.yaml': projectFile(emulator, STATE),
    ...manifests(6),
  });
  return await start(['apply', '--auto-approve', ...flags], { cwd: folder.root, env: envWith(url) }).ended;
}

const envWith = (url: string) => ({ VOXFORM_API_KEY: API_KEY, STATE_URL: url });

/** Joins wrapped lines. */
function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ');
}

function namesOn({ emulator }: TestWorkspace): string[] {
  return [...emulator.world.agents.values()].map(({ name }) => name ?? '').sort();
}

/** Ages the lock by a minute, on the server's clock. */
async function passMinute({ sql }: Database): Promise<void> {
  await sql("UPDATE voxform.states SET heard = heard - interval '60 s'");
}

describe('runs with a state in PostgreSQL', () => {
  it('create each record once if they are concurrent', { tags: ['long'] }, async () => {
    const { url } = await freshDatabase();
    await using workspace = await workspaceIn(6);
    const runs = await Promise.all([
      ...[1, 2].map(() => applyElsewhere(workspace, url, '--lock-timeout', '50s')),
      ...[3, 4].map(() => applyElsewhere(workspace, url)),
    ]);
    expect(namesOn(workspace)).toEqual([0, 1, 2, 3, 4, 5].map((each) => `line-${each}`));
    for (const { code, stderr } of runs) {
      if (code !== 0) expect(oneLine(stderr)).toMatch(/is locked by \S+@\S+ \(process \d+\) since .* for apply/);
    }
    expect(runs.slice(0, 2).map(({ code, stderr }) => [code, code === 0 ? '' : stderr])).toEqual([
      [0, ''],
      [0, ''],
    ]);
    const plan = await workspace.runWith(envWith(url), 'plan', '--detailed-exitcode');
    expect(plan.code).toBe(0);
  });

  it('that are killed lose no id and create no duplicate', { tags: ['long'] }, async () => {
    const kill = async (nth: number): Promise<void> => {
      const database = await freshDatabase();
      let posts = 0;
      let killed: (() => void) | undefined;
      await using workspace = await workspaceIn(8, {
        onRequest: ({ method }) => {
          if (method === 'POST' && ++posts === nth) killed?.();
          return undefined;
        },
      });
      const first = workspace.start(['apply', '--auto-approve', '--concurrency', '2'], {
        env: envWith(database.url),
      });
      killed = () => first.child.kill('SIGKILL');
      expect(await first.ended).toMatchObject({ signal: 'SIGKILL' });
      const refused = await workspace.runWith(envWith(database.url), 'apply', '--auto-approve');
      expect(oneLine(refused.stderr)).toContain('is locked by');
      await passMinute(database);
      const second = await workspace.runWith(envWith(database.url), 'apply', '--auto-approve');
      expect(oneLine(second.stderr)).toContain('from a run without a heartbeat for');
      const state = await readState(await storeIn(database.url, { name: 'voices/test' }), {
        ...sessionOptions(),
        workspaceId: workspace.emulator.workspaceId,
      });
      const names = namesOn(workspace);
      expect(new Set(names).size).toBe(names.length);
      const ids = [...state.resources.values()].map(({ id }) => id);
      const unknown = [...state.pending.keys()];
      expect(ids.length + unknown.length).toBe(8);
      for (const [id, { name }] of workspace.emulator.world.agents) {
        expect(ids.includes(id) || unknown.includes(`Agent/${name}`), `${name} is known`).toBe(true);
      }
    };
    await Promise.all([1, 2, 5, 8].map(kill));
  });

  it('read once for a plan, and store no secret', async () => {
    const database = await freshDatabase();
    await using workspace = await workspaceIn(3);
    await using proxy = await TcpProxy.start((await postgresServer()).port);
    const url = database.urlWith({ port: proxy.port });
    const applied = await workspace.runWith(envWith(url), 'apply', '--auto-approve', '-v');
    let statements = 0;
    proxy.sent = (bytes) => {
      if (bytes.includes('"voxform"')) statements += 1;
    };
    const planned = await workspace.runWith(envWith(url), 'plan', '-v');
    expect(planned.stdout).toContain('No changes');
    expect(statements).toBe(1);
    const rows = await database.sql(`SELECT query_to_xml('SELECT * FROM voxform.states', true, true, '')
      || query_to_xml('SELECT * FROM voxform.history', true, true, '')::text
      || query_to_xml('SELECT * FROM voxform.earlier', true, true, '')::text AS all`);
    const shown = JSON.stringify([applied, planned, rows]);
    expect(shown).toContain('line-1');
    expect(shown).not.toMatch(/p@ss|p%40ss/);
    expect(shown).not.toContain(API_KEY);
  });

  it('write nothing after another run took the lock', async () => {
    const database = await freshDatabase();
    const first = await openSession(await storeIn(database.url), sessionOptions());
    await first.record({ type: 'updating', address: 'Agent/a', paths: [] });
    await passMinute(database);
    const second = await openSession(await storeIn(database.url), sessionOptions());
    await expect(first.record({ type: 'not-done', address: 'Agent/a' })).rejects.toThrow('lost');
    await second.close();
    await first.close().catch(() => undefined);
    const [{ epoch } = {}] = await database.sql('SELECT epoch FROM voxform.states');
    expect(Number(epoch)).toBe(2);
  });

  it('do not fetch entries again that they have already read', async () => {
    const database = await freshDatabase();
    await using proxy = await TcpProxy.start((await postgresServer()).port);
    const session = await openSession(await storeIn(database.url), sessionOptions());
    for (let index = 0; index < 20; index++) {
      await session.record(saved(`${'x'.repeat(5_000)}${index}`));
    }
    let bytes = 0;
    proxy.answer = (piece) => {
      bytes += piece.length;
      return piece;
    };
    const store = await storeIn(database.urlWith({ port: proxy.port }));
    const first = await store.read();
    expect(bytes).toBeGreaterThan(100_000);
    bytes = 0;
    await session.record(saved('b'));
    const { journal } = await store.read();
    expect(bytes).toBeLessThan(5_000);
    expect(journal.slice(0, -1)).toEqual(first.journal);
    await session.close();
    const { document } = await store.read();
    expect(Object.keys(document?.resources ?? {})).toHaveLength(21);
  });
});
