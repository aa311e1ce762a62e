/** @module-tag long */

import { expect, it } from 'vitest';
import { fleetControl } from '../../src/fleet/control.ts';
import { fleetDatabaseAt } from '../../src/fleet/database/fleet-database.ts';
import { fleetFigures } from '../../src/fleet/rows/status-rows.ts';
import { FleetServer } from '../../src/fleet/serve.ts';
import { temporaryFolder } from '../cli/voxform-process.ts';
import { DriftProject, SECRETS } from '../hosting/drift-project.ts';
import { freshDatabase } from '../state/backends/postgres/databases.ts';
import { step } from '../step.ts';
import { serverOptions } from './server-options.ts';

const ADDRESS = 'voices/clients/acme:test';

it('keeps one drift request per workspace, regardless of the process that runs it', async () => {
  await using project = await DriftProject.open('github', { folder: 'clients/acme', isApplied: false });
  const { host } = project;
  await using folder = await temporaryFolder({
    'fleet.yaml': `version: 1
database: { $secret: FLEET_DATABASE_URL }
sources: { voices: { git: "${host.remote}", projects: ["clients/*"], interval: 1s } }
workspaces:
  "*": { mode: apply, interval: 1s, on_drift: pull-request }
`,
  });
  // Closed before the folder of the processes is removed.
  await using processes = new AsyncDisposableStack();
  const { url } = await freshDatabase();
  const log: string[] = [];
  const begin = async (home: string) => {
    const options = serverOptions(folder.root, { url, home });
    const context = { ...options.context, env: SECRETS };
    const server = await FleetServer.begin({
      ...options,
      context,
      onRun: (_, { report }) => void log.push(report?.request?.problem ?? ''),
    });
    processes.defer(() => server.stop('test is over'));
  };
  await begin('a');
  await begin('b');
  const database = fleetDatabaseAt(url);
  processes.defer(() => database.close());
  const last = async () => {
    const [shown] = (await fleetControl(database).status({ address: ADDRESS })).workspaces;
    return {
      status: shown?.status,
      request: (shown?.last as { pull_request?: Record<string, unknown> } | null)?.pull_request,
    };
  };
  const until = (what: object) => expect.poll(last, { interval: 50 }).toMatchObject(what);

  await until({ status: 'in-sync', request: { status: 'none' } });
  expect(host.calls, 'no search for a request without drift').toEqual([]);

  await step('drift: one request is opened, and the status contains it', async () => {
    project.edit('day', { llm_config: { temperature: 0.9 } });
    await until({ status: 'drifted', request: { status: 'open' } });
    expect(host.requests).toMatchObject([
      { branch: 'voxform/drift/clients+acme@test', title: 'Accept drift of clients/acme:test', base: 'main' },
    ]);
    expect((await last()).request?.url).toBe(`${host.url}/acme/voices/pull/${host.requests[0]?.number}`);
    const [shown] = (await fleetControl(database).status({ address: ADDRESS })).workspaces;
    expect(shown?.last).toMatchObject({
      files: `${host.url}/acme/voices/blob/${shown?.commit}/clients/acme/{file}#L{line}`,
    });
    const runs = await database.query(
      `SELECT summary->'pull_request'->>'status' AS request FROM voxform_fleet.runs ORDER BY id`,
    );
    expect(runs.map(({ request }) => request)).toContain('open');
    expect((await fleetFigures(database)).requests).toEqual({ open: 1 });
  });

  await step('the host fails: runs succeed, and it is not called for a while', async () => {
    const { length } = host.calls;
    host.faults.push({ on: /./, answer: { status: 401 } });
    project.edit('day', { llm_config: { temperature: 0.8 } });
    await until({ status: 'drifted', request: { problem: expect.stringContaining('rejected the token') } });
    expect((await fleetFigures(database)).requests).toEqual({ failing: 1 });
    const seen = log.length;
    await expect.poll(() => log.length).toBeGreaterThan(seen + 1);
    expect(host.calls).toHaveLength(length + 1);
  });

  await step('a person requests a run: the request is updated at once', async () => {
    await fleetControl(database).run([ADDRESS], 'ann');
    await until({ request: { status: 'open', problem: null } });
    await expect.poll(() => project.text('voxform/drift/clients+acme@test', 'manifests/agents.yaml')).toContain('0.8');
  });

  await step('a person merges the request: the workspace is in sync, and no second request is opened', async () => {
    host.merge(host.requests[0]?.number ?? 0);
    await until({ status: 'in-sync', request: { status: 'none' } });
    expect(host.requests).toHaveLength(1);
  });
});
