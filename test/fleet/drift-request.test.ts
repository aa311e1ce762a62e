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

it('keeps one request a workspace, whichever process has its turn', async () => {
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
  // Ends before the folder of its processes goes.
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
  expect(host.calls, 'no request is looked for while there is no drift').toEqual([]);

  await step('it drifts: there is one request, which the status has', async () => {
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

  await step('the host fails: runs succeed, and it is left alone for a while', async () => {
    const { length } = host.calls;
    host.faults.push({ on: /./, answer: { status: 401 } });
    project.edit('day', { llm_config: { temperature: 0.8 } });
    await until({ status: 'drifted', request: { problem: expect.stringContaining('rejected the token') } });
    expect((await fleetFigures(database)).requests).toEqual({ failing: 1 });
    const seen = log.length;
    await expect.poll(() => log.length).toBeGreaterThan(seen + 1);
    expect(host.calls).toHaveLength(length + 1);
  });

  await step('a person asks for a run: the request is brought in line at once', async () => {
    await fleetControl(database).run([ADDRESS], 'ann');
    await until({ request: { status: 'open', problem: null } });
    await expect.poll(() => project.text('voxform/drift/clients+acme@test', 'manifests/agents.yaml')).toContain('0.8');
  });

  await step('a person merges it: the workspace is in sync, and there is no second request', async () => {
    host.merge(host.requests[0]?.number ?? 0);
    await until({ status: 'in-sync', request: { status: 'none' } });
    expect(host.requests).toHaveLength(1);
  });
});
