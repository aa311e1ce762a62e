import { expect, it } from 'vitest';
import { sessionsIn, tokensOf } from '../../src/cli/fleet-page.ts';
import { fleetStatusText } from '../../src/cli/fleet-status-text.ts';
import { fleetDatabaseAt } from '../../src/fleet/database/fleet-database.ts';
import { shownWorkspaces } from '../../src/fleet/rows/status-rows.ts';
import { addToken, listTokens, removeToken } from '../../src/fleet/rows/token-rows.ts';
import { createOrphanCloser } from '../../src/page/fleet-orphans.ts';
import { pathOf } from '../../src/page/views/parts.ts';
import { problemsOf, resourcesOf } from '../../src/page/workspace-detail.ts';
import { Secret } from '../../src/values/value.ts';
import { agentManifest, projectFile } from '../cli/workspace.ts';
import { testFleet } from '../fleet/test-fleet.ts';
import { plainStyle } from '../output/sample-styles.ts';
import { freshDatabase } from '../state/backends/postgres/databases.ts';
import { step } from '../step.ts';
import { enterMany, listPaths } from './many-workspaces.ts';
import { readFleet } from './read-fleet.ts';
import { runningPage } from './running-page.ts';

const RULES = 'workspaces: { "*": { mode: approve, interval: 1h } }';
const USER = `apiVersion: voxform/v1
kind: WorkspaceUser
metadata: { name: ann }
spec: { email: ann@example.com, role: member }
`;
const FORM = /action="\/workspaces[^>]*><input type="hidden" name="form" value="([^"]+)"/;

it('shows a plan of a fleet, lets approvers approve it, and names the approver', { tags: ['long'] }, async () => {
  const { database, control, pg, folder, server, until, status, write, emulators } = await testFleet({
    projects: ['acme', 'beta'],
    rules: RULES,
  });
  const said: string[] = [];
  const closeOrphan = createOrphanCloser({
    fleet: { database: new Secret('FLEET_DATABASE_URL', pg.url) },
    user: 'test',
    now: () => new Date(),
    log: () => undefined,
  });
  const source = readFleet({ database, control }, { closeOrphan, log: (text) => said.push(text) });
  await server();
  const address = 'voices/acme:test';
  await until(async () => (await status(address)) === 'waiting' && (await status('voices/beta:test')) === 'waiting');
  const tokens = {
    viewer: await addToken(database, { name: 'vera', role: 'viewer', by: 'test' }),
    approver: await addToken(database, { name: 'ann@example.com', role: 'approver', by: 'test' }),
    admin: await addToken(database, { name: 'root', role: 'admin', by: 'test' }),
  };
  await using page = await runningPage({
    source,
    tokens: tokensOf(database),
    sessions: sessionsIn(database),
    now: () => new Date(),
  });
  const get = (path: string, cookie = '') => page.ask(path, { headers: { cookie } });
  const act = async (cookie: string, action: string, more: Record<string, string> = {}) => {
    const path = pathOf(address, 'actions', action);
    const form = FORM.exec((await get(`${path}?of=${more.of ?? ''}`, cookie)).text)?.[1] ?? '';
    return (await page.ask(path, { headers: { cookie }, form: { form, ...more } })).status;
  };

  const planned: string[] = [];
  const plan = await step('the overview, the list and the workspace show that it waits', async () => {
    expect((await get('/')).text).toMatch(/<strong>2<\/strong><span class="badge ask">waiting/);
    expect((await get('/workspaces?status=waiting&q=acme')).text).toContain('1 of 2 workspaces');
    const { text } = await get(pathOf(address), await page.signIn(tokens.approver));
    expect(text).toContain('agent-of-acme');
    expect(text).toContain('1 to create');
    const id = /actions\/approve\?of=([0-9a-f]+)"/.exec(text)?.[1] ?? '';
    const [run = ''] = /\/workspaces\/voices\/acme:test\/runs\/\d+/.exec(text) ?? [];
    planned.push(run);
    const told = (await get(run)).text;
    expect(told).toMatch(/agent-of-acme[\s\S]*Action">create<[\s\S]*badge faint">planned/);
    expect(told).toContain(`<dd><a href="${pathOf(address)}#plan">${id}</a>: waits for approval`);
    return id;
  });
  await step('only an approver can approve, and only this plan', async () => {
    expect(await act(await page.signIn(tokens.viewer), 'approve', { of: plan })).toBe(403);
    const cookie = await page.signIn(tokens.approver);
    expect(await act(cookie, 'approve', { of: 'f'.repeat(12) })).toBe(403);
    expect(await act(cookie, 'pause')).toBe(403);
    expect(await act(cookie, 'approve', { of: plan })).toBe(303);
    await until(async () => (await status(address)) === 'in-sync');
    expect(emulators.get('acme')?.requests.filter(({ method }) => method === 'POST')).toHaveLength(1);
    expect(emulators.get('beta')?.requests.filter(({ method }) => method === 'POST')).toHaveLength(0);
  });
  await step('the page shows the resource, its id, and the approver', async () => {
    const { text } = await get(pathOf(address));
    expect(text).toMatch(
      /agent-of-acme<\/code><\/a><\/td>\s*<td data-title="Status"><span class="badge change">unpublished/,
    );
    expect(text).toContain('requested by <bdi>ann@example.com</bdi>');
    expect(text).toMatch(/badge faint">approved/);
    const runs = [...text.matchAll(/href="(\/workspaces\/voices\/acme:test\/runs\/\d+)"/g)];
    const [run, decision] = await Promise.all(runs.map(([, path = '']) => get(path)));
    expect(text).toMatch(/badge good">done[\s\S]*1 created/);
    expect((await get(planned[0] ?? '')).text).toContain(`<dd>${plan}: applied`);
    expect(run?.text).toContain('agent-of-acme');
    expect(decision?.text).not.toContain('agent-of-acme');
    expect(said).toEqual([`ann@example.com: approve ${address} ${plan}`]);
    const gone = await get(`${pathOf(address, 'actions', 'approve')}?of=${plan}`, await page.signIn(tokens.approver));
    expect([gone.status, gone.text]).toEqual([404, expect.stringContaining('no longer waits')]);
    expect(text.match(new RegExp(`plan ${plan}<`, 'g'))?.length).toBeGreaterThan(1);
    await database.query('DELETE FROM voxform_fleet.plans WHERE id = $1', plan);
    expect((await get(planned[0] ?? '')).text).toMatch(/: no longer stored<[\s\S]*class="empty">1 to create</);
  });
  await step('the remaining manual step is shown although all is in sync', async () => {
    expect((await get(pathOf(address))).text).toMatch(
      /1 with manual steps:[\s\S]*>1 unpublished<[\s\S]*publish it when it is ready/,
    );
    expect((await get('/')).text).toMatch(/<h2>Needs attention[\s\S]*voices\/acme:test[\s\S]*1 with manual steps/);
  });
  await step(
    'the page of the resource has its values from the last run, without a request to the platform',
    async () => {
      const emulator = emulators.get('acme');
      const [id = ''] = emulator?.world.agents.keys() ?? [];
      const resource = pathOf(address, 'resources', 'Agent/agent-of-acme');
      expect((await get(resource)).text).toContain('Declared and live values are equal');
      emulator?.dashboard.edit('agents', id, { name: 'Changed in the dashboard' });
      const before = emulator?.requests.length;
      for (let asked = 0; asked < 3; asked++)
        expect((await get(resource)).text).not.toContain('Changed in the dashboard');
      expect(emulator?.requests.length).toBe(before);
      await control.run([address], 'ann');
      await until(async () => (await status(address)) === 'waiting');
      const { text } = await get(resource);
      expect(text).toMatch(
        /class="path">name<(?:(?!<tr>)[\s\S])*agent-of-acme(?:(?!<tr>)[\s\S])*Changed in the dashboard(?:(?!<tr>)[\s\S])*>platform</,
      );
      expect(text).toMatch(/Declared in<\/dt><dd>.*manifests\/a\.yaml:/);
      expect(text).toMatch(/<h2>History[\s\S]*badge good">done/);
      emulator?.dashboard.edit('agents', id, { name: 'agent-of-acme' });
      await control.run([address], 'ann');
      await until(async () => (await status(address)) === 'in-sync');
    },
  );
  await step('a run is in progress while its process lives', async () => {
    const isInProgress = async () => (await get(pathOf(address))).text.includes('in progress');
    await database.query(
      `INSERT INTO voxform_fleet.processes (id, host, pid, version, slots, runs) VALUES ('other', 'h', 1, '0', 1, $1::json)`,
      JSON.stringify([{ address, since: '2030-01-01T00:00:00Z' }]),
    );
    expect(await isInProgress()).toBe(true);
    await database.query(
      `UPDATE voxform_fleet.processes SET heard_at = now() - interval '61 seconds' WHERE id = 'other'`,
    );
    await expect.poll(isInProgress).toBe(false);
  });
  await step('a manual step without a change is shown, also while the workspace is paused', async () => {
    await folder.write('acme/manifests/u.yaml', USER);
    await until(async () => (await status(address)) === 'pending');
    await control.pause([address], { by: 'ann' });
    const { text } = await get(pathOf(address));
    expect(text).toMatch(
      /badge[^>]*>paused[\s\S]*2 with manual steps[\s\S]*1 manual<[\s\S]*1 unpublished<[\s\S]*WorkspaceUser/,
    );
    await folder.write('acme/manifests/u.yaml', '# Nobody.\n');
    await control.resume([address], 'ann');
    await until(async () => (await status(address)) === 'in-sync');
  });
  await step('a rejected plan is shown with its rejecter and the next step, and can still be approved', async () => {
    const beta = pathOf('voices/beta:test');
    const cookie = await page.signIn(tokens.approver);
    const [, of = ''] = /actions\/approve\?of=([0-9a-f]+)"/.exec((await get(beta, cookie)).text) ?? [];
    await control.reject('voices/beta:test', of, { by: 'ann', because: 'not on a Friday' });
    expect((await get(beta)).text).toContain('Not applied: the plan was rejected by ann.');
    await control.pause(['voices/beta:test'], { by: 'ann' });
    // A run that a policy refused left other changes pending, and no plan of its own.
    await database.query(
      `DELETE FROM voxform_fleet.documents WHERE address = 'voices/beta:test' AND kind = 'remaining-plan'`,
    );
    const { text } = await get(beta, cookie);
    expect(text).toContain('1 to create');
    expect(text).toContain('after it is resumed');
    expect(text).toMatch(/Plan rejected by<\/dt><dd>[^/]*ann: not on a Friday/);
    expect(text).toContain('Approval is requested again only for a different plan');
    expect(text).toMatch(/<h2>History[\s\S]*rejected[\s\S]*reason: not on a Friday; plan /);
    expect(text).not.toContain('actions/reject');
    const again = await get(`${beta}/actions/reject?of=${of}`, cookie);
    expect([again.status, again.text]).toEqual([409, expect.stringContaining('The plan is already rejected.')]);
    const approve = `${beta}/actions/approve`;
    expect(text).toContain(`${approve}?of=${of}`);
    const asked = (await get(`${approve}?of=${of}`, cookie)).text;
    expect(asked).toMatch(/Plan made<\/dt><dd><time[\s\S]*Plan rejected by<\/dt><dd><bdi>ann: not on a Friday/);
    const form = FORM.exec(asked)?.[1] ?? '';
    expect((await page.ask(approve, { headers: { cookie }, form: { form, of } })).status).toBe(303);
    expect((await get(beta)).text).toMatch(/Plan approved by<\/dt><dd><bdi>ann@example.com/);
  });
  await step('the list is filtered by the labels of resources, even while runs fail', async () => {
    const labelled = agentManifest('agent-of-acme', 'One.').replace(
      'metadata:',
      'metadata:\n  labels: { team: sales, odd: "\\0" }',
    );
    await folder.write('acme/manifests/a.yaml', labelled);
    const find = async (query: string) => (await get(`/workspaces?${query}`)).text;
    await until(async () => (await find('label=team%3Dsales')).includes('1 of 2 workspaces'));
    expect(await find('label=team%3Dsales')).toContain(`href="${pathOf(address)}"`);
    expect(await find('label=team%3Dsal')).toContain('0 of 2 workspaces');
    expect((await get(pathOf(address))).text).toContain('<dt>Labels</dt><dd><bdi>team=sales</bdi>');
    await folder.write('acme/manifests/b.yaml', 'no: manifest');
    await until(async () => (await status(address)) === 'invalid');
    expect(await find('label=team%3Dsales&status=invalid')).toContain('1 of 2 workspaces');
    await folder.write('acme/manifests/b.yaml', '# nothing\n');
  });
  await step('the list shows which information is missing', async () => {
    const { text } = await get('/workspaces?status=bogus&sort=size');
    expect(text).toContain('Unknown status &quot;bogus&quot;. Known: failed, invalid');
    expect(text).toContain('Unknown sort &quot;size&quot;. Known: status, address');
    expect((await get('/workspaces?status=&sort=since')).text).not.toContain('Unknown');
  });
  await step('a change increments the version that open pages follow', async () => {
    const before = await source.version(address);
    await write('acme', 'Two.');
    await until(async () => (await status(address)) === 'waiting');
    expect(await source.version(address)).not.toBe(before);
  });
  await step('a form for an outdated plan approves nothing', async () => {
    const cookies = [await page.signIn(tokens.approver), await page.signIn(tokens.admin)];
    const waiting = async () => /approve\?of=(\w+)/.exec((await get(pathOf(address), cookies[0])).text)?.[1] ?? '';
    const approve = pathOf(address, 'actions', 'approve');
    const old = await waiting();
    const forms = await Promise.all(
      cookies.map(async (cookie) => FORM.exec((await get(`${approve}?of=${old}`, cookie)).text)?.[1] ?? ''),
    );
    const send = (index: number, of: string) =>
      page.ask(approve, { headers: { cookie: cookies[index] ?? '' }, form: { form: forms[index] ?? '', of } });
    const written = emulators.get('acme')?.requests.filter(({ method }) => method !== 'GET').length;
    await write('acme', 'Three.');
    await until(async () => ![old, ''].includes(await waiting()));
    for (const index of [0, 1]) {
      const { status: code, text } = await send(index, old);
      expect([code, text]).toEqual([409, expect.stringContaining('not waiting for approval')]);
    }
    expect((await get(`${approve}?of=${old}`, cookies[1])).status).toBe(404);
    const { plan: open } = (await control.status({ address })).workspaces[0] ?? {};
    expect(open).toMatchObject({ id: await waiting(), state: 'waiting' });
    await write('acme', 'Two.');
    await until(async () => (await waiting()) === old);
    expect(emulators.get('acme')?.requests.filter(({ method }) => method !== 'GET').length).toBe(written);
  });
  await step('a waiting plan shows its creation time, the resources show the findings of the last run', async () => {
    const parts = async () => {
      const { text } = await get(pathOf(address), await page.signIn(tokens.approver));
      return {
        plan: /approve\?of=(\w+)/.exec(text)?.[1],
        made: /<h2>Plan <small>made <time datetime="([^"]+)/.exec(text)?.[1],
        resources: /<section id="resources">.*?<\/section>/s.exec(text)?.[0] ?? '',
      };
    };
    const before = await parts();
    expect(before.made).toBeDefined();
    expect(before.resources).toContain('never published');
    const emulator = emulators.get('acme');
    for (const id of emulator?.world.agents.keys() ?? []) emulator?.dashboard.publishAgent(id);
    await control.run([address], 'ann');
    await until(async () => !(await parts()).resources.includes('never published'));
    expect(await parts()).toMatchObject({ plan: before.plan, made: before.made });
  });
  await step('an admin closes an orphan', async () => {
    const acme = emulators.get('acme');
    const dashboard = '    dashboard: { agent: "https://app.example.com/agents/{id}" }\n';
    if (acme !== undefined) await folder.write('acme/voxform.yaml', projectFile(acme, dashboard));
    await folder.write('acme/manifests/a.yaml', agentManifest('successor'));
    const cookie = await page.signIn(tokens.admin);
    const approve = /actions\/approve\?of=([0-9a-f]+)"/;
    const waits = async () => {
      const { text } = await get(pathOf(address), cookie);
      return text.includes('1 to forget') ? approve.exec(text)?.[1] : undefined;
    };
    await until(async () => (await waits()) !== undefined);
    expect(await act(cookie, 'approve', { of: (await waits()) ?? '' })).toBe(303);
    await until(async () => (await status(address)) === 'in-sync');
    const { text } = await get(pathOf(address), cookie);
    const orphan = /close-orphan\?of=([^"]+)"/.exec(text)?.[1] ?? '';
    expect(text).toContain('Orphans (1)');
    expect(text).toContain(`href="https://app.example.com/agents/${orphan}"`);
    const told = /<h2>Needs attention[\s\S]*voices\/acme:test[\s\S]*1 orphan<[\s\S]*<dt>Orphans<\/dt><dd><bdi>1</;
    expect((await get('/')).text).toMatch(told);
    expect((await get('/workspaces?q=acme')).text).toContain('1 orphan<');
    const fleet = { ...(await control.status({})), unusedRules: [] };
    const words = fleetStatusText(fleet, plainStyle());
    expect(words).toMatch(/; 1 orphan; oldest check [\s\S]*acme:test +in-sync .*1 with manual steps,\s+1 orphan$/m);
    expect(await act(cookie, 'close-orphan', { of: orphan, because: 'deleted' })).toBe(303);
    const after = (await get(pathOf(address), cookie)).text;
    expect(after).not.toContain('Orphans (1)');
    for (const list of ['/', '/workspaces'])
      await expect.poll(async () => (await get(list)).text).not.toContain('1 orphan');
    expect(after).toMatch(/orphans close<\/td>\s*<td class="by" data-title="User">requested by <bdi>root/);
  });
  await step('removing a token ends its sessions', async () => {
    const cookie = await page.signIn(tokens.viewer);
    expect((await get(pathOf(address), cookie)).text).toContain('vera');
    await removeToken(database, 'vera');
    expect((await get(pathOf(address), cookie)).text).not.toContain('vera');
    expect(await page.signIn(tokens.viewer)).toBe('');
  });
  await step('a stolen database contains no token and no session', async () => {
    const rows = await database.query(
      'SELECT row_to_json(t)::text AS row FROM voxform_fleet.tokens t UNION ALL SELECT row_to_json(s)::text FROM voxform_fleet.sessions s',
    );
    const stolen = rows.map(({ row }) => String(row)).join('\n');
    const cookie = await page.signIn(tokens.approver);
    for (const secret of [tokens.approver.slice(-43), cookie.split('=')[1]]) expect(stolen).not.toContain(secret);
    expect(await listTokens(database)).toMatchObject([
      { name: 'ann@example.com', role: 'approver', madeBy: 'test' },
      { name: 'root' },
    ]);
    const { digest } = (await database.query('SELECT digest FROM voxform_fleet.sessions'))[0] ?? {};
    expect(await sessionsIn(database).person(String(digest))).toBe(undefined);
    expect(await sessionsIn(database).formKey()).toMatch(/^[\da-f-]{72}$/);
  });
});

it('lists resources without changes in a plan as in sync', () => {
  const state = { resources: { 'Agent/a': { id: '1' }, 'Agent/b': { id: '2' }, 'Agent/old': { id: '3' } } };
  const resource = { kind: 'Agent', source: null, changes: [] };
  const resources = [
    { ...resource, address: 'Agent/a', action: 'manual', id: '1', reason: 'by hand' },
    { ...resource, address: 'Agent/c', action: 'noop', id: '4', reason: '' },
    { ...resource, address: 'Agent/new', previous_address: 'Agent/old', action: 'noop', id: '3', reason: '' },
  ];
  const rows = resourcesOf(
    state as never,
    { resources } as never,
    { status: 'paused', last: { drift: ['Agent/c'] } } as never,
  );
  expect(rows.map(({ address, status }) => [address, status])).toEqual([
    ['Agent/a', 'manual'],
    ['Agent/c', 'drifted'],
    ['Agent/new', 'in sync'],
    ['Agent/b', 'in sync'],
  ]);
});

it.each([
  ['invalid', null, 'The newest manifests are invalid'],
  ['invalid', '2030-01-01T00:00:00Z', 'The newest manifests are invalid; the last valid ones are used'],
  ['failed', '2030-01-01T00:00:00Z', 'The last run failed'],
])('shows the heading of problems of a workspace that is %s and was checked at %s', (status, checkedAt, heading) => {
  const shown = { status, checkedAt, problem: null, last: { problems: ['a problem'] } };
  expect(problemsOf(shown as never)).toEqual([{ heading, lines: ['a problem'] }]);
  const stopped = { ...shown, last: { result: 'interrupted', error: 'why', problems: ['a problem'] } };
  expect(problemsOf(stopped as never)).toEqual([{ heading: 'The last run was stopped', lines: ['why', 'a problem'] }]);
});

it('shows 10,000 workspaces in pages of less than 100 kB', { tags: ['long'] }, async () => {
  const database = fleetDatabaseAt((await freshDatabase()).url);
  await enterMany(database, 10_000);
  const source = readFleet({ database });
  await using page = await runningPage({ source, now: () => new Date() });
  for (const path of listPaths) {
    const { status, text } = await page.ask(path);
    expect([path, status]).toEqual([path, 200]);
    expect([path, Buffer.byteLength(text)]).toEqual([path, expect.toSatisfy((bytes) => Number(bytes) < 100_000)]);
  }
  const { text } = await page.ask('/workspaces?status=failed&page=50');
  expect(text).toContain('2,500 of 10,000 workspaces');
  expect(text).toContain('Page 50 of 50');
  expect(text.match(/<tr>/g)).toHaveLength(51);
  const attention = async () => /<h2>Needs attention.*?<\/section>/s.exec((await page.ask('/')).text)?.[0] ?? '';
  const statuses = async () => [
    ...new Set(
      [...(await attention()).matchAll(/data-title="Status"><span[^>]*>([^<]*)/g)].map(([, status]) => status),
    ),
  ];
  expect(await statuses()).toEqual(['failed', 'waiting', 'drifted']);
  const [failed] = await shownWorkspaces(database, { limit: 1 });
  expect(failed).toMatchObject({ status: 'failed', isOld: false });
  const address = failed?.address ?? '';
  await database.query(
    `UPDATE voxform_fleet.workspaces SET checked_at = now() - interval '16 minutes', checked_before = now() - interval '17 minutes' WHERE address = $1`,
    address,
  );
  expect(await source.workspace(address)).toMatchObject({ status: 'failed', isOld: true });
  const needs = async (last: string, where: string) =>
    database.query(
      `UPDATE voxform_fleet.workspaces SET status = 'pending', last = $1::jsonb WHERE address LIKE '${where}'`,
      last,
    );
  await needs('{"manual_steps": 1, "counts": {"unknown": 1}}', '%0999_:%');
  await needs('{"manual_steps": 1, "at_risk": 1, "counts": {"blocked": 1}}', '%09999:%');
  await needs('{"missing": [{"address": "Agent/a"}]}', '%01___:%');
  await needs('{"manual_steps": 1, "counts": {"manual": 1}}', '%02___:%');
  await needs('{"result": "refused", "hold": "policy"}', '%03___:%');
  // A slow overview is renewed after its response.
  await expect.poll(statuses).toEqual(['pending', 'failed', 'waiting', 'drifted']);
  expect(await attention()).toContain('refused by a policy');
  expect(await attention()).not.toContain('1 with manual steps');
  const links = [...(await attention()).matchAll(/href="([^"]+)">All ([\d,]+) ([^<]+)</g)];
  expect(links.map(([, , count, words]) => `${count} ${words}`)).toEqual([
    '1,010 with unconfirmed or missing records',
    '1,747 failed',
    '1,000 with plans that a policy or guard refuses',
    '1,747 waiting',
    '1,748 drifted',
    '1,010 with orphans or manual steps',
  ]);
  for (const [, path = '', count] of links)
    expect([path, (await page.ask(path.replaceAll('&amp;', '&'))).text]).toEqual([
      path,
      expect.stringContaining(`${count} of 10,000 workspaces`),
    ]);
});
