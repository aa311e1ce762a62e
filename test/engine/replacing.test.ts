import { describe, expect, it } from 'vitest';
import { inDashboard } from '../step-texts.ts';
import { actionsIn, at, Bench, outcomes } from './bench.ts';
import { agent, number, user, webhook } from './resources.ts';

describe('a change that no update can make', () => {
  it.each(['metadata.replace', '--allow-replace'])(
    'replaces a webhook with %s, and keeps the old one as an orphan',
    async (how) => {
      const bench = await Bench.applied([webhook('h', { timeout: 5 })]);
      const old = await bench.idOf('Webhook/h');
      const desired = [webhook('h', { timeout: 6 }, { mayReplace: how === 'metadata.replace' })];
      const allowReplace = how === 'metadata.replace' ? [] : ['Webhook/h'];
      const plan = await bench.plan(desired, { allowReplace });
      expect(at(plan, 'Webhook/h')).toMatchObject({ action: 'replace', id: old });
      expect(plan.warnings.map(({ message }) => message).join()).toContain(`${old} stays active`);
      const report = await bench.apply(desired, { allowReplace });
      expect(outcomes(report)).toEqual({ 'Webhook/h': 'done' });
      expect(report.warnings.map(({ message }) => message).join()).toContain(old);
      expect([...bench.emulator.world.webhooks.values()].map(({ timeout }) => timeout)).toEqual([5, 6]);
      const state = await bench.state();
      expect(state.orphans).toMatchObject([{ kind: 'Webhook', id: old, address: 'Webhook/h', reason: 'replaced' }]);
      expect(state.resources.get('Webhook/h')?.id).not.toBe(old);
      expect(actionsIn(await bench.plan(desired))).toEqual([]);
    },
  );

  it('blocks a webhook that drifted', async () => {
    const bench = await Bench.open();
    const desired = [webhook('h', { timeout: 5 })];
    await bench.apply(desired);
    const id = await bench.idOf('Webhook/h');
    bench.emulator.dashboard.edit('webhooks', id, { timeout: 9 });
    expect(at(await bench.drift(desired), 'Webhook/h').changes).toMatchObject([
      { path: 'timeout', cause: 'drift', before: 9, after: 5 },
    ]);
    expect(at(await bench.plan(desired), 'Webhook/h').action).toBe('blocked');
  });

  it('replaces a webhook once, although reads return another form than creates', async () => {
    const bench: Bench = await Bench.open(
      {},
      {
        onRequest: ({ method }) => {
          for (const { id, url } of method === 'GET' ? bench.emulator.world.webhooks.values() : [])
            bench.emulator.dashboard.edit('webhooks', id, { url: url.replace(/\/?$/, '/') });
          return undefined;
        },
      },
    );
    const desired = [webhook('h', { url: 'https://example.com/hook' }, { mayReplace: true })];
    await bench.apply(desired);
    const report = await bench.apply(desired);
    expect(report.warnings.map(({ message }) => message).join()).toContain('changed url');
    expect(actionsIn(await bench.plan(desired))).toEqual([]);
    expect(bench.emulator.world.webhooks.size).toBe(2);
  });

  it('replaces a number once, although lists return other digits than creates', async () => {
    const bench: Bench = await Bench.open(
      {},
      {
        onRequest: ({ method }) => {
          for (const { id, number } of method === 'GET' ? bench.emulator.world.numbers.values() : [])
            bench.emulator.dashboard.edit('numbers', id, { number: number.replace(/^0/, '+49') });
          return undefined;
        },
      },
    );
    const desired = [number('n', { number: '030123456' }, { mayReplace: true })];
    for (let run = 0; run < 3; run++) await bench.apply(desired);
    expect(actionsIn(await bench.plan(desired))).toEqual([]);
    expect(bench.emulator.world.numbers.size).toBe(2);
  });

  it('lists all matching records, with the address of managed ones', async () => {
    const bench = await Bench.open();
    const other = number('other', { number: '+49302' });
    await bench.apply([number('n', { number: '+49301' }), other]);
    const known = await bench.idOf('PhoneNumber/other');
    const { id: unknown } = await bench.client.numbers.create({ number: '+49302' });
    const { reason } = at(await bench.plan([number('n', { number: '+49302' }, { mayReplace: true })]), 'PhoneNumber/n');
    expect(reason).toContain('matches 2 other records: ');
    expect(reason).toContain(`PhoneNumber/other (${known})`);
    expect(reason).toMatch(new RegExp(`(?<!\\()${unknown}`));
  });

  it('uses an existing number instead of creating it twice', async () => {
    const bench = await Bench.applied([number('n', { number: '+49301' })]);
    const old = await bench.idOf('PhoneNumber/n');
    const other = await bench.client.numbers.create({ number: '+49302' });
    bench.requests();
    const desired = [number('n', { number: '+49302' }, { mayReplace: true })];
    expect(outcomes(await bench.apply(desired))).toEqual({ 'PhoneNumber/n': 'done' });
    expect(bench.writes).toEqual([]);
    const state = await bench.state();
    expect(state.resources.get('PhoneNumber/n')?.id).toBe(other.id);
    expect(state.orphans).toMatchObject([{ id: old, reason: 'replaced' }]);
    expect(actionsIn(await bench.plan(desired))).toEqual([]);
  });

  it('moves to another user, who is updated in the same run', async () => {
    const bench = await Bench.open();
    const ada = bench.emulator.dashboard.inviteUser({ email: 'ada@example.com', role: 'member' });
    await bench.apply([user('boss', { email: 'ada@example.com', role: 'admin' })]);
    const desired = (mayReplace: boolean) => [
      user('boss', { email: 'grace@example.com', role: 'admin' }, { mayReplace }),
    ];
    for (const allowed of [false, true]) {
      const planned = at(await bench.plan(desired(allowed)), 'WorkspaceUser/boss');
      expect(planned).toMatchObject({
        action: 'manual',
        steps: [inDashboard('In the dashboard, invite grace@example.com to the workspace.')],
      });
    }
    const grace = bench.emulator.dashboard.inviteUser({ email: 'grace@example.com', role: 'member' });
    expect(at(await bench.plan(desired(false)), 'WorkspaceUser/boss').action).toBe('blocked');
    const plan = await bench.plan(desired(true));
    expect(at(plan, 'WorkspaceUser/boss')).toMatchObject({ action: 'update', adopted: true, id: grace.id });
    expect(outcomes(await bench.applySaved(plan))).toEqual({ 'WorkspaceUser/boss': 'done' });
    expect(bench.emulator.world.users.get(grace.id)?.role).toBe('admin');
    const state = await bench.state();
    expect(state.resources.get('WorkspaceUser/boss')?.id).toBe(grace.id);
    expect(state.orphans).toMatchObject([{ id: ada.id, reason: 'replaced' }]);
    expect(actionsIn(await bench.plan(desired(true)))).toEqual([]);
  });
});

