import path from 'node:path';
import { expect, it } from 'vitest';
import { Interrupts } from '../../src/cli/interrupts.ts';
import { startEmulator } from '../../src/emulator/start-emulator.ts';
import { setUpTables } from '../../src/fleet/database/set-up-tables.ts';
import { fleetStateAt } from '../../src/fleet/fleet-state.ts';
import { openFleetDatabase } from '../../src/fleet/open-fleet.ts';
import { openSession } from '../../src/state/session.ts';
import { createStore } from '../../src/state/state-location.ts';
import { putEmbedded } from '../fleet/embedded-folder.ts';
import { Remote } from '../operator/git-remote.ts';
import { TerraformServer } from '../state/backends/http/terraform-server.ts';
import { type Database, freshDatabase } from '../state/backends/postgres/databases.ts';
import { freePort, postgresServer, startPostgres } from '../state/backends/postgres/postgres-server.ts';
import { TcpProxy } from '../state/backends/tcp-proxy.ts';
import { saved, sessionOptions } from '../state/temporary-state.ts';
import { step } from '../step.ts';
import { command } from '../trust/in-process.ts';
import { temporaryFolder } from './voxform-process.ts';
import { agentManifest, projectFile } from './workspace.ts';

const FLEET = `version: 1
database: { $secret: FLEET_DATABASE_URL }
sources: { voices: { path: voices, projects: ["*"] } }
workspaces: { "*": { mode: apply } }
`;

