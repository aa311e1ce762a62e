/** @module-tag long */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { createFleetMetrics } from '../../src/fleet/fleet-metrics.ts';
import { fleetFigures } from '../../src/fleet/rows/status-rows.ts';
import { temporaryFolder } from '../cli/voxform-process.ts';
import { agentManifest, projectFile } from '../cli/workspace.ts';
import { readFleet } from '../page/read-fleet.ts';
import { runningPage } from '../page/running-page.ts';
import { listenHttp } from '../platform/listen.ts';
import { step } from '../step.ts';
import { command } from '../trust/in-process.ts';
import { serverOptions } from './server-options.ts';
import { testFleet } from './test-fleet.ts';

const APPLY = 'workspaces: { "*": { mode: apply, interval: 1h } }';
const names = ['one', 'two', 'three', 'four', 'five', 'six'];
const addressOf = (project: string) => `voices/${project}:test`;

it('applies every workspace once with several processes, and leaves only table rows', async () => {
  const fleet = await testFleet({ projects: names, rules: APPLY });
  await Promise.all([fleet.server(), fleet.server()]);
  await fleet.until(async () => (await fleet.control.status({ statuses: ['in-sync'] })).workspaces.length === 6);
  for (const [project, { requests }] of fleet.emulators) {
    expect([project, requests.filter(({ method }) => method === 'POST').length]).toEqual([project, 1]);
  }
  await step('runs requested workspaces immediately', async () => {
    await fleet.control.run(names.map(addressOf), 'ann');
    await fleet.until(() => fleet.reports.length >= 12);
  });
  expect(fleet.reports.filter(({ report }) => report?.result !== 'ok')).toEqual([]);
  await step('a change starts a run', async () => {
    await fleet.write('three', 'Two.');
    await fleet.until(() =>
      fleet.reports.some(({ report }) => report?.applied.some(({ action }) => action === 'update') === true),
    );
  });
  const { counts, processes } = await fleet.control.status({});
  expect([counts['in-sync'], processes.map(({ status }) => status)]).toEqual([6, ['alive', 'alive']]);
});

it('runs changes found by a fetch without waiting for the next poll', async () => {
  const fleet = await testFleet({ projects: ['acme'], rules: APPLY });
  const before = await fleet.server();
  await fleet.until(async () => (await fleet.status(addressOf('acme'))) === 'in-sync');
  await before.stop('done');
  await fleet.write('acme', 'Two.');
  const reports = fleet.reports.length;
  await fleet.server({ timing: { tick: 600_000, beat: 1000, heartbeatTimeout: 30_000 } });
  await fleet.until(() => fleet.reports.length > reports);
});

it('creates no second state for a workspace whose project switches to another backend', async () => {
  const fleet = await testFleet({ projects: ['acme'], rules: APPLY });
  await fleet.server();
  await fleet.until(async () => (await fleet.status(addressOf('acme'))) === 'in-sync');
  const workspaceId = fleet.emulators.get('acme')?.workspaceId ?? '';
  const emulator = { url: 'https://voice.example.com', workspaceId };
  await fleet.folder.write('acme/voxform.yaml', projectFile(emulator, 'state: { backend: local }\n'));
  await fleet.until(async () => (await fleet.status(addressOf('acme'))) === 'failed');
  const { workspaces } = await fleet.control.status({ address: addressOf('acme') });
  expect(workspaces[0]?.last).toMatchObject({
    error: expect.stringContaining('voices/acme:test, with 1 record, belongs to the same workspace'),
  });
});

