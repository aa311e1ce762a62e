import { describe, expect, it } from 'vitest';
import { driftOf, hasDrift } from '../../../src/engine/decide/drift-view.ts';
import type { Plan } from '../../../src/engine/decide/make-plan.ts';
import type { PlannedResource } from '../../../src/engine/plan/plan-document.ts';
import { change, plan, resource } from '../../output/sample-plan.ts';
import { inDashboard } from '../../step-texts.ts';
import { observedOf } from './facts.ts';

const moved = change('name', { before: 'theirs', after: 'ours', cause: 'drift' });
const both = change('role', { before: 'theirs', after: 'ours', cause: 'both' });
const edited = change('timeout', { before: 1, after: 2, cause: 'manifest' });

function drift(resources: readonly PlannedResource[], gone: readonly string[] = []) {
  const found: Plan = {
    document: plan(resources, {
      warnings: [
        ...resources.map(({ address }) => ({ address, message: 'something' })),
        ...resources.map(({ address }) => ({ address, message: 'resent', may_erase: ['llm_config.api_key'] })),
        { address: null, message: 'of the whole run' },
      ],
      guards: [{ guard: 'large_change', message: 'many' }],
    }),
    settled: new Map(),
    unchecked: [],
    observed: observedOf(Object.fromEntries(gone.map((address) => [address, 'missing']))),
  };
  return driftOf(found);
}

describe('drift', () => {
  it.each([
    { reason: 'changed by others', changes: [moved], stays: ['name'] },
    { reason: 'changed by both', changes: [both], stays: ['role'] },
    { reason: 'changed by the manifest', changes: [edited], stays: [] },
    { reason: 'changed by others, and an edit', changes: [moved, edited], stays: ['name'] },
  ])('contains the drifted fields of an update: $reason', ({ changes, stays }) => {
    const found = drift([resource('Agent/a', { action: 'update', changes, desired: { name: 'ours' } })]);
    expect(found.resources[0]?.changes.map(({ path }) => path)).toEqual(stays);
    expect(found.resources[0]?.action).toBe(stays.length > 0 ? 'update' : 'noop');
    expect(hasDrift(found)).toBe(stays.length > 0);
    expect(found.summary).toMatchObject({ update: stays.length > 0 ? 1 : 0, noop: stays.length > 0 ? 0 : 1 });
  });

  it.each(['blocked', 'manual'] as const)('is reported also if no write is possible: %s', (action) => {
    const found = drift([
      resource('Webhook/h', { action, changes: [moved], steps: [inDashboard('In the dashboard, …')] }),
    ]);
    expect(found.resources[0]).toMatchObject({ action, changes: [moved] });
    expect(hasDrift(found)).toBe(true);
  });

  it('contains missing records', () => {
    const found = drift([resource('Agent/a', { action: 'manual', changes: [edited], missing: true })]);
    expect(found.resources[0]).toMatchObject({ action: 'manual', changes: [] });
    expect(hasDrift(found)).toBe(true);
  });

  it.each<PlannedResource>([
    resource('Agent/a', { action: 'create', id: null, changes: [edited] }),
    resource('WorkspaceUser/a', { action: 'manual', id: null, steps: [inDashboard('In the dashboard, invite …')] }),
  ])('excludes resources that were never applied: $action', (planned) => {
    const found = drift([planned]);
    expect(found.resources).toEqual([]);
    expect(found.summary[planned.action]).toBe(0);
  });

  it.each(['forget', 'adopt', 'unknown', 'replace', 'noop'] as const)('excludes the action %s', (action) => {
    const found = drift([
      resource('Agent/a', { action, changes: [edited], steps: [inDashboard('do')], desired: {}, observed_digest: 'd' }),
    ]);
    expect(found.resources).toEqual([resource('Agent/a', { reason: 'no drift' })]);
    expect(hasDrift(found)).toBe(false);
  });

  it('contains no notices of publications', () => {
    const notices = ['never published'];
    const found = drift([
      resource('Agent/a', { action: 'update', changes: [moved], notices }),
      resource('Agent/b', { notices }),
    ]);
    expect(found.resources.map((each) => each.notices)).toEqual([undefined, undefined]);
  });

  it('has no guards, and only the warnings of drifted resources or of the whole run', () => {
    const found = drift([
      resource('Agent/a', { action: 'update', changes: [moved] }),
      resource('Agent/b', { action: 'update', changes: [edited] }),
    ]);
    expect(found.guards).toEqual([]);
    expect(found.warnings.map(({ address }) => address)).toEqual(['Agent/a', null]);
  });
});
