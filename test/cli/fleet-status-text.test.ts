import { expect, it } from 'vitest';
import { fleetStatusText } from '../../src/cli/fleet-status-text.ts';
import type { FleetWorkspace } from '../../src/fleet/rows/status-rows.ts';
import { type WorkspaceStatus, workspaceStatuses } from '../../src/operator/workspace-status.ts';
import { createStyle } from '../../src/output/style.ts';

const AT = '2030-01-01T00:00:00.000Z';
const address = 'voices/acme:test';
const invalid: FleetWorkspace = {
  address,
  status: 'invalid',
  since: AT,
  mode: 'approve',
  intervalSeconds: 60,
  workspaceId: null,
  baseUrl: null,
  checkedAt: AT,
  checkedAge: 1,
  isOld: false,
  dueAt: AT,
  asked: null,
  failures: 0,
  paused: null,
  vanishedAt: null,
  commit: 'bbbb',
  problem: null,
  plan: { id: 'd7b1be51bf3c', state: 'waiting', madeAt: AT, by: null },
  rejected: null,
  last: { commit: 'aaaa', problems: ['a.yaml:1:1 unknown kind'] },
};

function textOf(workspace: FleetWorkspace, only?: string, more: object = {}): string {
  const none = Object.fromEntries(workspaceStatuses.map((each) => [each, 0])) as Record<WorkspaceStatus, number>;
  const figures = {
    lateness: 0,
    oldestCheckAge: 1,
    neverChecked: 0,
    orphans: 0,
    requests: {},
    sources: [],
    ...more,
  };
  const status = {
    ...figures,
    at: AT,
    frozen: null,
    counts: { ...none, [workspace.status]: 1 },
    violations: { deny: 0, warn: 0 },
    processes: [],
    workspaces: [workspace],
    unusedRules: [],
  };
  return fleetStatusText(status, createStyle({ color: false, width: 120 }), only);
}

it('fleetStatusText names the applied commit of invalid manifests and the plan that waits for approval', () => {
  expect(textOf(invalid, address)).toMatch(/^Commit +aaaa; bbbb is invalid$/m);
  const row = /invalid .* a\.yaml:1:1 unknown kind; plan d7b1be51bf3c waits for approval$/m;
  expect(textOf(invalid)).toMatch(row);
  expect(textOf({ ...invalid, last: {} }, address)).toMatch(/^Commit +bbbb$/m);
});

it('fleetStatusText prints no age of a check that never ran', () => {
  expect(textOf(invalid, undefined, { oldestCheckAge: 60 })).toMatch(/: 1 invalid; oldest check 60 s ago$/m);
  const never = textOf(invalid, undefined, { oldestCheckAge: 60, neverChecked: 1 });
  expect(never).toMatch(/: 1 invalid; oldest check 60 s ago; 1 never checked$/m);
});
