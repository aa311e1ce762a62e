import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Locator, Page } from 'playwright-core';
import { attempt } from '../../src/problems/attempt.ts';
import { hasBrowser, startBrowser } from '../browser.ts';

const root = path.resolve(import.meta.dirname, '../..');
const found = (process.env.PATH ?? '')
  .split(path.delimiter)
  .map((folder) => path.join(folder, 'code-server'))
  .find(existsSync);

/** The reason why the editor cannot be started; undefined if it can. */
export const missing = found === undefined ? 'code-server' : hasBrowser ? undefined : 'Chromium';
if (missing !== undefined) process.stderr.write(`WARNING: there is no ${missing}, so VS Code is NOT tested\n`);

const SETTINGS = {
  'security.workspace.trust.startupPrompt': 'never',
  'workbench.startupEditor': 'none',
  'workbench.secondarySideBar.defaultVisibility': 'hidden',
  'chat.disableAIFeatures': true,
  'editor.autoIndent': 'none',
  'editor.autoClosingBrackets': 'never',
  'editor.minimap.enabled': false,
  'files.autoSave': 'off',
};

/** VS Code in a browser, with the extension in an empty profile, on a machine without Node and voxform in the PATH. */
export class VsCode implements AsyncDisposable {
  readonly page: Page;
  /** The folder for all files of the editor. */
  readonly home: string;
  readonly #end: () => Promise<void>;

  private constructor(page: Page, home: string, end: () => Promise<void>) {
    this.page = page;
    this.home = home;
    this.#end = end;
  }

