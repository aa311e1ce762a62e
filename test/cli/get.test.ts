import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { API_KEY, agentManifest, type TestWorkspace, testWorkspace, webhookManifest } from './workspace.ts';

const FILES = {
  'manifests/agents.yaml': agentManifest('day'),
  'manifests/hook.yaml': webhookManifest('hook', 'https://example.com/hook'),
};

/** Creates a record as another client of the API would, and returns its id. */
async function post({ emulator }: TestWorkspace, collection: string, body: object): Promise<string> {
  const answer = await fetch(`${emulator.url}/api/v1/${collection}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return ((await answer.json()) as { data: { id: string } }).data.id;
}

describe('get', () => {
  it('reads all types of records of the API', async () => {
    await using workspace = await testWorkspace(FILES);
    const { dashboard, world } = workspace.emulator;
    await workspace.run('apply', '--auto-approve');
    const agent = [...world.agents.values()][0]?.id ?? '';
    dashboard.publishAgent(agent);
    dashboard.inviteUser({ email: 'ann@example.com', role: 'owner' });
    dashboard.addKnowledgeBase({ name: 'FAQ' });
    dashboard.recordCall({ agent_id: agent });
    dashboard.addInvoice();
    dashboard.addApiKey({ name: 'ci', expires_at: '2027-01-01T00:00:00.000000Z' });
    const rows = async (...args: string[]) => {
      const { code, stdout, stderr } = await workspace.run('get', ...args, '--output', 'json');
      expect({ code, stderr }, args.join(' ')).toEqual({ code: 0, stderr: '' });
      return JSON.parse(stdout) as Record<string, unknown>[];
    };
    expect(await rows('agents')).toMatchObject([{ id: agent, name: 'day' }]);
    expect(await rows('agents', 'Agent/day')).toMatchObject([{ id: agent }]);
    expect(await rows('versions', 'Agent/day')).toMatchObject([{ version: 1 }]);
    expect(await rows('numbers')).toEqual([]);
    expect(await rows('webhooks')).toMatchObject([{ url: 'https://example.com/hook' }]);
    expect(await rows('users')).toMatchObject([{ email: 'ann@example.com' }]);
    expect(await rows('knowledge-bases')).toMatchObject([{ name: 'FAQ' }]);
    expect(await rows('calls', '--agent', 'Agent/day')).toMatchObject([{ agent_id: agent }]);
    expect(await rows('calls', '--where', 'agent_id=Agent/day')).toMatchObject([{ agent_id: agent }]);
    expect(await rows('calls', '--where', 'agent_id!=Agent/day')).toEqual([]);
    expect(await rows('calls', '--outcome', 'none')).toEqual([]);
    expect(await rows('invoices')).toHaveLength(1);
    expect(await rows('api-keys')).toMatchObject([{ name: 'ci', token: null }]);
    const { stdout } = await workspace.run('get', 'api-keys', '--utc');
    expect(stdout).toContain('2027-01-01 00:00:00Z');
    expect(workspace.writes()).toBe(2);
  });

  it('requests no more pages than its reader reads', async () => {
    await using workspace = await testWorkspace(FILES);
    for (let index = 0; index < 950; index++) workspace.emulator.dashboard.recordCall({ agent_id: 'x' });
    const limited = await workspace.run('get', 'calls', '--limit', '150', '--output', 'jsonl');
    expect(limited.stdout.trimEnd().split('\n')).toHaveLength(150);
    expect(workspace.emulator.requests).toHaveLength(2);

    const { child, ended } = workspace.start(['get', 'calls', '--output', 'jsonl']);
    child.stdout?.once('data', () => child.stdout?.destroy());
    const { code, stderr } = await ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(workspace.emulator.requests.length - 2).toBeLessThan(10);
  });

  it('prints a field with an unexpected type as the platform returned it', async () => {
    await using workspace = await testWorkspace(FILES);
    const odd = { id: '01ODDRECORD000000000000001', name: 'odd', version: { major: 2 }, llm_config: ['x'] };
    const body = { data: odd };
    workspace.emulator.faults.add({ match: { pattern: '/agents/' }, fault: { status: 200, body } });
    const { code, stdout } = await workspace.run('get', 'agents', odd.id, '--output', 'json');
    expect({ code, shown: JSON.parse(stdout) }).toEqual({ code: 0, shown: [odd] });
  });

  it.each(['whole', 'unmarked', 'ignoresCursor', 'refusesQuery'] as const)(
    'reads each user once if the platform returns the list as %s, and invoices without a limit',
    async (users) => {
      const behaviour = { users, invoiceLimit: 'refused', meta: 'odd' } as const;
      await using workspace = await testWorkspace(FILES, { behaviour });
      const { dashboard } = workspace.emulator;
      for (let index = 0; index < 25; index++) {
        dashboard.inviteUser({ email: `u${index}@example.com` });
        dashboard.addInvoice();
      }
      for (const what of ['users', 'invoices']) {
        const { code, stdout, stderr } = await workspace.run('get', what, '--output', 'json');
        expect({ code, stderr, count: JSON.parse(stdout).length }).toEqual({
          code: 0,
          stderr: '',
          count: 25,
        });
      }
    },
  );

  it.each(['body', 'query', 'ignored'] as const)(
    'prints only the calls of the range if the platform reads filters from the %s',
    async (callFilters) => {
      await using workspace = await testWorkspace(FILES, { behaviour: { callFilters } });
      // If filters are ignored, so is the cursor, and there is only one page.
      const count = callFilters === 'ignored' ? 10 : 70;
      for (let index = 0; index < count; index++) {
        const hours = index < 2 ? index : 24 + index;
        const time = new Date(Date.UTC(2026, 0, 1, 22 + hours)).toISOString();
        workspace.emulator.dashboard.recordCall({
          agent_id: 'x',
          start_time: time,
          end_time: time,
          created_at: time,
        });
      }
      const { code, stdout, stderr } = await workspace.run(
        ...['get', 'calls', '--from', '2026-01-01T23:00Z', '--to', '2026-01-01', '--output', 'json'],
      );
      expect(code).toBe(0);
      expect(JSON.parse(stdout)).toMatchObject([{ start_time: '2026-01-01T23:00:00.000Z' }]);
      const outside = { body: undefined, query: 20, ignored: 8 }[callFilters];
      const match = /also sent (\d+) calls outside the date range/.exec(stderr.replaceAll(/\s+/g, ' '));
      expect(match?.[1]).toBe(outside === undefined ? undefined : String(outside));
    },
  );

  it('warns that a platform that ignores the cursor of calls returns only their first page', async () => {
    await using workspace = await testWorkspace(FILES, { behaviour: { callFilters: 'ignored' } });
    for (let index = 0; index < 21; index++) workspace.emulator.dashboard.recordCall({ agent_id: 'x' });
    const { code, stderr } = await workspace.run('get', 'calls', '--from', '2030-01-01');
    expect(code).toBe(1);
    const text = stderr.replaceAll(/\s+/g, ' ');
    expect(text).toContain('ignored the cursor, in the body and in the query, so only the first 20 calls');
    expect(text).toContain('voxform get calls --limit 20');
    const { stdout } = await workspace.run('get', 'calls', '--limit', '20', '--output', 'json');
    expect(JSON.parse(stdout)).toHaveLength(20);
  });

  it('accepts the number of an invoice as its id', async () => {
    await using workspace = await testWorkspace(FILES);
    const { id } = workspace.emulator.dashboard.addInvoice();
    for (const given of ['INV-0001', id]) {
      const { stdout } = await workspace.run('get', 'invoices', given, '--output', 'json');
      expect(stdout).toContain(id);
    }
  });

  it('filters calls by any field', async () => {
    await using workspace = await testWorkspace(FILES);
    const { dashboard } = workspace.emulator;
    const a = dashboard.recordCall({ agent_id: 'x', cost: 0.2, duration: '00:01:00', direction: 'outbound' });
    const b = dashboard.recordCall({
      agent_id: 'x',
      cost: 1.5,
      duration: '01:00:00',
      session_id: 's',
      analysis: { mood: 'calm' },
    });
    const cases: readonly (readonly [readonly string[], readonly string[]])[] = [
      [['direction=outbound'], [a.id]],
      [['cost>=0.2'], [b.id, a.id]],
      [['cost>0.2', 'duration>00:59:59'], [b.id]],
      [['session_id=null'], [a.id]],
      [['session_id!=null'], [b.id]],
      [['from=4930111111'], [b.id, a.id]],
      [['start_time<2001-01-01'], []],
      [['analysis=null'], [a.id]],
      [['analysis!=null'], [b.id]],
    ];
    for (const [conditions, expected] of cases) {
      const flags = conditions.flatMap((condition) => ['--where', condition]);
      const { stdout } = await workspace.run('get', 'calls', ...flags, '--output', 'json');
      const shown = (JSON.parse(stdout) as { id: string }[]).map(({ id }) => id);
      expect(shown, conditions.join(' ')).toEqual(expected);
    }
  });

  it('prints a version of an agent by address or by id', async () => {
    await using workspace = await testWorkspace(FILES);
    await workspace.run('apply', '--auto-approve');
    const [id = ''] = workspace.emulator.world.agents.keys();
    workspace.emulator.dashboard.publishAgent(id);
    workspace.emulator.dashboard.publishAgent(id);
    for (const [agent, version, expected] of [
      ['Agent/day', '1', 1],
      [id, 'latest', 2],
    ] as const) {
      const { code, stdout } = await workspace.run('get', 'versions', agent, version, '--output', 'json');
      expect([code, JSON.parse(stdout)]).toMatchObject([0, [{ id, version: expected }]]);
    }
    const named = await workspace.run('get', 'versions', 'Agent/day', '7');
    expect(named.stderr.replaceAll(/\s+/g, ' ')).toContain(`Agent/day (${id}) has no version 7`);
    expect(named.stderr).toContain('voxform get versions Agent/day ');
    const none = await workspace.run('get', 'versions', id, '7');
    expect([none.code, none.stderr]).toEqual([64, expect.stringContaining('has no version 7')]);
    workspace.emulator.setBehaviour({ noLatestVersion: 'null', versionNumbers: 'text' });
    const listed = await workspace.run('get', 'versions', id, '--output', 'json');
    expect(JSON.parse(listed.stdout)).toMatchObject([{ version: 2 }, { version: 1 }]);
    const draft = await post(workspace, 'agents', { name: 'draft' });
    const latest = await workspace.run('get', 'versions', draft, 'latest');
    expect([latest.code, latest.stderr.replaceAll(/\s+/g, ' ')]).toEqual([
      1,
      expect.stringContaining(`${draft} has no published version`),
    ]);
  });

  it('finds agents that numbers, users and calls refer to, and says how', async () => {
    await using workspace = await testWorkspace(FILES);
    await workspace.run('apply', '--auto-approve');
    const { dashboard, world } = workspace.emulator;
    const [own = ''] = world.agents.keys();
    const make = (name: string) => post(workspace, 'agents', { name });
    const [linked, given, called, old] = [await make('n'), await make('u'), await make('c'), await make('o')];
    const { id: user } = dashboard.inviteUser({ email: 'ann@example.com' });
    dashboard.edit('users', user, { agent_ids: [own, given] });
    dashboard.recordCall({ agent_id: old });
    for (let index = 0; index < 150; index++) dashboard.recordCall({ agent_id: called });
    dashboard.recordCall({ agent_id: '01GONE' });
    const number = await post(workspace, 'numbers', { number: '+12025550120' });
    dashboard.linkNumber(number, { inbound_agent_id: linked });
    const before = workspace.emulator.requests.length;
    const { code, stdout, stderr } = await workspace.run('get', 'agents');
    const rows = stdout.split('\n');
    const row = (id: string) => rows.find((line) => line.startsWith(id));
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(rows[1]).toMatch(new RegExp(`^${own} +Agent/day +day `));
    expect(row(linked)).toMatch(/number \+12025550120 is linked to it$/);
    expect(row(given)).toMatch(/ann@example\.com has access to it$/);
    expect(row(called)).toContain('it had a call at ');
    expect(row(old), 'only one page of calls is read').toBe(undefined);
    const paths = workspace.emulator.requests.slice(before).map(({ path }) => path.split('?', 1)[0]);
    expect(paths.filter((path) => path === '/api/v1/call-histories')).toHaveLength(1);
    expect(paths, 'three lists, then each agent').toHaveLength(3 + 5);

    const all = await workspace.run('get', 'agents', '--calls-from', '2000-01-01', '--output', 'json');
    const ids = (JSON.parse(all.stdout) as { id: string }[]).map(({ id }) => id);
    expect(ids).toEqual([own, ...[linked, given, called, old].sort()]);
  });

  it('prints addresses of records and references in tables only', async () => {
    await using workspace = await testWorkspace({
      ...FILES,
      'manifests/number.yaml':
        'apiVersion: voxform/v1\nkind: PhoneNumber\nmetadata: { name: main }\nspec: { number: "+12025550120", nickname: Front desk }\n',
    });
    await workspace.run('apply', '--auto-approve');
    const { dashboard, world } = workspace.emulator;
    const [[agent = ''], [number = '']] = [[...world.agents.keys()], [...world.numbers.keys()]];
    dashboard.linkNumber(number, { inbound_agent_id: agent, outbound_agent_id: null });
    dashboard.recordCall({ agent_id: agent });
    const [titles, row] = (await workspace.run('get', 'numbers')).stdout.split('\n');
    expect(titles?.split(/ {2,}/)).toEqual(['ID', 'NUMBER', 'NICKNAME', 'INBOUND AGENT', 'ADDRESS']);
    expect(row?.split(/ {2,}/)).toEqual([number, '+12025550120', 'Front desk', 'Agent/day', 'PhoneNumber/main']);
    expect((await workspace.run('get', 'calls')).stdout).toContain(' Agent/day ');
    expect((await workspace.run('get', 'webhooks')).stdout).toContain('Webhook/hook');
    const raw = await workspace.run('get', 'numbers', '--output', 'csv');
    expect(raw.stdout).toContain(agent);
    expect(raw.stdout).not.toContain('Agent/day');
  });

  it('skips other workspaces in lists, and reports one record of another workspace', async () => {
    await using workspace = await testWorkspace(FILES, { behaviour: { seesOtherWorkspace: true } });
    const { dashboard } = workspace.emulator;
    const base = dashboard.addKnowledgeBase({ name: 'FAQ' });
    const call = dashboard.recordCall({ agent_id: 'x' });
    const listed = await workspace.run('get', 'knowledge-bases', '--output', 'json');
    expect(JSON.parse(listed.stdout)).toMatchObject([{ id: base.id }]);
    dashboard.edit('calls', call.id, { workspace_id: '01ANOTHER' });
    const one = await workspace.run('get', 'calls', call.id, '--output', 'json');
    expect([one.code, JSON.parse(one.stdout)]).toMatchObject([0, [{ workspace_id: '01ANOTHER' }]]);
    expect(one.stderr.replaceAll(/\s+/g, ' ')).toContain(`${call.id} belongs to workspace 01ANOTHER`);
    workspace.emulator.setBehaviour({ seesOtherWorkspace: false });
    expect((await workspace.run('get', 'calls')).code).toBe(1);
  });

  it('prints null for the expiry of a key without one', async () => {
    await using workspace = await testWorkspace(FILES);
    workspace.emulator.dashboard.addApiKey({ name: 'ci' });
    expect((await workspace.run('get', 'api-keys')).stdout).toMatch(/ null\n$/);
  });

  it('prints no secret in any command if the platform returns them', async () => {
    await using workspace = await testWorkspace(
      { 'manifests/a.yaml': agentManifest('day') },
      { behaviour: { showsSecrets: true } },
    );
    const { dashboard, world } = workspace.emulator;
    await workspace.run('apply', '--auto-approve');
    const [id = ''] = world.agents.keys();
    dashboard.addApiKey({ name: 'CI' });
    dashboard.edit('agents', id, { llm_config: { model: 'm', api_key: 'sk-of-somebody' } });
    for (const model of ['n', 'o', 'p']) {
      dashboard.publishAgent(id);
      dashboard.edit('agents', id, { name: model, llm_config: { model } });
    }
    // An unexpected type of another field must not cause the whole record to be printed unchanged.
    workspace.emulator.faults.add({
      match: { method: 'GET', path: '/api/v1/api-keys' },
      fault: {
        status: 200,
        body: { data: [{ id: 1, name: 7, token: 'shown-1' }], meta: { next_cursor: null } },
      },
    });
    const version = { version: 1, llm_config: { api_key: 'shown-2' } };
    workspace.emulator.faults.add({
      match: { method: 'GET', path: `/api/v1/agents/${id}/versions` },
      fault: { status: 200, body: { data: [version], meta: { next_cursor: null } } },
    });
    const shown = new Map<string, string>();
    for (const line of [
      'get api-keys --output jsonl',
      'get api-keys --output json',
      'get api-keys --output csv',
      'get agents --output json',
      'get versions AGENT --output json',
      ...['json', 'jsonl', 'yaml', 'csv', 'table'].flatMap((format) => [
        `get agents AGENT --output ${format}`,
        `get versions AGENT 1 --output ${format}`,
      ]),
      'versions Agent/day --output json',
      'versions Agent/day 1',
      'versions Agent/day 1 --diff 2 --output json',
      'versions Agent/day --diff published --output json',
      'status --output json',
      'drift --output json',
      'impact Agent/day --output html',
      'rollback Agent/day --to 1 --dry-run',
      'accept --dry-run --output json',
      'export --out out',
    ]) {
      const { code, stdout, stderr } = await workspace.run(...line.replace('AGENT', id).split(' '));
      expect([0, 2], `${line}: ${stderr}`).toContain(code);
      shown.set(line, stdout + stderr);
    }
    for (const file of await readdir(path.join(workspace.folder.root, 'out', 'manifests'), {
      recursive: true,
      withFileTypes: true,
    }))
      if (file.isFile()) shown.set(file.name, await readFile(path.join(file.parentPath, file.name), 'utf8'));
    expect([...shown].filter(([, text]) => /shown-|sk-of/.test(text))).toEqual([]);
    expect(shown.get('get api-keys --output csv')).toContain('(secret)');
    expect(shown.get(`get agents AGENT --output json`)).toContain('"api_key": "(secret)"');
  });

  it('exits with 2 if a key expires within a time, and prints only those keys', async () => {
    await using workspace = await testWorkspace(FILES);
    const { dashboard, world } = workspace.emulator;
    const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();
    const keys = { never: null, past: inDays(-1), soon: inDays(20), later: inDays(40) };
    for (const [name, expires_at] of Object.entries(keys)) dashboard.addApiKey({ name, expires_at });
    const expiring = async (within: string) => {
      const { code, stdout } = await workspace.run(
        ...['get', 'api-keys', '--output', 'json', '--expires-within', within],
      );
      return { code, names: (JSON.parse(stdout) as { name: string }[]).map(({ name }) => name) };
    };
    expect(await expiring('30d')).toEqual({ code: 2, names: ['soon'] });
    expect(await expiring('50d')).toEqual({ code: 2, names: ['soon', 'later'] });
    expect(await expiring('12h')).toEqual({ code: 0, names: [] });
    const [[id, key] = []] = world.records['api-keys'];
    if (id !== undefined) world.records['api-keys'].set(id, { ...key, expires_at: 'soon' } as never);
    expect(await expiring('12h')).toEqual({ code: 2, names: ['never'] });
  });

  it('reports wrong usage and missing records', async () => {
    await using workspace = await testWorkspace(FILES);
    const cases: readonly (readonly [readonly string[], number, string])[] = [
      [['get', 'agnets'], 64, 'did you mean "agents"?'],
      [['get', 'versions'], 64, 'needs an id or address'],
      [['get', 'users', '--expires-within', '30d'], 64, 'applies to api-keys only'],
      [['get', 'api-keys', '--expires-within', 'soon'], 64, "'soon' is invalid"],
      [['get', 'users', '--outcome', 'x'], 64, 'apply to calls only'],
      [['get', 'agents', 'Agent/nobody'], 64, 'the state has no Agent/nobody'],
      [['get', 'agents', '01NOTHERE0000000000000000A'], 1, '01NOTHERE0000000000000000A not found'],
      [['get', 'versions', '01NOTHERE0000000000000000A'], 1, 'among the agents of this workspace'],
      [['get', 'numbers', '01NOTHERE0000000000000000A'], 1, '01NOTHERE0000000000000000A not found'],
      [['get', 'calls', '--from', '2026-02-02', '--to', '2026-02-01'], 64, 'is before'],
      [['get', 'calls', '--to', '2026-02-31'], 64, 'Expected a date'],
      [['get', 'webhooks'], 0, 'the API cannot list them'],
      [['get', 'calls', '--where', 'coast>1'], 64, 'did you mean "cost"?'],
      [['get', 'calls', '--where', 'cost>=x'], 64, 'compares numbers'],
      [['get', 'calls', '--where', 'cost'], 64, 'expected a condition'],
      [['get', 'calls', '--where', 'analysis=x'], 64, 'analysis contains several values'],
      [['get', 'calls', '--where', 'agent_id=Agent/nobody'], 64, 'the state has no Agent/nobody'],
      [['get', 'numbers', '--where', 'cost>1'], 64, 'apply to calls only'],
      [['get', 'versions', 'Agent/day', 'newest'], 64, 'invalid version'],
    ];
    for (const [args, expected, message] of cases) {
      const { code, stderr } = await workspace.run(...args);
      expect(stderr, args.join(' ')).toContain(message);
      expect(code, args.join(' ')).toBe(expected);
      expect(stderr).not.toMatch(/\n\s+at /);
    }
  });
});
