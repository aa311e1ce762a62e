import { describe, expect, it } from 'vitest';
import { trippedGuards } from '../../../src/engine/decide/guards.ts';
import type { Action } from '../../../src/engine/plan/plan-actions.ts';
import type { PlannedChange, PlannedResource } from '../../../src/engine/plan/plan-document.ts';
import type { ShownRecord } from '../../../src/kinds/kind.ts';
import { guardFlags } from '../../../src/output/next-steps.ts';
import { observedOf } from './facts.ts';

function planned(action: Action, details: Partial<PlannedResource> = {}): PlannedResource {
  const kind = details.kind ?? 'Agent';
  return {
    address: `${kind}/x`,
    kind,
    action,
    id: 'R1',
    source: null,
    reason: '',
    changes: [],
    depends_on: [],
    ...details,
  };
}

function tripped(
  resources: readonly PlannedResource[],
  { managed = 0, users }: { managed?: number; users?: readonly ShownRecord[] | undefined },
): string[] {
  const observed = { ...observedOf({}), lists: new Map(users && [['WorkspaceUser', users]]) };
  const guards = { maxChangedPercent: 50, minResources: 10 };
  const isManaged = ({ adopted }: PlannedResource) => adopted !== true;
  return trippedGuards(resources, { guards, observed, managed, isManaged }).map(
    ({ guard, message }) => `${guardFlags[guard]} ${message}`,
  );
}

describe('the guard against large changes', () => {
  const times = (count: number, action: Action) => Array.from({ length: count }, () => planned(action));

  it.each([
    { reason: 'half of them', resources: times(5, 'update'), managed: 10, trips: false },
    { reason: 'more than half', resources: times(6, 'update'), managed: 10, trips: true },
    { reason: 'more than half of a few', resources: times(9, 'update'), managed: 9, trips: false },
    { reason: 'nothing managed yet', resources: times(50, 'create'), managed: 0, trips: false },
    {
      reason: 'updates, replacements and releases together',
      resources: [...times(2, 'update'), ...times(2, 'replace'), ...times(2, 'forget')],
      managed: 10,
      trips: true,
    },
    {
      reason: 'missing records that are recreated',
      resources: Array.from({ length: 6 }, () => planned('create', { recreates: 'R1' })),
      managed: 10,
      trips: true,
    },
    {
      reason: 'users who were just invited',
      resources: Array.from({ length: 9 }, () => planned('update', { adopted: true })),
      managed: 10,
      trips: false,
    },
    {
      reason: 'actions that change no managed record',
      resources: (['create', 'adopt', 'manual', 'blocked', 'unknown', 'noop'] as const).flatMap((action) =>
        times(10, action),
      ),
      managed: 10,
      trips: false,
    },
  ])('trips with $reason: $trips', ({ resources, managed, trips }) => {
    const found = tripped(resources, { managed });
    expect(found).toHaveLength(trips ? 1 : 0);
    if (trips) expect(found[0]).toContain('--allow-large-change 6 of 10 managed resources would change');
  });
});

describe('the guard of owners', () => {
  const role = (after: string): PlannedChange => ({
    path: 'role',
    after,
    cause: 'manifest',
    verified: true,
    sensitive: false,
  });
  const update = (name: string, changes: readonly PlannedChange[]): PlannedResource =>
    planned('update', { kind: 'WorkspaceUser', address: `WorkspaceUser/${name}`, id: name, changes });
  const ada = { id: 'ada', email: 'ada@example.com', role: 'owner', is_owner: true };
  const bob = { id: 'bob', email: 'bob@example.com', role: 'admin', is_owner: false };
  const hal = { id: 'hal', email: 'hal@example.com', role: null, is_owner: true };

  it('ignores other changes', () => {
    const modules = { ...role('x'), path: 'modules' };
    const resources = [update('ada', [modules]), update('bob', [role('member')])];
    expect(tripped(resources, { users: [ada, bob] })).toEqual([]);
  });

  it('stops a change of an owner, even if another one remains', () => {
    const users = [ada, { ...bob, role: 'owner' }];
    expect(tripped([update('ada', [role('member')])], { users })).toEqual([
      '--allow-owner-change WorkspaceUser/ada is a workspace owner, and its role would change',
    ]);
  });

  it('reports that no owner would remain', () => {
    const found = tripped([update('ada', [role('member')])], { users: [ada, bob] });
    expect(found).toHaveLength(2);
    expect(found[1]).toContain('left without an owner');
  });

  it('counts an owner that is added in the same run', () => {
    const resources = [update('ada', [role('member')]), update('bob', [role('owner')])];
    const found = tripped(resources, { users: [ada, bob] });
    expect(found.join()).not.toContain('left without an owner');
    expect(found).toHaveLength(1);
  });

  it('recognizes an owner by is_owner too', () => {
    expect(tripped([update('hal', [role('admin')])], { users: [hal] })).toHaveLength(2);
  });

  it('cannot be bypassed with a secret role', () => {
    const { after: _, ...rest } = role('member');
    const found = tripped([update('ada', [{ ...rest, sensitive: true }])], { users: [ada, bob] });
    expect(found).toHaveLength(2);
  });

  it('ignores blocked changes', () => {
    const blocked = { ...update('ada', [role('member')]), action: 'blocked' as const };
    expect(tripped([blocked], { users: [ada, bob] })).toEqual([]);
  });

  it('trips without a refresh, because owners are not known', () => {
    expect(tripped([update('bob', [role('member')])], { users: undefined })).toEqual([
      expect.stringContaining('--allow-owner-change WorkspaceUser/bob may be a workspace owner'),
    ]);
  });

  it('ignores a workspace without an owner', () => {
    expect(tripped([update('bob', [role('member')])], { users: [bob] })).toEqual([]);
  });

  it('reports in the same order for any order of users', () => {
    const users = [ada, { ...hal, role: 'owner' }, bob];
    const resources = [update('ada', [role('member')]), update('hal', [role('member')])];
    const found = tripped(resources, { users });
    expect(found).toHaveLength(3);
    expect(tripped(resources, { users: users.toReversed() })).toEqual(found);
  });
});