it('a fleet is set up by an administrator and served with rights on its two schemas only', {
  tags: ['long'],
}, async () => {
  const pg = await freshDatabase();
  const role = await pg.role();
  const url = pg.urlWith({ user: role, password: 'p' });
  await using emulator = await startEmulator({ seed: 1 });
  const project = projectFile(emulator).replace('VOXFORM_API_KEY', 'ACME_KEY');
  await using folder = await temporaryFolder({
    'fleet.yaml': FLEET,
    'voices/acme/voxform.yaml': project,
    'voices/acme/manifests/a.yaml': agentManifest('a', 'One.'),
  });
  const env = { ACME_KEY: 'key-of-acme', FLEET_DATABASE_URL: url };
  const fleet = (...args: string[]) => command(['fleet', ...args], { cwd: folder.root, env });
  await step('without the schemas, commands fail and name the command to run', async () => {
    for (const args of [['serve'], ['init'], ['status']]) {
      const { code, stderr } = await fleet(...args);
      if (args[0] === 'serve') expect(stderr.trim().split('\n')).toHaveLength(2);
      expect([code, messagesIn(stderr)]).toEqual([
        1,
        expect.stringMatching(/permission denied for database .* voxform fleet init --sql/),
      ]);
      expect(stderr).not.toContain(url);
    }
  });
  const script = await fleet('init', '--sql');
  expect(script.code).toBe(0);
  await pg.sql(script.stdout);
  await step('with these rights, serve applies the workspace', async () => {
    const interrupts = new Interrupts(() => undefined);
    const serving = command(['fleet', 'serve'], { cwd: folder.root, env, interrupts });
    await expect
      .poll(async () => JSON.parse((await fleet('status', '--output', 'json')).stdout).counts['in-sync'])
      .toBe(1);
    interrupts.raise('SIGTERM');
    const { code, stderr } = await serving;
    expect(code).toBe(0);
    expect(emulator.world.agents.size).toBe(1);
    const { stdout } = await fleet('exec', 'voices/acme:test', '--', 'history', '--output', 'json');
    const known = (JSON.parse(stdout) as { runs: { run: string }[] }).runs.map(({ run }) => run);
    const named = stderr.split('\n').flatMap((line) => /"run":("[^"]*"|\d+)/.exec(line)?.[1] ?? []);
    expect([...new Set(named)]).toEqual(known.map((run) => JSON.stringify(run)));
    expect((await fleet('init')).code).toBe(0);
  });
  await step('exec runs other commands on its states, also for a renamed project', async () => {
    expect((await fleet('exec', 'voices/acme:test', '--', 'state', 'list')).stdout).toContain('Agent/a');
    const from = `{ backend: postgres, url: { $secret: FLEET_DATABASE_URL }, schema: voxform_fleet, name: "voices/acme:test" }`;
    await folder.write('voices/renamed/voxform.yaml', project);
    await folder.write('voices/renamed/manifests/a.yaml', agentManifest('a', 'One.'));
    await pg.sql(`INSERT INTO voxform_fleet.workspaces (address, source, project, workspace, mode, interval_ms, version, due_at)
SELECT 'voices/renamed:test', source, 'renamed', workspace, mode, interval_ms, 'none', due_at FROM voxform_fleet.workspaces;
UPDATE voxform_fleet.workspaces SET vanished_at = now() WHERE address = 'voices/acme:test'`);
    const moved = await fleet('exec', 'voices/renamed:test', '--', 'state', 'move', '--from', from);
    expect([moved.code, moved.stdout]).toEqual([0, expect.stringContaining('1 resource, serial')]);
    const planned = await fleet('exec', 'voices/renamed:test', 'plan');
    expect([planned.code, planned.stdout]).toEqual([0, expect.stringContaining('No changes')]);
  });
});

/** Returns the messages of a log in one line. */
function messagesIn(stderr: string): string {
  const lines = stderr.trim().split('\n');
  return lines
    .map((line) => (line.startsWith('{') ? (JSON.parse(line) as { message: string }).message : line))
    .join(' ')
    .replaceAll(/\s+/g, ' ');
}

interface Refusal {
  readonly reason: string;
  readonly prepare?: string;
  readonly options?: string;
  readonly url?: (pg: Database) => string;
  /** True if serve waits for this problem to end. */
  readonly mayPass?: boolean;
  readonly message: RegExp;
}

const refusals: readonly Refusal[] = [
  {
    reason: 'an address that is not set',
    url: () => '',
    message: /database needs FLEET_DATABASE_URL, which is not set .*Set FLEET_DATABASE_URL to an address/,
  },
  {
    reason: 'a wrong password',
    url: (pg) => pg.urlWith({ password: 'not-the-password' }),
    message: /password authentication failed .* Correct the user and the password in database/,
  },
  {
    reason: 'a server that is down',
    url: (pg) => pg.urlWith({ port: 1 }),
    mayPass: true,
    message: /: connection refused .* Start PostgreSQL, or correct the host and the port in database/,
  },
  {
    reason: 'tables that do not belong to a fleet',
    prepare: 'CREATE SCHEMA voxform_fleet; CREATE TABLE voxform_fleet.workspaces (id int)',
    message: /has tables that do not belong to a fleet: workspaces/,
  },
  {
    reason: 'tables of a newer version',
    prepare: `CREATE SCHEMA voxform_fleet; CREATE TABLE voxform_fleet.schema_version (part text PRIMARY KEY, version int);
INSERT INTO voxform_fleet.schema_version VALUES ('fleet', 99), ('fleet, compatible from', 99)`,
    message: /has version 99; this version of voxform supports \d+ .*Upgrade voxform/,
  },
  {
    reason: 'another encoding',
    options: "ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0",
    message: /has the encoding LATIN1, not UTF8/,
  },
];

it('a fleet takes over the states of its former embedded database', { tags: ['long'] }, async () => {
  const pg = await freshDatabase();
  await using folder = await temporaryFolder({
    'fleet.yaml': FLEET,
    'voices/acme/voxform.yaml': `version: 1
workspaces: { test: { base_url: https://platform.example, workspace_id: W1, api_key: { $secret: KEY } } }`,
  });
  const env = { FLEET_DATABASE_URL: pg.url };
  await putEmbedded(path.join(folder.root, '.voxform/fleet'));
  const embedded = await openFleetDatabase({ database: undefined }, folder.root, 'serve');
  await setUpTables(embedded);
  const owner = { root: '/', host: 'here', user: 'ann', pid: 1, version: '0', now: () => new Date() };
  const place = fleetStateAt({ database: undefined }, 'voices/acme:test');
  const session = await openSession(createStore(place, owner), sessionOptions());
  await session.record(saved('a'));
  await session.close();
  await embedded.close();
  expect((await command(['fleet', 'init'], { cwd: folder.root, env })).code).toBe(0);
  await pg.sql(`INSERT INTO voxform_fleet.workspaces (address, source, project, workspace, mode, interval_ms, version, due_at)
VALUES ('voices/acme:test', 'voices', 'acme', 'test', 'apply', 1000, 'none', now())`);
  const exec = (...words: string[]) =>
    command(['fleet', 'exec', 'voices/acme:test', '--', 'state', ...words], { cwd: folder.root, env });
  const from = `{ backend: postgres, url: "postgres://voxform@embedded/fleet", schema: voxform_fleet, name: "voices/acme:test" }`;
  const moved = await exec('move', '--from', from);
  expect([moved.code, moved.stdout]).toEqual([0, expect.stringContaining('1 resource')]);
  expect((await exec('list')).stdout).toContain('id-a');
});

it('exec runs commands that write on a machine that never served the fleet, and records the commit', {
  tags: ['long'],
}, async () => {
  const pg = await freshDatabase();
  await using emulator = await startEmulator({ seed: 1 });
  using remote = new Remote();
  const commit = remote.push({
    'acme/voxform.yaml': projectFile(emulator).replace('VOXFORM_API_KEY', 'ACME_KEY'),
    'acme/manifests/a.yaml': agentManifest('a', 'One.'),
  });
  await using folder = await temporaryFolder({
    'fleet.yaml': FLEET.replace('path: voices', `git: ${JSON.stringify(remote.bare)}`),
  });
  const env = { ACME_KEY: 'key-of-acme', FLEET_DATABASE_URL: pg.url };
  const fleet = (...args: string[]) => command(['fleet', ...args], { cwd: folder.root, env });
  expect((await fleet('init')).code).toBe(0);
  const tree = remote.git('rev-parse', `${commit}:acme`);
  await pg.sql(`INSERT INTO voxform_fleet.workspaces (address, source, project, workspace, mode, interval_ms, version, commit, due_at)
VALUES ('voices/acme:test', 'voices', 'acme', 'test', 'report', 1000, '${tree}', '${commit}', now())`);
  const exec = (...words: string[]) => fleet('exec', 'voices/acme:test', '--', ...words);
  expect(await exec('apply', '--auto-approve')).toMatchObject({ code: 0 });
  expect(await exec('state', 'rm', 'Agent/a')).toMatchObject({ code: 0 });
  const { runs } = JSON.parse((await exec('history', '--output', 'json')).stdout);
  expect(runs).toMatchObject([
    { command: 'state rm', commit },
    { command: 'apply', commit },
  ]);
});

it('a fleet keeps states in the repository of its projects, also on a machine without their folders', {
  tags: ['long'],
}, async () => {
  const pg = await freshDatabase();
  await using emulator = await startEmulator({ seed: 1 });
  await using other = await startEmulator({ seed: 2, workspaceId: '01JEMV1AT0RW0RKSPACE000002' });
  using remote = new Remote();
  const project = (at: typeof emulator) =>
    `${projectFile(at).replace('VOXFORM_API_KEY', 'KEY')}state: { backend: git }\n`;
  remote.push({
    'acme/voxform.yaml': project(emulator),
    'acme/manifests/a.yaml': agentManifest('a'),
    'beta/voxform.yaml': project(other),
    'beta/manifests/a.yaml': agentManifest('a'),
  });
  await using folder = await temporaryFolder({ 'none.txt': '' });
  const git = JSON.stringify(path.relative(folder.root, remote.bare));
  await folder.write('fleet.yaml', FLEET.replace('path: voices', `git: ${git}`));
  const env = { KEY: 'key', FLEET_DATABASE_URL: pg.url, PATH: String(process.env.PATH) };
  const fleet = (...args: string[]) => command(['fleet', ...args], { cwd: folder.root, env });
  expect((await fleet('init')).code).toBe(0);
  for (const name of ['acme', 'beta'])
    await pg.sql(`INSERT INTO voxform_fleet.workspaces (address, source, project, workspace, mode, interval_ms, version, due_at)
VALUES ('voices/${name}:test', 'voices', '${name}', 'test', 'report', 1000, '${remote.git('rev-parse', `main:${name}`)}', now())`);
  const exec = (name: string, ...words: string[]) => fleet('exec', `voices/${name}:test`, '--', ...words);
  expect(await exec('acme', 'apply', '--auto-approve')).toMatchObject({ code: 0 });
  expect(remote.git('for-each-ref', '--format=%(refname)')).toContain('refs/voxform/test');
  expect((await exec('acme', 'state', 'list')).stdout).toContain('Agent/a');
  const beta = await exec('beta', 'plan');
  expect([beta.code, messagesIn(beta.stderr)]).toEqual([1, expect.stringContaining('state.ref')]);
  const nowhere = {
    root: path.join(folder.root, 'nowhere'),
    host: 'h',
    user: 'u',
    pid: 1,
    version: '0',
    env,
    now: () => new Date(),
  };
  const place = { backend: 'git', remote: 'origin', ref: 'refs/voxform/test', root: nowhere.root } as const;
  await expect(createStore(place, nowhere).read()).rejects.toThrow('nowhere: the folder does not exist');
});

it('exec gives commands of a project no secrets of the fleet file', { tags: ['long'] }, async () => {
  const pg = await freshDatabase();
  const credentials: string[] = [];
  await using server = await TerraformServer.start({
    answer(_, { headers }) {
      credentials.push(Buffer.from(headers.authorization?.replace('Basic ', '') ?? '', 'base64').toString());
      return undefined;
    },
  });
  const address = JSON.stringify(`${server.url}/state/{workspace}`);
  const state = (password: string) => `{ backend: http, address: ${address}, password: { ${password} } }`;
  const key = 'api_key: { $secret: KEY }';
  const project = (settings: string) => `version: 1
workspaces: { test: { base_url: "${server.url}", workspace_id: W1, ${settings} } }
`;
  await using folder = await temporaryFolder({
    'fleet.yaml': FLEET,
    'voices/secret/voxform.yaml': project(`${key}, state: ${state('$secret: FLEET_DATABASE_URL')}`),
    'voices/env/voxform.yaml': project(`${key}, state: ${state('$env: FLEET_DATABASE_URL')}`),
    'voices/key/voxform.yaml': project('api_key: { $secret: FLEET_DATABASE_URL }'),
    'voices/var/voxform.yaml': project(`${key}, vars: { url: { $env: FLEET_DATABASE_URL } }`),
    'voices/var/manifests/a.yaml': agentManifest('a').replace('"Be kind."', '{ $var: url }'),
  });
  const env = { FLEET_DATABASE_URL: pg.url, KEY: 'key' };
  const fleet = (...args: string[]) => command(['fleet', ...args], { cwd: folder.root, env });
  expect((await fleet('init')).code).toBe(0);
  const exec = (name: string, ...words: string[]) => fleet('exec', `voices/${name}:test`, '--', ...words);
  const move = ['state', 'move', '--from', '{ backend: postgres, url: { $secret: FLEET_DATABASE_URL } }'];
  const commands = {
    secret: [['state', 'list'], move, ['history'], ['status']],
    env: [['state', 'list']],
    key: [],
    var: [],
  };
  for (const [name, lines] of Object.entries(commands)) {
    await pg.sql(`INSERT INTO voxform_fleet.workspaces (address, source, project, workspace, mode, interval_ms, version, due_at)
VALUES ('voices/${name}:test', 'voices', '${name}', 'test', 'report', 1000, 'none', now())`);
    for (const words of lines) await exec(name, ...words);
    expect((await exec(name, 'plan')).stderr).toContain('FLEET_DATABASE_URL');
  }
  expect(credentials.filter((text) => text.includes(pg.url))).toEqual([]);
});

it('a fleet is not served on a server that is too old', { tags: ['long'] }, async () => {
  const { port } = await postgresServer();
  await using proxy = await TcpProxy.start(port);
  const pg = await freshDatabase();
  const [{ server } = {}] = await pg.sql(
    `SELECT ARRAY[current_setting('server_version_num'), current_setting('server_version')] AS server`,
  );
  const [number = '', name = ''] = server as string[];
  proxy.answer = (bytes) =>
    Buffer.from(
      bytes.toString('latin1').replaceAll(number, '120022').replaceAll(name, '12.9'.padEnd(name.length)),
      'latin1',
    );
  await using folder = await temporaryFolder({ 'fleet.yaml': FLEET, 'voices/none.txt': '' });
  const env = { FLEET_DATABASE_URL: pg.urlWith({ port: proxy.port }) };
  for (const name of ['serve', 'status', 'init']) {
    const { code, stdout, stderr } = await command(['fleet', name], { cwd: folder.root, env });
    expect([code, stdout, messagesIn(stderr)]).toEqual([
      1,
      '',
      expect.stringMatching(/is PostgreSQL 12.9 *; voxform needs 13 or later .*Upgrade the server/),
    ]);
  }
});

it('serve waits for a server that is down, alive and not ready', { tags: ['long'] }, async () => {
  await using postgres = await startPostgres();
  await postgres.stop();
  await using folder = await temporaryFolder({ 'fleet.yaml': FLEET, 'voices/none.txt': '' });
  const [port, env] = [await freePort(), { FLEET_DATABASE_URL: postgres.url('postgres') }];
  const probe = async (path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).status;
  const probes = async () =>
    Promise.all(['/healthz', '/readyz', '/metrics'].map(probe)).then(String, () => 'no answer');
  const serve = async (meanwhile: () => Promise<void>) => {
    const interrupts = new Interrupts(() => undefined);
    const args = ['fleet', 'serve', '--listen', `127.0.0.1:${port}`];
    const serving = command(args, { cwd: folder.root, env, interrupts });
    await expect.poll(probes).toBe('200,503,503');
    await meanwhile();
    interrupts.raise('SIGTERM');
    const { code, stderr } = await serving;
    return [code, messagesIn(stderr)];
  };
  const waiting = 'waiting for the database: cannot use .*: connection refused .*Start PostgreSQL[^:]*';
  await step('until a signal stops it', async () => {
    expect(await serve(async () => undefined)).toEqual([0, expect.stringMatching(`^${waiting}$`)]);
  });
  await step('until the server accepts connections', async () => {
    const there = async (): Promise<void> => {
      await postgres.start();
      await expect.poll(probes).toBe('200,200,200');
    };
    const served = `^${waiting} serving the fleet of voices .* stopped$`;
    expect(await serve(there)).toEqual([0, expect.stringMatching(served)]);
  });
});

it.each(refusals)(
  'a fleet is not served with $reason',
  async ({ prepare, options, url = (pg) => pg.url, mayPass = false, message }) => {
    const pg = await freshDatabase(options);
    if (prepare !== undefined) await pg.sql(prepare);
    await using folder = await temporaryFolder({ 'fleet.yaml': FLEET, 'voices/none.txt': '' });
    const env = { FLEET_DATABASE_URL: url(pg) };
    const isReached = prepare !== undefined || options !== undefined;
    const refused = [['status'], ...(mayPass ? [] : [['serve']]), ...(isReached ? [['init', '--sql']] : [])];
    for (const words of refused) {
      const { code, stdout, stderr } = await command(['fleet', ...words], { cwd: folder.root, env });
      expect([code, stdout, messagesIn(stderr)]).toEqual([1, '', expect.stringMatching(message)]);
      expect(stderr).not.toContain('not-the-password');
    }
  },
);
