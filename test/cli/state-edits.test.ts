import { cp, readFile, truncate } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { step } from '../step.ts';
import { agentManifest, type TestWorkspace, testWorkspace } from './workspace.ts';

const FILES = { 'manifests/a.yaml': agentManifest('day'), 'manifests/b.yaml': agentManifest('night') };

interface Row {
  readonly address: string;
  readonly id: string;
}

async function rowsOf(workspace: TestWorkspace, ...args: string[]): Promise<Row[]> {
  const command = args.length === 0 ? ['state', 'list'] : args;
  return JSON.parse((await workspace.run(...command, '--output', 'json')).stdout) as Row[];
}

describe('commands that edit the state', () => {
  it('move, release and list records', async () => {
    await using workspace = await testWorkspace(FILES);
    await workspace.run('apply', '--auto-approve');
    const rows = (...args: string[]) => rowsOf(workspace, ...args);
    const [day, night] = await rows('state', 'list');

    expect((await workspace.run('state', 'mv', 'Agent/day', 'Agent/night')).stderr).toContain('already in the state');
    expect((await workspace.run('state', 'mv', 'Agent/day', 'Webhook/day')).code).toBe(64);
    const odd = await workspace.run('state', 'mv', 'Agent/day', 'Agent/early DAWN');
    expect(odd.code).toBe(64);
    expect(odd.stderr).toContain('no manifest can have this name');
    expect((await workspace.run('state', 'mv', 'Agent/day', 'Agent/dawn')).code).toBe(0);
    expect((await rows('state', 'list')).map(({ address, id }) => [address, id])).toEqual([
      ['Agent/dawn', day?.id],
      ['Agent/night', night?.id],
    ]);

    expect((await workspace.run('state', 'rm', 'Agent/night', 'Agent/nihgt')).stderr).toContain('did you mean');
    expect(await rows('state', 'list')).toHaveLength(2);
    const released = await workspace.run('state', 'rm', 'Agent/night', 'Agent/night');
    expect([released.code, released.stdout.match(/Released/g)]).toEqual([0, ['Released']]);
    expect(await rows('orphans')).toMatchObject([
      { kind: 'Agent', id: night?.id, address: 'Agent/night', reason: 'removed', exists: null },
    ]);
    expect(await rows('orphans', '--check')).toMatchObject([{ exists: true }]);
    workspace.emulator.dashboard.remove('agents', night?.id ?? '');
    expect(await rows('orphans', '--check')).toMatchObject([{ exists: false }]);
  });

  it('close orphans, and do not adopt records that were handed over', async () => {
    await using workspace = await testWorkspace({
      ...FILES,
      'manifests/c.yaml': agentManifest('third'),
      'manifests/n.yaml':
        'apiVersion: voxform/v1\nkind: PhoneNumber\nmetadata: { name: line }\nspec: { number: "+12025550120" }\n',
    });
    await workspace.run('apply', '--auto-approve');
    const ids = new Map((await rowsOf(workspace)).map(({ address, id }) => [address, id]));
    const [night = '', third = '', line = ''] = ['Agent/night', 'Agent/third', 'PhoneNumber/line'].map(
      (address) => ids.get(address) ?? '',
    );
    await workspace.run('state', 'rm', 'Agent/night', 'Agent/third', 'PhoneNumber/line');
    const close = (...args: string[]) => workspace.run('orphans', 'close', ...args);
    await step('orphans are closed with a reason', async () => {
      expect((await close(night)).code).toBe(64);
      expect((await close('nobody', '--because', 'kept')).stderr).toContain('not on the orphan list');
      expect((await close(night, line, '--because', 'handed-over', '--lock-timeout', '5s')).stdout).toContain(
        `Closed Agent/night (${night}): handed-over.`,
      );
      expect(await rowsOf(workspace, 'orphans')).toMatchObject([{ id: third, exists: null }]);
      expect(await rowsOf(workspace, 'orphans', '--all')).toMatchObject([
        { id: night, closed: { because: 'handed-over' } },
        { id: third },
        { id: line, natural_key: '12025550120', closed: { because: 'handed-over' } },
      ]);
    });

    const planned = async () => {
      const { stdout } = await workspace.run('plan', '--output', 'json');
      const { resources } = JSON.parse(stdout) as {
        readonly resources: readonly { readonly address: string; readonly action: string }[];
      };
      return Object.fromEntries(resources.map(({ address, action }) => [address, action]));
    };
    await step('a plan adopts no record that was handed over', async () => {
      expect(await planned()).toEqual({
        'Agent/day': 'noop',
        'Agent/night': 'blocked',
        'Agent/third': 'adopt',
        'PhoneNumber/line': 'blocked',
      });
      const writes = workspace.writes();
      await workspace.run('apply', '--auto-approve', '--target', 'Agent/night', '--target', 'PhoneNumber/line');
      expect(workspace.writes()).toBe(writes);
    });

    await step('an orphan is closed again, for another reason', async () => {
      const again = await close(night, '--because', 'deleted');
      expect(again.stdout).toBe(`Closed Agent/night (${night}): deleted (was handed-over).\n`);
      expect((await close('Agent/nigth', '--because', 'kept')).stderr).toContain('not on the orphan list');
      expect((await close('Agent/third', '--because', 'kept')).stdout).toContain(`Closed Agent/third (${third})`);
      expect((await close('Agent/third', '--because', 'deleted')).stdout).toContain('deleted (was kept)');
    });

    await step('a deleted record is created again, and an imported one is managed again', async () => {
      expect((await planned())['Agent/night'], 'a person closed it as deleted').toBe('create');
      expect((await workspace.run('import', 'PhoneNumber/line', line)).code).toBe(0);
      expect((await planned())['PhoneNumber/line']).toBe('noop');
      expect(await rowsOf(workspace, 'orphans', '--all')).toHaveLength(2);
    });
  });

  it('close orphans by globs, or all that are open', async () => {
    await using workspace = await testWorkspace({
      'manifests/a.yaml': ['day', 'desk-1', 'desk-2'].map((name) => agentManifest(name)).join('---\n'),
    });
    await workspace.run('apply', '--auto-approve');
    await workspace.run('state', 'rm', 'Agent/day', 'Agent/desk-1', 'Agent/desk-2');
    const close = async (...args: string[]) =>
      (await workspace.run('orphans', 'close', ...args, '--because', 'kept')).code;
    expect([await close(), await close('--all', 'Agent/day'), await close('Webhook/*')]).toEqual([64, 64, 64]);
    expect(await close('Agent/desk-*')).toBe(0);
    expect(await rowsOf(workspace, 'orphans')).toMatchObject([{ address: 'Agent/day' }]);
    expect(await close('--all')).toBe(0);
    expect(await rowsOf(workspace, 'orphans')).toEqual([]);
    expect(await close('--all')).toBe(0);
  });

  it('close orphans that are certainly missing from the platform', async () => {
    await using workspace = await testWorkspace(FILES);
    await workspace.run('apply', '--auto-approve');
    const [day, night] = await rowsOf(workspace);
    await workspace.run('state', 'rm', 'Agent/night');
    const check = (...args: string[]) => rowsOf(workspace, 'orphans', '--check', ...args);
    expect(await check()).toMatchObject([{ exists: true }]);
    const { dashboard } = workspace.emulator;
    dashboard.remove('agents', night?.id ?? '');
    dashboard.remove('agents', day?.id ?? '');
    const doubtful = await workspace.run('orphans', '--check');
    expect(doubtful.stderr).toContain('nothing was closed');
    expect(await rowsOf(workspace, 'orphans')).toHaveLength(1);
    await workspace.run('state', 'rm', 'Agent/day');
    const { stderr } = await workspace.run('orphans', '--check');
    expect(stderr).toContain(`Closed Agent/night (${night?.id}): missing from the platform.`);
    expect(stderr).toContain(`Closed Agent/day (${day?.id}): missing from the platform.`);
    expect(await rowsOf(workspace, 'orphans')).toEqual([]);
    expect(await check('--all')).toMatchObject([
      { id: night?.id, exists: false, closed: { because: 'deleted' } },
      { id: day?.id, exists: false, closed: { because: 'deleted' } },
    ]);
  });

  it('keep orphans open if their record belongs to another workspace', async () => {
    await using workspace = await testWorkspace({
      ...FILES,
      'manifests/n.yaml': `apiVersion: voxform/v1\nkind: PhoneNumber\nmetadata: { name: n }\nspec: { number: "+4930123456" }\n`,
    });
    await workspace.run('apply', '--auto-approve');
    const ids = (await rowsOf(workspace)).map(({ id }) => id ?? '');
    await workspace.run('state', 'rm', 'Agent/night');
    await workspace.run('state', 'rm', 'PhoneNumber/n');
    const { dashboard } = workspace.emulator;
    dashboard.edit('agents', ids[1] ?? '', { workspace_id: 'ANOTHER' });
    dashboard.edit('numbers', ids[2] ?? '', { workspace_id: 'ANOTHER' });
    expect(await rowsOf(workspace, 'orphans', '--check')).toMatchObject([{ exists: null }, { exists: null }]);
    expect(await rowsOf(workspace, 'orphans')).toHaveLength(2);
  });

  it('restore a state from a copy, but not an older one by accident', async () => {
    await using workspace = await testWorkspace(FILES);
    const state = path.join(workspace.folder.root, '.voxform');
    const empty = await workspace.run('state', 'pull');
    expect(empty.code).toBe(1);
    expect(empty.stderr).toContain('no state');
    await workspace.run('apply', '--auto-approve', '--target', 'Agent/day');
    const early = (await workspace.run('state', 'pull')).stdout;
    await workspace.folder.write('early.json', early);
    expect((await workspace.run('state', 'push', 'early.json')).stdout).toContain('already identical');
    await workspace.run('apply', '--auto-approve');

    const older = await workspace.run('state', 'push', 'early.json');
    expect(older.code).toBe(1);
    expect(older.stderr).toContain('older than the state');
    expect((await workspace.run('state', 'push', 'early.json', '--force')).code).toBe(0);
    expect((await workspace.run('orphans')).stdout).not.toContain('Agent/night');
    const now = JSON.parse((await workspace.run('state', 'pull')).stdout) as {
      serial: number;
      resources: object;
    };
    expect(Object.keys(now.resources)).toEqual(['Agent/day']);
    expect(now.serial).toBeGreaterThan((JSON.parse(early) as { serial: number }).serial + 1);

    await workspace.folder.write('other.json', JSON.stringify({ ...JSON.parse(early), lineage: 'another' }));
    expect((await workspace.run('state', 'push', 'other.json')).stderr).toContain('another lineage');
    await workspace.folder.write('alien.json', JSON.stringify({ ...JSON.parse(early), workspace_id: 'another' }));
    expect((await workspace.run('state', 'push', 'alien.json', '--force')).stderr).toContain('workspace another');
    const edited = (await workspace.run('state', 'pull')).stdout.replace('"Agent/day"', '"Agent/dawn"');
    await workspace.folder.write('.voxform/test.state.json', edited);
    await workspace.folder.write('edited.json', edited);
    const list = await workspace.run('state', 'list');
    expect([list.code, list.stderr.replace(/\s+/g, ' ')]).toEqual([1, expect.stringContaining('its digest')]);
    await cp(path.join(state, `test.state.json.backup-${now.serial}`), path.join(state, 'test.state.json'));
    expect((await workspace.run('state', 'push', 'edited.json')).code).toBe(0);
    expect((await rowsOf(workspace)).map(({ address }) => address)).toEqual(['Agent/dawn']);

    await workspace.folder.write('cut.json', early.slice(0, 40));
    expect((await workspace.run('state', 'push', 'cut.json')).stderr).toContain('truncated JSON');
  });

  it('replace a damaged state in one step, and keep its unknown creates', async () => {
    await using workspace = await testWorkspace(FILES);
    const { folder } = workspace;
    const state = path.join(folder.root, '.voxform/test.state.json');
    await workspace.run('apply', '--auto-approve', '--target', 'Agent/day');
    await folder.write('early.json', (await workspace.run('state', 'pull')).stdout);
    await folder.write('manifests/c.yaml', agentManifest('third'));
    workspace.emulator.faults.add({ match: { method: 'POST' }, times: 1, fault: { cut: 'after' } });
    await workspace.run('apply', '--auto-approve', '--concurrency', '1');
    const before = JSON.parse((await workspace.run('state', 'pull')).stdout);
    const [lost = ''] = Object.keys(before.pending);
    const [createdAddress = ''] = Object.keys(before.resources).filter((address) => address !== 'Agent/day');
    await truncate(state, 200);
    const damaged = await readFile(state);

    const refused = await workspace.run('state', 'push', 'early.json');
    expect(refused.code).toBe(1);
    expect(refused.stderr.replace(/\s+/g, ' ')).toContain('voxform state push --force early.json');
    expect(await readFile(state)).toEqual(damaged);
    const { code, stdout } = await workspace.run('state', 'push', '--force', 'early.json');
    expect(code).toBe(0);
    const [, aside = ''] = /kept in (.*)\.$/m.exec(stdout) ?? [];
    expect(await readFile(path.join(aside, 'test.state.json'))).toEqual(damaged);
    expect(stdout).toContain(`${lost} is not in early.json: it is still an unknown create.`);

    const planned = await workspace.run('plan', '--output', 'json');
    expect(planned.stderr).not.toContain('older');
    expect(JSON.parse(planned.stdout).resources).toMatchObject([
      { address: 'Agent/day', action: 'noop' },
      ...[
        { address: lost, action: 'unknown' },
        { address: createdAddress, action: 'adopt', id: before.resources[createdAddress].id },
      ].sort((a, b) => (a.address < b.address ? -1 : 1)),
    ]);
    await workspace.run('apply', '--auto-approve');
    expect(workspace.emulator.world.agents.size).toBe(3);
  });

  it('keep every id that is missing from a pushed document, unless forced', async () => {
    await using workspace = await testWorkspace(FILES);
    await workspace.run('apply', '--auto-approve');
    const { resources, ...rest } = JSON.parse((await workspace.run('state', 'pull')).stdout) as {
      resources: Record<string, Row>;
      pending: Record<string, object>;
      orphans: object[];
    };
    const { 'Agent/night': night, ...others } = resources;
    const id = night?.id ?? '';
    const push = async (document: object, ...flags: string[]) => {
      await workspace.folder.write('copy.json', JSON.stringify({ ...rest, ...document }));
      return workspace.run('state', 'push', 'copy.json', ...flags);
    };
    const double = await push({ resources: { ...resources, 'Agent/late': night } }, '--force');
    expect(double.code).toBe(1);
    expect(double.stderr.replace(/\s+/g, ' ')).toContain('at two addresses: Agent/night and Agent/late');

    const pushed = await push({ resources: others });
    expect(pushed.stdout).toContain(`Agent/night (${id}) is not in copy.json`);
    const orphans = JSON.parse((await workspace.run('orphans', '--output', 'json')).stdout) as Row[];
    expect(orphans).toMatchObject([{ kind: 'Agent', id, address: 'Agent/night', reason: 'removed' }]);

    const current = JSON.parse((await workspace.run('state', 'pull')).stdout) as { serial: number };
    await workspace.run('orphans', 'close', id, '--because', 'kept');
    expect((await push({ ...current, serial: 90, orphans: [] })).code).toBe(0);
    expect(await rowsOf(workspace, 'orphans', '--all')).toMatchObject([
      { id, reason: 'removed', closed: { because: 'kept' } },
    ]);
    expect((await push({ ...current, serial: 95, resources, orphans: [] })).code).toBe(0);
    expect((await workspace.run('orphans', '--output', 'json')).stdout.trim()).toBe('[]');

    const dead = { since: '2030-01-01T00:00:00Z', recorded: {} };
    const again = JSON.parse((await workspace.run('state', 'pull')).stdout) as object;
    expect((await push({ ...again, pending: { 'Agent/lost': dead } })).code).toBe(0);
    const dropping = await push({ ...again, serial: 99, pending: {} });
    expect(dropping.code).toBe(1);
    expect(dropping.stderr.replace(/\s+/g, ' ')).toContain('drops unknown creates of the state: Agent/lost');
    expect((await push({ ...again, serial: 99, pending: {} }, '--force')).code).toBe(0);
  });
});

