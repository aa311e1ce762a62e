/** @module-tag long */

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import type { Page } from 'playwright-core';
import { expect, it, onTestFinished } from 'vitest';
import { startEmulator } from '../../../src/emulator/start-emulator.ts';
import { pathOf } from '../../../src/page/views/parts.ts';
import { hasBrowser, noBrowser, startBrowser } from '../../browser.ts';
import { type Folder, start, temporaryFolder, voxform } from '../../cli/voxform-process.ts';
import { agentManifest, projectFile } from '../../cli/workspace.ts';
import { freshDatabase } from '../../state/backends/postgres/databases.ts';
import { freePort } from '../../state/backends/postgres/postgres-server.ts';
import { step } from '../../step.ts';
import { startRealProvider } from './real-provider.ts';

const WORKSPACE = pathOf('voices/acme:test');
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Starts a proxy that distributes requests between these processes, and opens a browser at one address. */
async function startProxy(port: number) {
  const targets: string[] = [];
  const server = createServer((incoming, response) => {
    const target = targets.shift();
    if (target === undefined) return void response.writeHead(502).end();
    targets.push(target);
    const headers = { ...incoming.headers, 'x-forwarded-for': '10.1.1.1' };
    const outgoing = request(`${target}${incoming.url}`, { method: incoming.method ?? 'GET', headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    outgoing.on('error', () => response.destroy());
    response.on('close', () => outgoing.destroy());
    incoming.pipe(outgoing);
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    targets,
    async [Symbol.asyncDispose]() {
      const closed = server[Symbol.asyncDispose]();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function serve(folder: Folder, env: Readonly<Record<string, string>>) {
  const serving = start(['fleet', 'serve', '--listen', '127.0.0.1:0'], { cwd: folder.root, env });
  if (serving.child.stderr === null) throw new Error('no output');
  for await (const line of createInterface({ input: serving.child.stderr })) {
    const { url = '' } = JSON.parse(line) as { readonly url?: string };
    if (url !== '') return { ...serving, url };
  }
  throw new Error((await serving.ended).stderr);
}

it.skipIf(!hasBrowser)(
  `signs people in with oidc-provider through any process${hasBrowser ? '' : `: ${noBrowser}`}`,
  async () => {
    const [port, providerPort] = [await freePort(), await freePort()];
    // The page and the provider need different sites.
    const address = `http://localhost:${port}`;
    const people = { ann: ['leads', 'all'], root: ['platform'], eve: ['sales'] };
    await using provider = await startRealProvider({ port: providerPort, address, people }, 'client-secret');
    await using emulator = await startEmulator({ seed: 1 });
    await using folder = await temporaryFolder({
      'fleet.yaml': `version: 1
database: { $secret: FLEET_DATABASE_URL }
sources: { voices: { path: voices, projects: ["*"] } }
workspaces: { "*": { mode: approve, interval: 1h } }
address: ${address}
sign_in:
  issuer: ${provider.url}
  client_id: voxform
  client_secret: { $secret: OIDC_CLIENT_SECRET }
  roles: { viewer: [all], approver: [leads], admin: [platform] }
`,
      'voices/acme/voxform.yaml': projectFile(emulator).replace('VOXFORM_API_KEY', 'VOXFORM_TEST_KEY'),
      'voices/acme/manifests/a.yaml': agentManifest('answering', 'One.'),
    });
    const env = {
      VOXFORM_TEST_KEY: 'key-of-the-fleet',
      FLEET_DATABASE_URL: (await freshDatabase()).url,
      OIDC_CLIENT_SECRET: 'client-secret',
    };
    await using proxy = await startProxy(port);
    await using processes = new AsyncDisposableStack();
    const begin = async () => processes.use(await serve(folder, env));
    const [first, second] = [await begin(), await begin()];
    proxy.targets.push(first.url, second.url);
    const browser = await startBrowser();
    onTestFinished(() => browser.close());
    const open = async () => {
      const context = await browser.newContext();
      // The pages of the provider request a font.
      await context.route(/googleapis/, (route) => route.abort());
      context.setDefaultTimeout(100_000);
      return context.newPage();
    };
    const findings = async (tab: Page) => {
      await tab.evaluate(axe);
      return tab.evaluate('axe.run().then(({ violations }) => violations.map(({ id }) => id))');
    };
    const goToProvider = async (tab: Page, path = '/') => {
      await tab.goto(address + path);
      await tab.click('main a.button');
      await tab.waitForSelector('input[name="login"]');
    };
    const enter = async (tab: Page, name: string) => {
      await tab.fill('input[name="login"]', name);
      await tab.fill('input[name="password"]', 'any');
      await tab.click('button[type="submit"]');
      const consent = tab.locator('input[value="consent"]');
      await consent.or(tab.locator('main')).waitFor({ state: 'attached' });
      if ((await consent.count()) > 0) await tab.click('button[type="submit"]');
    };

    const ann = await open();
    const contents = async () => {
      await ann.goto(address + WORKSPACE);
      return ann.textContent('main');
    };
    await step('strangers see only how to sign in', async () => {
      const answer = await ann.goto(address + WORKSPACE);
      expect(answer?.status()).toBe(401);
      expect(await ann.textContent('main')).toContain(`Sign in with 127.0.0.1:${providerPort}`);
      expect(await findings(ann)).toEqual([]);
    });
    await step('a user returns to the requested page, with the role of the groups', async () => {
      await goToProvider(ann, WORKSPACE);
      await enter(ann, 'ann');
      await ann.waitForURL(address + WORKSPACE);
      expect(await ann.textContent('#who')).toMatch(/ann@example\.com approver/);
      expect(await findings(ann)).toEqual([]);
      const cookies = await ann.context().cookies(address);
      expect(cookies.map(({ httpOnly, sameSite }) => [httpOnly, sameSite])).toEqual([[true, 'Strict']]);
    });
    await step('the user approves a plan, and the history contains the subject', async () => {
      await expect.poll(contents).toContain('Approve');
      await ann.click('a:has-text("Approve")');
      await ann.click('button:has-text("Approve")');
      await expect.poll(() => emulator.requests.filter(({ method }) => method === 'POST').length).toBe(1);
      await expect.poll(contents).toContain('ann@example.com (sub ann)');
    });
    await step('a page of another site opens the callback: the user is still signed in', async () => {
      await ann.goto(`${provider.url}/.well-known/openid-configuration`);
      await ann.evaluate(`location.href = '${address}/sign-in/callback?state=x'`);
      await ann.waitForURL(`${address}/`);
      expect(await ann.textContent('#who')).toContain('ann@example.com');
    });
    await step('two tabs of one browser sign in', async () => {
      const first = await open();
      const second = await first.context().newPage();
      for (const tab of [first, second]) await goToProvider(tab, '/workspaces');
      for (const tab of [second, first]) {
        await enter(tab, 'ann');
        await tab.waitForURL(`${address}/workspaces`);
      }
    });
    const eve = await open();
    await step('a user without a role sees this, and may use another account', async () => {
      await goToProvider(eve);
      await enter(eve, 'eve');
      await eve.waitForSelector('h1:has-text("No access")');
      expect(await eve.textContent('main')).toContain('eve@example.com');
      expect(await findings(eve)).toEqual([]);
      await eve.click('main a.button');
      await enter(eve, 'ann');
      await eve.waitForSelector('#who:has-text("ann@example.com")');
    });
    await step('a process may end while a user is at the provider', async () => {
      const root = await open();
      await goToProvider(root, '/workspaces');
      for (const each of [first, second]) each.child.kill('SIGKILL');
      await Promise.all([first.ended, second.ended]);
      proxy.targets.splice(0, 2, (await begin()).url);
      await enter(root, 'root');
      await root.waitForURL(`${address}/workspaces`);
      expect(await root.textContent('#who')).toContain('root@example.com admin');
      await ann.goto(address + WORKSPACE);
      expect(await ann.textContent('#who')).toContain('ann@example.com');
    });
    await step('the sign-out ends both sessions', async () => {
      await ann.click('#who button');
      await ann.waitForURL(`${provider.url}/session/end?*`);
      await ann.click('button[value="yes"]');
      await ann.waitForURL(`${address}/`);
      expect(await ann.textContent('#who')).not.toContain('ann@example.com');
      await goToProvider(ann);
      await enter(ann, 'ann');
      await ann.waitForURL(`${address}/`);
    });
    await step('sessions remain valid while the provider is down', async () => {
      await provider.close();
      await ann.goto(address + WORKSPACE);
      expect(await ann.textContent('#who')).toContain('ann@example.com');
      await Promise.all([ann.waitForEvent('requestfailed'), ann.click('#who button')]);
      const { stdout } = await voxform(['fleet', 'token', 'add', 'tom', '--role', 'viewer'], { cwd: folder.root, env });
      await ann.goto(`${address}/sign-in`);
      await ann.fill('[name="token"]', stdout.trim());
      await ann.click('main form button');
      await ann.waitForSelector('#who:has-text("tom")');
    });
  },
);
