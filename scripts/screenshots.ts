import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { appendFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { startEmulator } from '../src/emulator/start-emulator.ts';
import { startBrowser } from '../test/browser.ts';

/*
 * Makes the pictures of docs/page.md, with the quickstart example, the emulator and a browser.
 *   CHROMIUM=/usr/bin/chromium node scripts/screenshots.ts
 */

const root = path.resolve(import.meta.dirname, '..');
const bin = path.join(root, 'src', 'main.ts');
const pictures = path.join(root, 'docs', 'images');
const home = mkdtempSync(path.join(tmpdir(), 'voxform-screenshots-'));
const project = path.join(home, 'voices');
const fleetFolder = path.join(home, 'fleet');
const REPOSITORY = 'https://git.example.com/juniper/voices.git';
const TOKEN = 'the-token-of-the-pictures';
const env = {
  ...process.env,
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
  const fleet = await prepareFleet();
  await page.goto(fleet);
  // The page updates itself.
  await page.locator('#overview tbody tr').nth(2).waitFor({ timeout: 60_000 });
  await page.locator('#none', { hasText: 'never run' }).waitFor({ timeout: 60_000 });
  await shoot(page, 'page-fleet', { width: 1120, height: 760, colorScheme: 'light' });
  const token = await voxform(['fleet', 'token', 'add', 'ann', '--role', 'approver'], fleetFolder);
  await signIn(page, fleet, token.trim());
  await page.goto(`${fleet}/workspaces/voices/clients/acme:production`);
  await shoot(page, 'page-plan', { width: 1120, height: 760, colorScheme: 'light' });
} finally {
  await browser.close();
  await Promise.all(serving.map((each) => new Promise((resolve) => each.once('exit', resolve).kill('SIGTERM'))));
  rmSync(home, { recursive: true, force: true });
}

/** A workspace in which a prompt waits, a webhook drifted and another is an orphan. */
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

/** Where the page is, once this was said. */
async function serve(args: readonly string[], cwd: string, said: string): Promise<string> {
  const all = [bin, ...args, '--listen', '127.0.0.1:0', '--log-format', 'json'];
  const child = spawn(process.execPath, all, { cwd, env, stdio: ['ignore', 'ignore', 'pipe'] });
  serving.push(child);
  let url = '';
  for await (const line of createInterface({ input: child.stderr })) {
    const entry = JSON.parse(line) as { readonly event?: string; readonly url?: string };
    url = entry.url ?? url;
    if (entry.event === said) {
      child.stderr.resume();
      return url;
    }
  }
  throw new Error(`${args.join(' ')} ended`);
}

/** Clients of an agency: some wait for approval, one has a broken manifest, one only reports. */
async function prepareFleet(): Promise<string> {
  const clients = [
    'acme',
    'birch-dental',
    'corner-garage',
    'delta-travel',
    'elm-law',
    'fox-heating',
    'green-vets',
    'harbour-hotel',
  ];
  for (const [index, client] of clients.entries()) {
    const folder = path.join(fleetFolder, 'voices/clients', client);
    mkdirSync(path.join(folder, 'manifests'), { recursive: true });
    const workspaceId = `01JEMV1AT0RW0RKSPACE1${String(index).padStart(5, '0')}`;
    const platform = await startEmulator({ seed: client, workspaceId });
    stack.use(platform);
    const url = `base_url: ${platform.url}, workspace_id: ${workspaceId}, api_key: { $secret: LOCAL_API_KEY }`;
    writeFileSync(path.join(folder, 'voxform.yaml'), `version: 1\nworkspaces: { production: { ${url} } }\n`);
    const broken = client === 'elm-law' ? 'promt_config: {}' : '';
    writeFileSync(path.join(folder, 'manifests/agents.yaml'), `${billing.slice(4)}  ${broken}\n`);
  }
  writeFileSync(
    path.join(fleetFolder, 'fleet.yaml'),
    `version: 1
sources: { voices: { path: voices, projects: ["clients/*"] } }
workspaces: { "*/acme:*": { mode: approve }, "*/delta-travel:*": { mode: approve }, "*/fox-heating:*": { mode: report }, "*": { mode: apply } }
`,
  );
  return serve(['fleet', 'serve'], fleetFolder, 'serving');
}

interface Look {
  readonly width: number;
  readonly height: number;
  readonly colorScheme: 'light' | 'dark';
}

async function shoot(page: Page, name: string, { width, height, colorScheme }: Look): Promise<void> {
  await page.setViewportSize({ width, height });
  await page.emulateMedia({ colorScheme });
  await page.screenshot({ path: path.join(pictures, `${name}.png`) });
}