it('runs neither of two projects that overlap, and names the rules that match no workspace', async () => {
  const fleet = await testFleet({ projects: ['acme', 'acme/eu', 'beta'], rules: APPLY });
  const project = readFileSync(path.join(fleet.folder.root, 'acme/voxform.yaml'), 'utf8');
  await fleet.folder.write('acme/voxform.yaml', `${project}manifests: ["**/manifests/*.yaml"]\n`);
  const rules = 'workspaces: { "*:staging": { mode: apply }, "*": { mode: apply, interval: 1h } }';
  await fleet.folder.write(
    'fleet.yaml',
    `version: 1\ndatabase: { $secret: FLEET_DATABASE_URL }\nsources: { voices: { path: ., projects: ["**"] } }\n${rules}\n`,
  );
  await fleet.server();
  await fleet.until(async () => (await fleet.control.status({})).counts.failed === 2);
  await fleet.until(async () => (await fleet.status(addressOf('beta'))) === 'in-sync');
  for (const each of ['acme', 'acme/eu']) {
    const { workspaces } = await fleet.control.status({ address: addressOf(each) });
    expect(workspaces[0]?.last).toMatchObject({
      error: expect.stringMatching(/^the manifests of voices\/acme include those of voices\/acme\/eu; neither runs/),
    });
    expect(fleet.emulators.get(each)?.requests).toEqual([]);
  }
  expect(fleet.log.filter((line) => line.includes('rule'))).toEqual([
    'warning no workspace matches the rule "*:staging"',
  ]);
});

it('records in the history the commit of its source folder', async () => {
  const fleet = await testFleet({ projects: ['acme'], rules: APPLY });
  const git = (...args: string[]): string =>
    execFileSync('git', ['-C', path.join(fleet.folder.root, 'acme'), ...args], { encoding: 'utf8' }).trim();
  git('init', '--quiet');
  git('add', '.');
  git('-c', 'user.name=ann', '-c', 'user.email=ann@example.com', 'commit', '--quiet', '--message', 'one');
  await fleet.server();
  await fleet.until(async () => (await fleet.status(addressOf('acme'))) === 'in-sync');
  const [line] = await fleet.pg.sql('SELECT line FROM voxform_fleet.history ORDER BY revision LIMIT 1');
  expect(JSON.parse(String(line?.line))).toMatchObject({ commit: git('rev-parse', 'HEAD') });
});

it('ends a run that exceeds its timeout, and counts it as a failure', async () => {
  const fleet = await testFleet({ projects: ['acme'], rules: APPLY });
  fleet.emulators.get('acme')?.faults.add({ match: { method: 'GET' }, times: 1, fault: { delayMs: 50_000 } });
  await fleet.server({ timeout: 300 });
  await fleet.until(async () => (await fleet.status(addressOf('acme'))) === 'failed');
  const [acme] = (await fleet.control.status({})).workspaces;
  expect(acme).toMatchObject({
    failures: 1,
    last: { result: 'timeout', error: expect.stringContaining('the run took longer than 0.3 s') },
  });
});

it('enforces the rules of the fleet file, which no project can weaken', async () => {
  const own = (deny: string) => `policies: [{ name: kind-prompts, kind: Agent, deny: '${deny}' }]`;
  const fleet = await testFleet({
    projects: ['one', 'two'],
    rules: `${APPLY}\n${own('spec.prompt_config.prompt != "One."')}`,
  });
  await fleet.write('two', 'Two.');
  const project = readFileSync(path.join(fleet.folder.root, 'two/voxform.yaml'), 'utf8');
  await fleet.folder.write('two/voxform.yaml', `${project}${own('false')}\n`);
  await fleet.server();
  await fleet.until(() => fleet.reports.length >= 2);
  const results = Object.fromEntries(fleet.reports.map(({ address, report }) => [address, report]));
  expect(results[addressOf('one')]).toMatchObject({ result: 'ok', applied: [{ action: 'create' }] });
  expect(results[addressOf('two')]).toMatchObject({
    result: 'refused',
    hold: { reason: 'policy', violations: [{ rule: 'kind-prompts', policy_file: 'fleet.yaml' }] },
    applied: [],
  });
  expect(fleet.emulators.get('two')?.world.agents.size).toBe(0);
  await fleet.until(async () => (await fleet.status(addressOf('two'))) === 'pending');
  const metrics = createFleetMetrics('1', () => fleetFigures(fleet.database));
  expect(await metrics.text()).toContain('voxform_fleet_policy_violations{severity="deny"} 1');
});

