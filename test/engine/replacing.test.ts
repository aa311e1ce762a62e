import { describe, expect, it } from 'vitest';
import { inDashboard } from '../step-texts.ts';
import { actionsIn, at, Bench, outcomes } from './bench.ts';
import { agent, number, user, webhook } from './resources.ts';

describe('a change that no update can make', () => {
  it.each(['metadata.replace', '--allow-replace'])(
    'replaces a webhook with %s, and keeps the old one as an orphan',
    async (how) => {
      const w = await Bench.applied([webhook('h', { timeout: 5 })]);
      const old = await w.idOf('Webhook/h');
      const desired = [webhook('h', { timeout: 6 }, { mayReplace: how === 'metadata.replace' })];
      const allowReplace = how === 'metadata.replace' ? [] : ['Webhook/h'];
      const plan = await w.plan(desired, { allowReplace });
      expect(at(plan, 'Webhook/h')).toMatchObject({ action: 'replace', id: old });
      expect(plan.warnings.map(({ message }) => message).join()).toContain(`${old} stays active`);
      const report = await w.apply(desired, { allowReplace });
      expect(outcomes(report)).toEqual({ 'Webhook/h': 'done' });
      expect(report.warnings.map(({ message }) => message).join()).toContain(old);
      expect([...w.emulator.world.webhooks.values()].map(({ timeout }) => timeout)).toEqual([5, 6]);
      const state = await w.state();
      expect(state.orphans).toMatchObject([{ kind: 'Webhook', id: old, address: 'Webhook/h', reason: 'replaced' }]);
      expect(state.resources.get('Webhook/h')?.id).not.toBe(old);
      expect(actionsIn(await w.plan(desired))).toEqual([]);
    },
  );

  it('blocks a webhook that drifted', async () => {
    const w = await Bench.open();
    const desired = [webhook('h', { timeout: 5 })];
    await w.apply(desired);
    const id = await w.idOf('Webhook/h');
    w.emulator.dashboard.edit('webhooks', id, { timeout: 9 });
    expect(at(await w.drift(desired), 'Webhook/h').changes).toMatchObject([
      { path: 'timeout', cause: 'drift', before: 9, after: 5 },
    ]);
    expect(at(await w.plan(desired), 'Webhook/h').action).toBe('blocked');
  });

  it('replaces a webhook once, although reads return another form than creates', async () => {
    const w: Bench = await Bench.open(
      {},
      {
        onRequest: ({ method }) => {
          for (const { id, url } of method === 'GET' ? w.emulator.world.webhooks.values() : [])
            w.emulator.dashboard.edit('webhooks', id, { url: url.replace(/\/?$/, '/') });
          return undefined;
        },
      },
    );
    const desired = [webhook('h', { url: 'https://example.com/hook' }, { mayReplace: true })];
    await w.apply(desired);
    const report = await w.apply(desired);
    expect(report.warnings.map(({ message }) => message).join()).toContain('changed url');
    expect(actionsIn(await w.plan(desired))).toEqual([]);
    expect(w.emulator.world.webhooks.size).toBe(2);
  });

  it('replaces a number once, although lists return other digits than creates', async () => {
    const w: Bench = await Bench.open(
      {},
      {
        onRequest: ({ method }) => {
          for (const { id, number } of method === 'GET' ? w.emulator.world.numbers.values() : [])
            w.emulator.dashboard.edit('numbers', id, { number: number.replace(/^0/, '+49') });
          return undefined;
        },
      },
    );
    const desired = [number('n', { number: '030123456' }, { mayReplace: true })];
    for (let run = 0; run < 3; run++) await w.apply(desired);
    expect(actionsIn(await w.plan(desired))).toEqual([]);
    expect(w.emulator.world.numbers.size).toBe(2);
  });

  it('lists all matching records, with the address of managed ones', async () => {
    const w = await Bench.open();
    const other = number('other', { number: '+49302' });
    await w.apply([number('n', { number: '+49301' }), other]);
    const known = await w.idOf('PhoneNumber/other');
    const { id: unknown } = await w.client.numbers.create({ number: '+49302' });
    const { reason } = at(await w.plan([number('n', { number: '+49302' }, { mayReplace: true })]), 'PhoneNumber/n');
    expect(reason).toContain('matches 2 other records: ');
    expect(reason).toContain(`PhoneNumber/other (${known})`);
    expect(reason).toMatch(new RegExp(`(?<!\\()${unknown}`));
  });

  it('uses an existing number instead of creating it twice', async () => {
    const w = await Bench.applied([number('n', { number: '+49301' })]);
    const old = await w.idOf('PhoneNumber/n');
    const other = await w.client.numbers.create({ number: '+49302' });
    w.requests();
    const desired = [number('n', { number: '+49302' }, { mayReplace: true })];
    expect(outcomes(await w.apply(desired))).toEqual({ 'PhoneNumber/n': 'done' });
    expect(w.writes).toEqual([]);
    const state = await w.state();
    expect(state.resources.get('PhoneNumber/n')?.id).toBe(other.id);
    expect(state.orphans).toMatchObject([{ id: old, reason: 'replaced' }]);
    expect(actionsIn(await w.plan(desired))).toEqual([]);
  });

  it('moves to another user, who is updated in the same run', async () => {
    const w = await Bench.open();
    const ada = w.emulator.dashboard.inviteUser({ email: 'ada@example.com', role: 'member' });
    await w.apply([user('boss', { email: 'ada@example.com', role: 'admin' })]);
    const desired = (mayReplace: boolean) => [
      user('boss', { email: 'grace@example.com', role: 'admin' }, { mayReplace }),
    ];
    for (const allowed of [false, true]) {
      const planned = at(await w.plan(desired(allowed)), 'WorkspaceUser/boss');
      expect(planned).toMatchObject({
        action: 'manual',
        steps: [inDashboard('In the dashboard, invite grace@example.com to the workspace.')],
      });
    }
    const grace = w.emulator.dashboard.inviteUser({ email: 'grace@example.com', role: 'member' });
    expect(at(await w.plan(desired(false)), 'WorkspaceUser/boss').action).toBe('blocked');
    const plan = await w.plan(desired(true));
    expect(at(plan, 'WorkspaceUser/boss')).toMatchObject({ action: 'update', adopted: true, id: grace.id });
    expect(outcomes(await w.applySaved(plan))).toEqual({ 'WorkspaceUser/boss': 'done' });
    expect(w.emulator.world.users.get(grace.id)?.role).toBe('admin');
    const state = await w.state();
    expect(state.resources.get('WorkspaceUser/boss')?.id).toBe(grace.id);
    expect(state.orphans).toMatchObject([{ id: ada.id, reason: 'replaced' }]);
    expect(actionsIn(await w.plan(desired(true)))).toEqual([]);
  });
});

