import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { appendFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs, promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { type Emulator, startEmulator } from '../src/emulator/start-emulator.ts';
import { fleetDatabaseAt } from '../src/fleet/database/fleet-database.ts';
import { startBrowser } from '../test/browser.ts';
import { startPostgres } from '../test/state/backends/postgres/postgres-server.ts';
import { agent, documents, number, webhook } from './torture/manifests.ts';

/*
 * Takes the screenshots of docs/page.md, with the quickstart example, the emulator, a fleet of 300 workspaces and a browser.
 *   CHROMIUM=/usr/bin/chromium node scripts/screenshots.ts [--all FOLDER]
 * With --all, also takes a screenshot of every page: at four widths, light and dark, with and without scripts.
 */

const { values } = parseArgs({ options: { all: { type: 'string' } } });
const root = path.resolve(import.meta.dirname, '..');
const bin = path.join(root, 'src', 'main.ts');
const pictures = path.join(root, 'docs', 'images');
const home = mkdtempSync(path.join(tmpdir(), 'voxform-screenshots-'));
const project = path.join(home, 'voices');
const fleetFolder = path.join(home, 'fleet');
const REPOSITORY = 'https://git.example.com/juniper/voices.git';
const TOKEN = 'the-token-of-the-pictures';
await using postgres = await startPostgres();
const env = {
  ...process.env,
  FLEET_DATABASE_URL: postgres.url('postgres'),
  PROVIDER_KEY: 'sk-any-key-will-do',
  LOCAL_API_KEY: 'any-key-will-do',
  OPENAI_API_KEY: 'sk-any-key-will-do',
  VOXFORM_WATCH_TOKEN: TOKEN,
  GIT_CONFIG_GLOBAL: path.join(home, 'gitconfig'),
};

const billing = `---
apiVersion: voxform/v1
kind: Agent
metadata: { name: billing }
spec:
  name: Billing
  prompt_config:
    prompt: |
      You answer questions on invoices.
      Ask for the invoice number first.
      Never promise a refund.
`;

/* Clients that differ from the others. */
const LARGE = 'juniper-retail';
const [WAITING, REPORTED] = [
  ['acme', 'delta-travel', LARGE],
  ['fox-heating', 'harbour-hotel', 'ivy-florist'],
] as const;
const UNREACHABLE = ['corner-garage', 'king-street-cafe'];
const INVALID = 'elm-law';
const PAUSED = 'green-vets';
const named = [...WAITING, ...REPORTED, ...UNREACHABLE, INVALID, PAUSED, 'birch-dental'];
const clients = [
  ...named,
  ...Array.from({ length: 300 - named.length }, (_, index) => `client-${String(index).padStart(3, '0')}`),
];

await using emulator = await startEmulator({ seed: 'screenshots' });
await using stack = new AsyncDisposableStack();
const serving: ChildProcess[] = [];
const browser = await startBrowser();
try {
  await prepare();
  const url = await serve(['watch', '-v', '--git', REPOSITORY], project, 'run');
  mkdirSync(pictures, { recursive: true });
  const page = await browser.newPage();
  await signIn(page, url, TOKEN);
  await shoot(page, 'page-workspace', { width: 1120, height: 1060, colorScheme: 'light' });
  await shoot(page, 'page-phone', { width: 390, height: 844, colorScheme: 'dark' });
  if (values.all !== undefined) await shootAll(page, url, { workspace: '/workspaces/production' });
  const fleet = await prepareFleet();
  const token = await voxform(['fleet', 'token', 'add', 'ann', '--role', 'admin'], fleetFolder);
  await signIn(page, fleet, token.trim());
  await shoot(page, 'page-fleet', { width: 1120, height: 860, colorScheme: 'light' });
  await page.goto(`${fleet}${pathOf('acme')}`);
  await shoot(page, 'page-plan', { width: 1120, height: 760, colorScheme: 'light' });
  if (values.all !== undefined) await shootAll(page, fleet, await fleetPages());
} finally {
  await browser.close();
  await Promise.all(serving.map((each) => new Promise((resolve) => each.once('exit', resolve).kill('SIGTERM'))));
  rmSync(home, { recursive: true, force: true });
}

/** Prepares a workspace with an orphaned webhook and a changed prompt that is not applied. */
async function prepare(): Promise<void> {
  cpSync(path.join(root, 'examples', 'quickstart'), project, { recursive: true });
  edit('voxform.yaml', (text) =>
    text
      .replace('http://127.0.0.1:4010', emulator.url)
      .replace(/01JEMV\w+/, emulator.workspaceId)
      .replaceAll(/\blocal:|(?<=default_workspace: )local/g, (word) => word.replace('local', 'production')),
  );
  appendFileSync(path.join(project, 'manifests/agents.yaml'), billing);
  const webhook = readFileSync(path.join(project, 'manifests/webhooks.yaml'), 'utf8');
  writeFileSync(
    path.join(project, 'manifests/old.yaml'),
    webhook.replace('name: appointments', 'name: callbacks').replace('/appointments', '/callbacks'),
  );
  await voxform(['apply', '--auto-approve']);
  rmSync(path.join(project, 'manifests/old.yaml'));
  await voxform(['apply', '--auto-approve']);
  edit('manifests/agents.yaml', (text) =>
    text.replace('Never promise a refund.', 'Offer a call back, and never promise a refund.'),
  );
  writeFileSync(
    env.GIT_CONFIG_GLOBAL,
    `[url "${project}"]\n  insteadOf = ${REPOSITORY}\n[user]\n  name = Ann\n  email = ann@example.com\n`,
  );
  await git('init', '--quiet', '-b', 'main');
  await git('add', '--', 'voxform.yaml', 'manifests', 'prompts');
  await git('commit', '--quiet', '-m', 'Offer a call back');
}

async function git(...args: string[]): Promise<void> {
  await promisify(execFile)('git', args, { cwd: project, env });
}

function edit(file: string, change: (text: string) => string): void {
  const name = path.join(project, file);
  writeFileSync(name, change(readFileSync(name, 'utf8')));
}

async function voxform(args: readonly string[], cwd = project): Promise<string> {
  return (await promisify(execFile)(process.execPath, [bin, ...args], { cwd, env })).stdout;
}

async function signIn(page: Page, url: string, token: string): Promise<void> {
  await page.goto(`${url}/sign-in`);
  await page.fill('input[name=token]', token);
  await page.click('main button');
}

/** Starts a command with a page. Returns the URL of the page after this event was logged. */
async function serve(args: readonly string[], cwd: string, event: string): Promise<string> {
  const all = [bin, ...args, '--listen', '127.0.0.1:0', '--log-format', 'json'];
  const child = spawn(process.execPath, all, { cwd, env, stdio: ['ignore', 'ignore', 'pipe'] });
  serving.push(child);
  let url = '';
  for await (const line of createInterface({ input: child.stderr })) {
    const entry = JSON.parse(line) as { readonly event?: string; readonly url?: string };
    url = entry.url ?? url;
    if (entry.event === event) {
      child.stderr.resume();
      return url;
    }
  }
  throw new Error(`${args.join(' ')} ended`);
}

function manifestsOf(client: string, prompt = 'Be kind.'): string {
  const count = client === LARGE ? 150 : client === 'delta-travel' ? 20 : 2;
  const branches = Array.from({ length: count }, (_, index) => `branch-${index + 1}`);
  return documents(
    ...branches.map((name) => agent(name, `${promptOf(name)}${prompt}\n`)),
    ...branches.map((name, index) => number(name, index + 1)),
    webhook('calls'),
    `${billing.slice(4)}${client === 'acme' ? `      ${prompt}\n` : ''}`,
  );
}

/** Returns a prompt of a realistic length. */
function promptOf(name: string): string {
  return Array.from(
    { length: 60 },
    (_, line) => `${line + 1}. If a caller of ${name} asks for topic ${line}, answer briefly and offer a call back.\n`,
  ).join('');
}

function pathOf(client: string): string {
  return `/workspaces/voices/clients/${client}:production`;
}

/** Prepares the clients of an agency with pending plans, failures, drift and a paused workspace, and with the runs of a day. */
async function prepareFleet(): Promise<string> {
  const platforms = new Map<string, Emulator>();
  for (const [index, client] of clients.entries()) {
    const folder = path.join(fleetFolder, 'voices/clients', client);
    mkdirSync(path.join(folder, 'manifests'), { recursive: true });
    const workspaceId = `01JEMV1AT0RW0RKSPACE1${String(index).padStart(5, '0')}`;
    const platform = stack.use(
      await startEmulator({
        seed: client,
        workspaceId,
        behaviour: client === 'acme' ? { calls: { perDay: 60, days: 7 } } : undefined,
      }),
    );
    platforms.set(client, platform);
    const workspace = `base_url: ${platform.url}, workspace_id: ${workspaceId}, api_key: { $secret: LOCAL_API_KEY }`;
    const dashboard =
      'dashboard: { agent: "https://app.example.com/agents/{id}", number: "https://app.example.com/numbers/{id}" }';
    writeFileSync(
      path.join(folder, 'voxform.yaml'),
      `version: 1\nworkspaces: { production: { ${workspace}, ${dashboard} } }\n`,
    );
    writeFileSync(path.join(folder, 'manifests/agents.yaml'), manifestsOf(client));
  }
  const rules = (mode: string) =>
    `version: 1
database: { $secret: FLEET_DATABASE_URL }
sources: { voices: { path: voices, projects: ["clients/*"] } }
workspaces: { ${[...WAITING.map((client) => `"*/${client}:*": { mode: ${mode} }`), ...REPORTED.map((client) => `"*/${client}:*": { mode: ${mode === 'approve' ? 'report' : mode} }`)].join(', ')}, "*": { mode: apply, interval: 1h } }
`;
  const file = path.join(fleetFolder, 'fleet.yaml');
  writeFileSync(file, rules('apply'));
  const database = fleetDatabaseAt(env.FLEET_DATABASE_URL);
  stack.defer(() => database.close());
  const until = async (condition: string, count: number) => {
    for (;;) {
      const [row] = await database.query(`SELECT count(*)::int AS n FROM voxform_fleet.workspaces WHERE ${condition}`);
      if (Number(row?.n) >= count) return;
      await pause(1000);
    }
  };
  await serve(['fleet', 'serve'], fleetFolder, 'serving');
  await until(`status = 'in-sync'`, clients.length - 5);
  const first = serving.pop();
  await new Promise((resolve) => first?.once('exit', resolve).kill('SIGTERM'));
  writeFileSync(file, rules('approve'));
  for (const client of [...WAITING, INVALID]) {
    const broken = client === INVALID ? '  promt_config: {}\n' : '';
    writeFileSync(
      path.join(fleetFolder, 'voices/clients', client, 'manifests/agents.yaml'),
      `${manifestsOf(client, 'Offer a call back, and never promise a refund.')}${broken}`,
    );
  }
  for (const client of REPORTED) {
    const { world } = platforms.get(client) ?? {};
    for (const [id, stored] of world?.agents ?? [])
      world?.agents.set(id, { ...stored, name: `${stored.name} (copy)`, updated_at: new Date().toISOString() });
  }
  for (const client of UNREACHABLE) await platforms.get(client)?.close();
  const url = await serve(['fleet', 'serve'], fleetFolder, 'serving');
  await voxform(
    ['fleet', 'pause', `voices/clients/${PAUSED}:production`, '--because', 'moves to a new number'],
    fleetFolder,
  );
  await voxform(
    ['fleet', 'run', ...[...REPORTED, ...UNREACHABLE].map((client) => `voices/clients/${client}:production`)],
    fleetFolder,
  );
  await until(`status IN ('waiting', 'failed', 'invalid', 'drifted') OR paused_at IS NOT NULL`, 10);
  await database.query(`INSERT INTO voxform_fleet.trends (at, shard, runs, failed, drifted)
SELECT date_trunc('hour', now()) - n * interval '1 hour', 99, 250 + 37 * (n % 4), CASE WHEN n IN (3, 4, 11) THEN 4 ELSE 0 END, n % 3 FROM generate_series(1, 23) AS n`);
  await database.query(
    `UPDATE voxform_fleet.workspaces SET status_since = now() - (1 + length(address) % 7) * interval '37 minutes'`,
  );
  return url;
}

/** Returns the paths of all pages of the fleet, by name. */
async function fleetPages(): Promise<Readonly<Record<string, string>>> {
  const database = fleetDatabaseAt(env.FLEET_DATABASE_URL);
  const plans = await database.query(`SELECT address, id FROM voxform_fleet.plans WHERE state = 'waiting'`);
  const runs = await database.query(`SELECT address, id FROM voxform_fleet.runs WHERE result = 'failed' LIMIT 1`);
  await database.close();
  const approvals = plans.map(({ address, id }) => [
    `approve-${/([^/]+):/.exec(String(address))?.[1]}`,
    `/workspaces/${address}/actions/approve?of=${id}`,
  ]);
  return {
    overview: '/',
    workspaces: '/workspaces',
    filtered: '/workspaces?status=drifted&sort=since',
    search: '/search?q=branch-1',
    workspace: pathOf('acme'),
    large: pathOf(LARGE),
    'large-filtered': `${pathOf(LARGE)}?kind=Agent&q=branch-1`,
    drifted: pathOf('fox-heating'),
    failed: pathOf('corner-garage'),
    invalid: pathOf(INVALID),
    paused: pathOf(PAUSED),
    resource: `${pathOf('acme')}/resources/Agent/billing`,
    'resource-drifted': `${pathOf('fox-heating')}/resources/Agent/branch-1`,
    number: `${pathOf('acme')}/resources/PhoneNumber/branch-1`,
    ...Object.fromEntries(runs.map(({ address, id }) => ['run', `/workspaces/${address}/runs/${id}`])),
    ...Object.fromEntries(approvals),
    freeze: '/freeze',
  };
}

/** Takes screenshots at each width, with and without scripts. */
async function shootAll(page: Page, url: string, pages: Readonly<Record<string, string>>): Promise<void> {
  mkdirSync(values.all ?? '', { recursive: true });
  const plain = await browser.newContext({
    javaScriptEnabled: false,
    storageState: await page.context().storageState(),
  });
  for (const [scripts, on] of [
    ['', page],
    ['plain-', await plain.newPage()],
  ] as const) {
    for (const [name, at] of Object.entries(pages)) {
      await on.goto(`${url}${at}`);
      for (const width of scripts === '' ? [360, 800, 1280, 2000] : [360, 1280])
        for (const colorScheme of ['light', 'dark'] as const) {
          await on.setViewportSize({ width, height: 900 });
          await on.emulateMedia({ colorScheme });
          const file = path.join(values.all ?? '', `${scripts}${name}-${width}-${colorScheme}.png`);
          await on.screenshot({ path: file, fullPage: true, clip: await clipOf(on, width) });
        }
    }
  }
  await plain.close();
}

/** Limits a screenshot to the top of a page. */
async function clipOf(page: Page, width: number) {
  const height = await page.evaluate<number>('document.documentElement.scrollHeight');
  return { x: 0, y: 0, width, height: Math.min(height, 4000) };
}

interface Viewport {
  readonly width: number;
  readonly height: number;
  readonly colorScheme: 'light' | 'dark';
}

async function shoot(page: Page, name: string, { width, height, colorScheme }: Viewport): Promise<void> {
  await page.setViewportSize({ width, height });
  await page.emulateMedia({ colorScheme });
  await page.screenshot({ path: path.join(pictures, `${name}.png`) });
}