  /** @param variables of the environment, in addition to those that the editor needs. */
  static async open(folder: string, variables: Readonly<Record<string, string>> = {}): Promise<VsCode> {
    const home = await mkdtemp(path.join(tmpdir(), 'voxform-vscode-'));
    const [data, extensions, nothing] = ['data', 'extensions', 'nothing'].map((name) => path.join(home, name));
    const vsix = path.join(home, 'voxform.vsix');
    await buildExtension(vsix);
    await mkdir(path.join(home, 'data/User'), { recursive: true });
    await mkdir(path.join(home, 'nothing'));
    await writeFile(path.join(home, 'data/User/settings.json'), JSON.stringify(SETTINGS));
    const env = { ...variables, HOME: home, PATH: nothing, EXTENSIONS_GALLERY: '{}', LANG: 'C.UTF-8' };
    const server = [realpathSync(found ?? ''), '--user-data-dir', `${data}`, '--extensions-dir', `${extensions}`];
    await promisify(execFile)(process.execPath, [...server, '--install-extension', vsix], { env });
    const port = await freePort();
    const settings = ['--auth', 'none', '--disable-telemetry', '--disable-update-check'];
    const child = spawn(process.execPath, [...server, ...settings, '--bind-addr', `127.0.0.1:${port}`], {
      env,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const ended = once(child, 'close');
    const listening = new Promise<void>((resolve) => {
      child.stdout.on('data', (text) => String(text).includes('HTTP server listening') && resolve());
    });
    const browser = await startBrowser();
    const end = async () => {
      await browser.close();
      child.kill();
      await ended;
      await rm(home, { recursive: true, force: true, maxRetries: 10 });
    };
    try {
      await Promise.race([listening, ended]);
      const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
      page.setDefaultTimeout(120_000);
      await page.goto(`http://127.0.0.1:${port}/?folder=${encodeURIComponent(folder)}`);
      await page.locator('.monaco-workbench').waitFor();
      return new VsCode(page, home, end);
    } catch (error) {
      await end();
      throw error;
    }
  }

  /** Returns the arguments of each running command, by process id. */
  runs(): ReadonlyMap<string, readonly string[]> {
    const all = readdirSync('/proc').flatMap((id): [string, readonly string[]][] => {
      const words = (textOf(`/proc/${id}/cmdline`) ?? '').split('\0').slice(0, -1);
      const command = words.findIndex((word) => word.startsWith(this.home) && word.endsWith('voxform/dist/main.js'));
      return command === -1 ? [] : [[id, words.slice(command + 1)]];
    });
    return new Map(all);
  }

  /** Returns the class that colors a word of the text. */
  async colorOf(word: string): Promise<string | null> {
    const line = this.shown('.view-line', word);
    return line.locator('span:not(:has(span))').filter({ hasText: word }).first().getAttribute('class');
  }

  /** Runs a command by its name in the palette. */
  async run(command: string): Promise<void> {
    await this.#pick(`>${command}`, command);
  }

  /** Opens a file, with the cursor at this position. */
  async show(file: string, line = 1, column = 1): Promise<void> {
    await this.#pick(file, file);
    await this.page.locator(`.tab.active[data-resource-name="${path.basename(file)}"]`).waitFor();
    await this.#pick(`:${line}:${column}`, String(line));
  }

  /** Types into the focused editor. */
  async type(text: string): Promise<void> {
    await this.page.keyboard.type(text);
  }

  async press(...keys: readonly string[]): Promise<void> {
    for (const key of keys) await this.page.keyboard.press(key);
  }

  /** Returns the commands of the palette that match this text. */
  async offers(text: string): Promise<readonly string[]> {
    await this.press('Control+P');
    await this.page.locator('.quick-input-widget input[type=text]').fill(`>${text}`);
    const rows = this.page.locator('.quick-input-list .monaco-list-row');
    await rows.first().waitFor();
    const names = await rows.locator('.label-name').allTextContents();
    await this.press('Escape');
    return names.filter((name) => name.startsWith(text));
  }

  /** Selects an item of the displayed list. */
  async pick(label: string): Promise<void> {
    await this.shown('.quick-input-list .monaco-list-row', label).click();
  }

  /** Waits for a question with this text. */
  async question(text: string): Promise<string> {
    const message = this.shown('.quick-input-widget:has(input[type=password]) .quick-input-message', text);
    await message.waitFor();
    return message.innerText();
  }

  /** Answers a question. */
  async answer(text: string): Promise<void> {
    await this.page.locator('.quick-input-widget input[type=password]').fill(text);
    await this.press('Enter');
  }

  /** Trusts the folder. */
  async trust(): Promise<void> {
    await this.shown('.statusbar-item', 'Restricted Mode').click();
    await this.shown('.monaco-button', /^Trust$/).click();
    await this.page.locator('.statusbar-item').filter({ hasText: 'Restricted Mode' }).waitFor({ state: 'hidden' });
  }

  async notifications(): Promise<readonly string[]> {
    return this.page.locator('.notification-list-item-message').allTextContents();
  }

  /** Returns the body of the report with this title. */
  report(title: string): Locator {
    const frames = this.page.locator('iframe.webview.ready');
    return frames
      .contentFrame()
      .locator('iframe#active-frame')
      .contentFrame()
      .locator('body')
      .filter({ hasText: title });
  }

  /** Returns an element with this text. */
  shown(selector: string, text: string | RegExp): Locator {
    return this.page.locator(selector).filter({ hasText: text }).first();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end();
  }

  async #pick(text: string, offered: string): Promise<void> {
    const input = this.page.locator('.quick-input-widget input[type=text]');
    const row = this.shown('.quick-input-list .monaco-list-row.focused', offered);
    // While a window loads, the list may not have the item yet, and is not updated.
    for (let tries = 1; ; tries += 1) {
      await this.press('Control+P');
      await input.fill(text);
      const timeout = 15_000;
      if (tries === 8) await row.waitFor({ timeout });
      const isOffered = await row.waitFor({ timeout }).then(
        () => true,
        () => false,
      );
      if (isOffered) break;
      await this.press('Escape');
    }
    // The focused element may differ, because the window may move the focus to an editor.
    await input.press('Enter');
    // The command may ask in the same widget at once.
    await row.waitFor({ state: 'hidden' });
  }
}

export async function buildExtension(file: string): Promise<void> {
  await promisify(execFile)(process.execPath, [path.join(root, 'scripts/vscode.ts'), file], { cwd: root });
}

/** Returns undefined for a process that has just ended. */
function textOf(file: string): string | undefined {
  return attempt(() => readFileSync(file, 'utf8'));
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return address.port;
}