describe('a resource that leaves the manifests', () => {
  it('is forgotten, kept as an orphan, and adopted again without a write', async () => {
    const bench = await Bench.applied([webhook('h'), webhook('i')]);
    const id = await bench.idOf('Webhook/h');
    const plan = await bench.plan([webhook('i')]);
    expect(at(plan, 'Webhook/h')).toMatchObject({ action: 'forget', id, source: null });
    bench.requests();
    expect(outcomes(await bench.apply([webhook('i')]))).toEqual({ 'Webhook/h': 'done' });
    expect(bench.writes).toEqual([]);
    expect((await bench.state()).orphans).toMatchObject([{ id, reason: 'forgotten', address: 'Webhook/h' }]);
    expect(bench.emulator.world.webhooks.has(id)).toBe(true);
    expect(actionsIn(await bench.plan([webhook('i')]))).toEqual([]);

    const again = [webhook('i'), webhook('again', { url: 'https://example.com/h' }, { id })];
    expect(at(await bench.plan(again), 'Webhook/again')).toMatchObject({ action: 'adopt', id });
    await bench.apply(again);
    expect([(await bench.state()).orphans, await bench.idOf('Webhook/again')]).toEqual([[], id]);
    expect(bench.writes).toEqual([]);
  });

  it('gets its record back when it returns, and a new one only if that is missing and --allow-recreate is given', async () => {
    const bench = await Bench.open();
    const desired = [agent('a'), webhook('h'), number('n', { number: '+12025550120' })];
    await bench.apply(desired);
    const before = (await bench.state()).resources;
    bench.requests();
    expect(actionsIn(await bench.plan([]))).toEqual(['forget Agent/a', 'forget PhoneNumber/n', 'forget Webhook/h']);
    await bench.apply([]);
    expect(bench.writes).toEqual([]);
    const released = await bench.state();
    expect([released.orphans.length, released.resources.size]).toEqual([3, 0]);
    expect((await bench.plan([])).resources).toEqual([]);
    const plan = await bench.plan(desired);
    expect(actionsIn(plan)).toEqual(['adopt Agent/a', 'adopt PhoneNumber/n', 'adopt Webhook/h']);
    expect(outcomes(await bench.applySaved(plan))).toMatchObject({ 'Agent/a': 'done', 'Webhook/h': 'done' });
    expect(bench.writes).toEqual([]);
    const after = await bench.state();
    expect(after.orphans).toEqual([]);
    for (const [address, { id }] of before) expect(after.resources.get(address)?.id).toBe(id);

    await bench.apply([]);
    bench.emulator.dashboard.remove('agents', before.get('Agent/a')?.id ?? '');
    expect(at(await bench.plan(desired), 'Agent/a')).toMatchObject({ action: 'blocked' });
    const allowed = await bench.plan(desired, { allowRecreate: ['Agent/a'] });
    expect(at(allowed, 'Agent/a')).toMatchObject({ action: 'create' });
  });
});