it('shows a new project that is broken everywhere until it is fixed', async () => {
  const fleet = await testFleet({ projects: ['acme'], rules: APPLY });
  const problem = 'voxform.yaml:1:1  unknown field "junk"';
  const file = readFileSync(path.join(fleet.folder.root, 'acme/voxform.yaml'), 'utf8');
  await fleet.folder.write('beta/voxform.yaml', `junk: true\n${file}`);
  await fleet.server();
  await fleet.until(async () => (await fleet.status(addressOf('acme'))) === 'in-sync');
  const { database, control, folder, pg } = fleet;
  const broken = [{ project: 'voices/beta', problem: expect.stringContaining(problem) }];
  const status = (...args: string[]) =>
    command(['fleet', 'status', ...args], { cwd: folder.root, env: { FLEET_DATABASE_URL: pg.url } });
  const { stdout, code } = await status('--detailed-exitcode');
  expect([code, stdout]).toEqual([2, expect.stringContaining('1 workspace: 1 in-sync; 1 broken project; ')]);
  expect(stdout).toContain(`\nCannot use voices/beta: ${problem}`);
  expect(JSON.parse((await status('--output', 'json')).stdout).sources).toMatchObject([{ broken }]);
  await step('within the width of a terminal', async () => {
    const because = 'until the people who answer these calls have read what the agent is going to say to them';
    const decision = { by: 'ann', because };
    await control.pause([addressOf('acme')], decision);
    for (const args of [[], [addressOf('acme')]]) {
      const columns = 80;
      const env = { FLEET_DATABASE_URL: pg.url };
      const shown = await command(['fleet', 'status', ...args], { cwd: folder.root, env, columns });
      const words = args.length === 0 ? `Cannot use voices/beta: ${problem}` : `by ann: ${because}`;
      expect(shown.stdout.replaceAll(/\s+/g, ' ')).toContain(words.replaceAll(/\s+/g, ' '));
      const prose = shown.stdout.split('\n').filter((line) => !line.startsWith('Source '));
      expect(prose.filter((line) => line.length > columns)).toEqual([]);
    }
    expect((await status(addressOf('acme'))).stdout).toMatch(new RegExp(`^Note +paused by ann: ${because}$`, 'm'));
    await control.resume([addressOf('acme')], 'ann');
  });
  expect(fleet.log.filter((line) => line.includes('voices/beta'))).toEqual([
    expect.stringContaining(`warning cannot use voices/beta: ${problem}`),
  ]);
  const metrics = createFleetMetrics('1', () => fleetFigures(database));
  expect(await metrics.text()).toContain('voxform_fleet_broken_projects{source="voices"} 1');
  const closeOrphan = () => Promise.reject(new Error('there is none'));
  const page = readFleet({ database, control }, { closeOrphan });
  expect((await page.overview()).broken).toMatchObject(broken);
  await using opened = await runningPage({ source: page });
  const { text } = await opened.ask('/');
  expect(text).toContain('unknown field &quot;junk&quot;');
  expect(text).not.toContain('Nothing needs attention');

  await step('after the fix it is no longer shown as broken', async () => {
    await folder.write('beta/voxform.yaml', file);
    await fleet.until(async () => (await control.status({})).sources[0]?.broken.length === 0);
    expect((await control.status({})).workspaces).toHaveLength(2);
  });
});