describe('a resource that leaves the manifests', () => {
  it('is forgotten, kept as an orphan, and adopted again without a write', async () => {
    const w = await Bench.applied([webhook('h'), webhook('i')]);
    const id = await w.idOf('Webhook/h');
    const plan = await w.plan([webhook('i')]);
    expect(at(plan, 'Webhook/h')).toMatchObject({ action: 'forget', id, source: null });
    w.requests();
    expect(outcomes(await w.apply([webhook('i')]))).toEqual({ 'Webhook/h': 'done' });
    expect(w.writes).toEqual([]);
    expect((await w.state()).orphans).toMatchObject([{ id, reason: 'forgotten', address: 'Webhook/h' }]);
    expect(w.emulator.world.webhooks.has(id)).toBe(true);
    expect(actionsIn(await w.plan([webhook('i')]))).toEqual([]);

    const again = [webhook('i'), webhook('again', { url: 'https://example.com/h' }, { id })];
    expect(at(await w.plan(again), 'Webhook/again')).toMatchObject({ action: 'adopt', id });
    await w.apply(again);
    expect([(await w.state()).orphans, await w.idOf('Webhook/again')]).toEqual([[], id]);
    expect(w.writes).toEqual([]);
  });

  it('gets its record back when it returns, and a new one only if that is missing and --allow-recreate is given', async () => {
    const w = await Bench.open();
    const desired = [agent('a'), webhook('h'), number('n', { number: '+12025550120' })];
    await w.apply(desired);
    const before = (await w.state()).resources;
    w.requests();
    expect(actionsIn(await w.plan([]))).toEqual(['forget Agent/a', 'forget PhoneNumber/n', 'forget Webhook/h']);
    await w.apply([]);
    expect(w.writes).toEqual([]);
    const released = await w.state();
    expect([released.orphans.length, released.resources.size]).toEqual([3, 0]);
    expect((await w.plan([])).resources).toEqual([]);
    const plan = await w.plan(desired);
    expect(actionsIn(plan)).toEqual(['adopt Agent/a', 'adopt PhoneNumber/n', 'adopt Webhook/h']);
    expect(outcomes(await w.applySaved(plan))).toMatchObject({ 'Agent/a': 'done', 'Webhook/h': 'done' });
    expect(w.writes).toEqual([]);
    const after = await w.state();
    expect(after.orphans).toEqual([]);
    for (const [address, { id }] of before) expect(after.resources.get(address)?.id).toBe(id);

    await w.apply([]);
    w.emulator.dashboard.remove('agents', before.get('Agent/a')?.id ?? '');
    expect(at(await w.plan(desired), 'Agent/a')).toMatchObject({ action: 'blocked' });
    const allowed = await w.plan(desired, { allowRecreate: ['Agent/a'] });
    expect(at(allowed, 'Agent/a')).toMatchObject({ action: 'create' });
  });
});

describe('a number that moves from one manifest to another', () => {
  it('is managed afterwards, and not an orphan', async () => {
    const w = await Bench.applied([number('a', { number: '+49301' }), number('z', { number: '+49302' })]);
    const before = new Map((await w.state()).resources);
    const desired = [number('a', { number: '+49302' }, { mayReplace: true })];
    expect(actionsIn(await w.plan(desired))).toEqual(['adopt PhoneNumber/a', 'forget PhoneNumber/z']);
    expect(outcomes(await w.apply(desired, { concurrency: 1 }))).toEqual({
      'PhoneNumber/a': 'done',
      'PhoneNumber/z': 'done',
    });
    const { resources, orphans } = await w.state();
    expect(resources.get('PhoneNumber/a')?.id).toBe(before.get('PhoneNumber/z')?.id);
    expect(orphans.map(({ id }) => id)).toEqual([before.get('PhoneNumber/a')?.id]);
    expect(actionsIn(await w.plan(desired))).toEqual([]);
  });
});

describe('two swapped numbers', () => {
  it('are blocked, because one record cannot have two addresses', async () => {
    const w = await Bench.open();
    const declared = (one: string, two: string) => [
      number('a', { number: one }, { mayReplace: true }),
      number('b', { number: two }, { mayReplace: true }),
    ];
    await w.apply(declared('+49301', '+49302'));
    const swapped = declared('+49302', '+49301');
    const plan = await w.plan(swapped);
    expect(actionsIn(plan)).toEqual(['blocked PhoneNumber/a', 'blocked PhoneNumber/b']);
    expect(at(plan, 'PhoneNumber/a').reason).toContain('identifies the record of PhoneNumber/b');
    expect(await w.writesOf(swapped)).toEqual([]);
  });
});
