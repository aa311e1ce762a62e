import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { appendFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { chromium, type Page } from 'playwright-core';
import { startEmulator } from '../src/emulator/start-emulator.ts';

/*
 * Makes the pictures of docs/page.md, with the quickstart example, the emulator and a browser.
 *   CHROMIUM=/usr/bin/chromium node scripts/screenshots.ts
 */

const root = path.resolve(import.meta.dirname, '..');
const bin = path.join(root, 'src', 'main.ts');
const pictures = path.join(root, 'docs', 'images');
const project = mkdtempSync(path.join(tmpdir(), 'voxform-screenshots-'));
const TOKEN = 'the-token-of-the-pictures';
const env = {
  ...process.env,
  LOCAL_API_KEY: 'any-key-will-do',
  OPENAI_API_KEY: 'sk-any-key-will-do',
  VOXFORM_WATCH_TOKEN: TOKEN,
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
let watch: ChildProcess | undefined;
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--headless', '--no-sandbox', '--disable-gpu', '--hide-scrollbars'],
});
try {
  await prepare();
  const url = await startWatch();
  mkdirSync(pictures, { recursive: true });
  const page = await browser.newPage();
  await page.goto(`${url}/sign-in`);
  await page.fill('input[name=token]', TOKEN);
  await page.click('main button');
  await shoot(page, 'page-workspace', { width: 1120, height: 1060, colorScheme: 'light' });
  await shoot(page, 'page-phone', { width: 390, height: 844, colorScheme: 'dark' });
} finally {
  await browser.close();
  watch?.kill('SIGTERM');
  rmSync(project, { recursive: true, force: true });
}

/** A workspace in which a prompt waits, a webhook drifted and another is an orphan. */
async function prepare(): Promise<void> {
  cpSync(path.join(root, 'examples', 'quickstart'), project, { recursive: true });
  edit('voxform.yaml', (text) =>
    text.replace('http://127.0.0.1:4010', emulator.url).replace(/01JEMV\w+/, emulator.workspaceId),
  );
  appendFileSync(path.join(project, 'manifests/agents.yaml'), billing);
  const webhook = readFileSync(path.join(project, 'manifests/webhooks.yaml'), 'utf8');
  writeFileSync(
    path.join(project, 'manifests/old.yaml'),
    webhook.replace('name: appointments', 'name: callbacks').replace('/appointments', '/callbacks'),
  );
  await voxform('apply', '--auto-approve');
  rmSync(path.join(project, 'manifests/old.yaml'));
  await voxform('apply', '--auto-approve');
  edit('manifests/agents.yaml', (text) =>
    text.replace('Never promise a refund.', 'Offer a call back, and never promise a refund.'),
  );
}

function edit(file: string, change: (text: string) => string): void {
  const name = path.join(project, file);
  writeFileSync(name, change(readFileSync(name, 'utf8')));
}

async function voxform(...args: string[]): Promise<void> {
  await promisify(execFile)(process.execPath, [bin, ...args], { cwd: project, env });
}

/** Where the page is, once the first run is over. */
async function startWatch(): Promise<string> {
  const args = ['watch', '-v', '--listen', '127.0.0.1:0', '--log-format', 'json'];
  watch = spawn(process.execPath, [bin, ...args], { cwd: project, env, stdio: ['ignore', 'ignore', 'pipe'] });
  let url = '';
  if (watch.stderr === null) throw new Error('watch says nothing');
  for await (const line of createInterface({ input: watch.stderr })) {
    const entry = JSON.parse(line) as { readonly event?: string; readonly url?: string };
    url = entry.url ?? url;
    if (entry.event === 'run') return url;
  }
  throw new Error('watch ended');
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