describe('state resolve', () => {
  async function withUnknowns() {
    const workspace = await testWorkspace({
      ...FILES,
      'manifests/c.yaml': agentManifest('noon'),
    });
    workspace.emulator.faults.add({ match: { method: 'POST' }, times: 3, fault: { cut: 'before' } });
    expect((await workspace.run('apply', '--auto-approve')).code).toBe(1);
    const open = async () => {
      const { stdout } = await workspace.run('state', 'pull');
      const { pending = {} } = JSON.parse(stdout) as { pending?: Record<string, { since: string }> };
      return pending;
    };
    return { workspace, open };
  }

  it('resolves several creates at once, or none of them', async () => {
    const { workspace, open } = await withUnknowns();
    await using _ = workspace;
    const refused = await workspace.run('state', 'resolve', 'Agent/day', 'Agent/dusk', '--not-created');
    expect(refused.code).toBe(64);
    expect(refused.stderr).toContain('Agent/dusk has no unknown create');
    expect(Object.keys(await open())).toHaveLength(3);
    const { code, stdout } = await workspace.run('state', 'resolve', 'Agent/day', 'Agent/noon', '--not-created');
    expect([code, stdout.match(/as not created/g)?.length]).toEqual([0, 2]);
    expect(Object.keys(await open())).toEqual(['Agent/night']);
  });

  it('resolves all creates with one approval, and lists them first', async () => {
    const { workspace, open } = await withUnknowns();
    await using _ = workspace;
    const asked = await workspace.run('state', 'resolve', '--all', '--not-created');
    expect(asked.code).toBe(1);
    expect(asked.stderr).toContain('--auto-approve');
    for (const address of Object.keys(await open())) expect(asked.stdout).toContain(address);
    expect(Object.keys(await open())).toHaveLength(3);
    const settled = await workspace.run('state', 'resolve', '--all', '--not-created', '--auto-approve');
    expect(settled.code).toBe(0);
    expect(await open()).toEqual({});
    const nothing = await workspace.run('state', 'resolve', '--all', '--not-created', '--auto-approve');
    expect([nothing.code, nothing.stderr]).toEqual([0, expect.stringContaining('No unknown creates.')]);
    expect((await workspace.run('apply', '--auto-approve')).code).toBe(0);
    expect(workspace.emulator.world.agents.size).toBe(3);
  });

  it('resolves only creates that were sent since a time', async () => {
    const { workspace, open } = await withUnknowns();
    await using _ = workspace;
    const sent = Object.entries(await open()).map(([address, { since }]) => ({ address, since }));
    const latest =
      sent
        .map(({ since }) => since)
        .sort()
        .at(-1) ?? '';
    const run = (since: string) =>
      workspace.run('state', 'resolve', '--all', '--since', since, '--not-created', '--auto-approve');
    expect((await run('2999-01-01')).stderr).toContain('No unknown creates.');
    const anHourLater = new Date(Date.parse(latest) + 3_600_000).toISOString().slice(0, 19);
    const inTokyo = workspace.start(
      ['state', 'resolve', '--all', '--since', anHourLater, '--not-created', '--auto-approve'],
      { env: { TZ: 'Asia/Tokyo' } },
    );
    expect((await inTokyo.ended).stderr).toContain('No unknown creates.');
    expect((await run(latest)).code).toBe(0);
    expect(Object.keys(await open()).sort()).toEqual(
      sent.filter(({ since }) => since < latest).map(({ address }) => address),
    );
    expect((await run('2000-01-01')).code).toBe(0);
    expect(await open()).toEqual({});
  });

  it.each([
    ['--all with an address', ['Agent/day', '--all']],
    ['--since without --all', ['Agent/day', '--since', '2026-01-01']],
    ['no address', []],
    ['an invalid date', ['--all', '--since', 'yesterday']],
  ])('refuses %s', async (_, args) => {
    await using workspace = await testWorkspace(FILES);
    expect((await workspace.run('state', 'resolve', ...args, '--not-created')).code).toBe(64);
  });
});