it('refuses to use the name of a source for another one in a second fleet while the first is served', async () => {
  const fleet = await testFleet({ projects: ['acme'], rules: 'workspaces: { "*": { interval: 1h } }' });
  const [emulator] = fleet.emulators.values();
  if (emulator === undefined) throw new Error('there is no platform');
  await using second = await temporaryFolder({
    'fleet.yaml': `version: 1
database: { $secret: FLEET_DATABASE_URL }
sources: { voices: { path: theirs, projects: ["*"] }, other: { path: other, projects: ["*"] } }
`,
    'theirs/beta/voxform.yaml': projectFile(emulator),
    'other/gamma/voxform.yaml': projectFile({ url: emulator.url, workspaceId: 'ANOTHER' }),
  });
  const addresses = async () => (await fleet.control.status({})).workspaces.map(({ address }) => address).sort();
  const first = await fleet.server();
  await fleet.until(async () => (await fleet.status(addressOf('acme'))) === 'pending');
  const { sources } = serverOptions(second.root, { url: fleet.pg.url, home: 'second' });
  await fleet.server({ sources });
  await step('the second fleet runs its other sources and reports this', async () => {
    await fleet.until(() => fleet.reports.some(({ address }) => address === 'other/gamma:test'));
    expect(await addresses()).toEqual(['other/gamma:test', addressOf('acme')]);
    const conflict = fleet.log.filter((line) => line.includes('need different names'));
    expect(conflict).toEqual([
      expect.stringMatching(`warning the source voices is ${second.root}/theirs .* but ${fleet.folder.root} `),
    ]);
    const { sources } = await fleet.control.status({});
    expect(sources.find(({ name }) => name === 'voices')?.warnings).toEqual([
      expect.stringContaining(`${second.root}/theirs`),
    ]);
    const { code, stderr } = await command(['fleet', 'exec', addressOf('acme'), 'plan'], {
      cwd: second.root,
      env: { FLEET_DATABASE_URL: fleet.pg.url },
    });
    expect([code, stderr]).toEqual([1, expect.stringContaining('in the database of the fleet')]);
  });
  await step('the second fleet takes the name over when the first has ended', async () => {
    await first.stop('over');
    await fleet.until(async () => (await addresses()).join() === `other/gamma:test,${addressOf('beta')}`);
    await fleet.until(() => fleet.log.join().includes('no longer conflict with another fleet file'));
  });
});

it('logs once that a source cannot be fetched, and that it can be fetched again', async () => {
  const fleet = await testFleet({ projects: ['acme'], rules: APPLY });
  const { folder, database } = fleet;
  const root = path.join(folder.root, 'later');
  await folder.write(
    'fleet.yaml',
    `version: 1\ndatabase: { $secret: FLEET_DATABASE_URL }\nsources: { voices: { path: later, interval: 1s } }\n`,
  );
  await fleet.server();
  const said = () => fleet.log.filter((line) => line.includes('source voices'));
  const fetches = async () => {
    const [row] = await database.query('SELECT seq::integer / 2 AS done FROM voxform_fleet.sources');
    return Number(row?.done);
  };
  await fleet.until(async () => (await fetches()) >= 3);
  const failed = expect.stringContaining(`warning cannot fetch the source voices: cannot open the folder ${root}`);
  expect(said()).toEqual([failed]);
  await folder.write('later/notes.txt', 'none');
  await fleet.until(() => said().length === 2);
  expect(said()).toEqual([failed, 'info the source voices can be fetched again']);
});

it('runs other workspaces while those of one project hang, regardless of their paths', async () => {
  const fleet = await testFleet({ projects: ['one', 'two'], rules: APPLY });
  const { url, seen } = await listenHttp(() => undefined);
  const hanging = Array.from(
    { length: 24 },
    (_, nth) =>
      `  w${nth}: { base_url: "${url}/${nth}", workspace_id: W${nth}, api_key: { $secret: VOXFORM_API_KEY } }`,
  );
  await fleet.folder.write('slow/voxform.yaml', `version: 1\nworkspaces:\n${hanging.join('\n')}\n`);
  await fleet.folder.write('slow/manifests/a.yaml', agentManifest('a', 'One.'));
  await fleet.server({ grace: 100 });
  const begun = () => new Set(seen.map(({ url: path = '' }) => path.split('/')[1])).size;
  await fleet.until(async () => (await fleet.control.status({})).counts['in-sync'] === 2 && begun() >= 4);
  expect(begun()).toBe(4);
});