describe('a number that moves from one manifest to another', () => {
  it('is managed afterwards, and not an orphan', async () => {
    const bench = await Bench.applied([number('a', { number: '+49301' }), number('z', { number: '+49302' })]);
    const before = new Map((await bench.state()).resources);
    const desired = [number('a', { number: '+49302' }, { mayReplace: true })];
    expect(actionsIn(await bench.plan(desired))).toEqual(['adopt PhoneNumber/a', 'forget PhoneNumber/z']);
    expect(outcomes(await bench.apply(desired, { concurrency: 1 }))).toEqual({
      'PhoneNumber/a': 'done',
      'PhoneNumber/z': 'done',
    });
    const { resources, orphans } = await bench.state();
    expect(resources.get('PhoneNumber/a')?.id).toBe(before.get('PhoneNumber/z')?.id);
    expect(orphans.map(({ id }) => id)).toEqual([before.get('PhoneNumber/a')?.id]);
    expect(actionsIn(await bench.plan(desired))).toEqual([]);
  });
});

describe('two swapped numbers', () => {
  it('are blocked, because one record cannot have two addresses', async () => {
    const bench = await Bench.open();
    const declared = (one: string, two: string) => [
      number('a', { number: one }, { mayReplace: true }),
      number('b', { number: two }, { mayReplace: true }),
    ];
    await bench.apply(declared('+49301', '+49302'));
    const swapped = declared('+49302', '+49301');
    const plan = await bench.plan(swapped);
    expect(actionsIn(plan)).toEqual(['blocked PhoneNumber/a', 'blocked PhoneNumber/b']);
    expect(at(plan, 'PhoneNumber/a').reason).toContain('identifies the record of PhoneNumber/b');
    expect(await bench.writesOf(swapped)).toEqual([]);
  });
});
