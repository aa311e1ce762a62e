import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pathOf } from '../../src/page/views/parts.ts';
import { type RunningPage, runningPage } from './running-page.ts';
import { SampleSource } from './sample-source.ts';

const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
const isThere = existsSync(executablePath);
const missing = `NO PAGE WAS LOOKED AT: THERE IS NO CHROMIUM AT ${executablePath}. Install it, or name one with CHROMIUM`;
if (!isThere) process.stderr.write(`${missing}\n`);

const args = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--no-first-run',
  '--disable-background-networking',
];
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const names = [
  'voices/clients/client-00000:production',
  `voices/${'long-name-'.repeat(24)}:production`,
  'voices/שלום/עולם:production',
  `voices/<img src=x onerror="window.ran=1">\u202e:p`,
];
const ADDRESS = names[0] ?? '';

/** Every page that there is. */
const paths: Readonly<Record<string, string>> = {
  overview: '/',
  workspaces: '/workspaces',
  filtered: '/workspaces?status=failed&q=client&sort=checked',
  'no match': '/workspaces?q=nothing-of-this-name',
  workspace: pathOf(ADDRESS),
  'long name': pathOf(names[1] ?? ''),
  'right to left': pathOf(names[2] ?? ''),
  resource: pathOf(ADDRESS, 'resources', 'Agent/support-line'),
  run: pathOf(ADDRESS, 'runs', 'run-1'),
  'gone run': pathOf(ADDRESS, 'runs', 'run-0'),
  'run now': pathOf(ADDRESS, 'actions', 'run'),
  approve: `${pathOf(ADDRESS, 'actions', 'approve')}?of=plan-1`,
  pause: pathOf(ADDRESS, 'actions', 'pause'),
  'close an orphan': `${pathOf(ADDRESS, 'actions', 'close-orphan')}?of=01JORPHAN`,
  'sign in': '/sign-in',
};

/** Of the same build as another one: what they hold must fit. */
const likeOthers = new Set(['filtered', 'long name', 'right to left']);

/** Only its colours depend on the scheme. */
const findings = (colorScheme: string) => `axe.run(document, {
  resultTypes: ['violations'],
  ...('${colorScheme}' === 'dark' && { runOnly: ['color-contrast'] }),
}).then(({ violations }) =>
  violations.map(({ id, nodes }) => id + ': ' + nodes.slice(0, 3).map(({ html }) => html.slice(0, 160)).join(' | ')))`;
const FACTS = `({
  wide: document.documentElement.scrollWidth - innerWidth,
  thin: [...document.querySelectorAll('.rows bdi')].filter((text) => text.textContent.length > 20 && text.getBoundingClientRect().width < 120).length,
  boxes: [...document.querySelectorAll('main li')].filter((li) => getComputedStyle(li, '::before').borderTopWidth !== '0px').length,
  ran: 'ran' in window,
  paper: getComputedStyle(document.body).backgroundColor,
})`;

/** The policy of the page forbids what Playwright would wait with. */
async function holds(page: Page, expression: string): Promise<void> {
  await expect.poll(() => page.evaluate<boolean>(expression), { interval: 20, timeout: 20_000 }).toBe(true);
}

describe.skipIf(!isThere)(isThere ? 'the page in a browser' : missing, () => {
  let browser: Browser;
  let running: RunningPage;
  let signedIn: BrowserContext;
  let page: Page;
  const complaints: string[] = [];

  beforeAll(async () => {
    running = await runningPage({ source: new SampleSource({ count: 120, names }) });
    browser = await chromium.launch({ executablePath, args });
    signedIn = await browser.newContext();
    page = await signedIn.newPage();
    page.on('console', (message) => complaints.push(message.text()));
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('request', (request) => {
      if (!request.url().startsWith(running.url) && !request.url().startsWith('data:'))
        complaints.push(`asks for ${request.url()}`);
    });
    await signInAs(page, 'admin-token');
  });

  afterAll(async () => {
    await browser?.close();
    await running?.[Symbol.asyncDispose]();
  });

  async function signInAs(on: Page, token: string): Promise<void> {
    await on.goto(`${running.url}/sign-in`);
    await on.fill('input[name=token]', token);
    await on.click('main button');
  }

  it.each(Object.keys(paths))(
    '%s: fits a phone, a tablet and a wide screen, is silent, and axe finds nothing, light and dark',
    async (name) => {
      complaints.length = 0;
      const answer = await page.goto(`${running.url}${paths[name]}`);
      expect(answer?.status()).toBe(name.startsWith('gone') ? 404 : 200);
      await page.evaluate(axe);
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        for (const width of [360, 800, 1920]) {
          await page.setViewportSize({ width, height: 900 });
          const paper = colorScheme === 'light' ? 'rgb(255, 255, 255)' : 'rgb(13, 17, 23)';
          expect(await page.evaluate(FACTS)).toEqual({ wide: 0, thin: 0, boxes: 0, ran: false, paper });
        }
        if (!likeOthers.has(name)) expect(await page.evaluate(findings(colorScheme))).toEqual([]);
      }
      const expected = complaints.filter((text) => !/Password forms|status of 404/.test(text));
      expect(expected).toEqual([]);
    },
  );

  it('is read, filtered and acted on without scripts, by keyboard alone', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    const plain = await context.newPage();
    await plain.goto(`${running.url}/sign-in`);
    await plain.locator('input[name=token]').focus();
    await plain.keyboard.type('approver-token');
    await plain.keyboard.press('Enter');
    await plain.waitForURL(`${running.url}/`);
    await plain.locator('.tiles a', { hasText: 'waiting' }).focus();
    await plain.keyboard.press('Enter');
    await plain.waitForURL(/status=waiting/);
    expect(await plain.locator('.where').textContent()).toMatch(/^12 of 120 workspaces/);
    await plain.locator('tbody a').first().focus();
    await plain.keyboard.press('Enter');
    expect(await plain.locator('time .at').first().textContent()).toMatch(/ UTC$/);
    await plain.locator('summary').first().focus();
    await plain.keyboard.press('Enter');
    await plain.locator('a', { hasText: 'Approve' }).focus();
    await plain.keyboard.press('Enter');
    await plain.locator('main button').focus();
    await plain.keyboard.press('Enter');
    await plain.waitForURL((url) => !url.pathname.endsWith('approve'));
    expect(running.source.acted.at(-1)).toMatchObject({
      action: 'approve',
      of: 'plan-1',
      by: 'approver-ann',
    });
    await context.close();
  });

  it('leads to its content and to everything else by the Tab key', async () => {
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.goto(`${running.url}/`);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.id')).toBe('content');
    const reached = new Set<string>();
    for (let presses = 0; presses < 60; presses++) {
      await page.keyboard.press('Tab');
      reached.add(await page.evaluate<string>('document.activeElement.getAttribute("href") ?? ""'));
    }
    const links = await page.evaluate<string[]>(
      '[...document.querySelectorAll("main a")].map((a) => a.getAttribute("href"))',
    );
    expect(links.slice(0, 40).filter((link) => !reached.has(link))).toEqual([]);
  });

  it('shows a change by itself, and keeps what is opened and focused', async () => {
    await page.goto(`${running.url}${pathOf(ADDRESS)}`);
    await holds(page, 'typeof heard === "number"');
    await page.locator('summary').first().press('Enter');
    const link = page.locator('#history a').first();
    await link.focus();
    const [row] = running.source.rows;
    if (row !== undefined) running.source.rows[0] = { ...row, standing: 'drifted', summary: 'name changed' };
    running.source.revision += 1;
    await page.locator('#standing .badge', { hasText: 'drifted' }).waitFor();
    await holds(page, `document.body.dataset.version === '${running.source.revision}'`);
    expect(await page.locator('details[open]').count()).toBe(1);
    expect(await page.evaluate('document.activeElement.closest("section").id')).toBe('history');
    expect(await page.locator('#connection').isVisible()).toBe(false);
  });

  it('stays as large as it is over many changes', async () => {
    await page.goto(`${running.url}${pathOf(ADDRESS)}`);
    const session = await signedIn.newCDPSession(page);
    const counters = async () => {
      await session.send('HeapProfiler.collectGarbage');
      return session.send('Memory.getDOMCounters');
    };
    await page.evaluate('refresh()');
    const before = await counters();
    await page.evaluate('(async () => { for (let i = 0; i < 60; i++) await refresh(); })()');
    const after = await counters();
    expect(after.nodes).toBeLessThan(before.nodes * 1.5);
    expect(after.documents).toBeLessThan(before.documents + 3);
    expect(after.jsEventListeners).toBeLessThan(before.jsEventListeners + 5);
  });

  it('says that the connection is gone, and what is gone', async () => {
    await using other = await runningPage({ source: new SampleSource({ count: 2, names }) });
    const own = await browser.newPage();
    await own.goto(`${other.url}${pathOf(ADDRESS)}`);
    await holds(own, 'typeof heard === "number"');
    other.source.rows.shift();
    other.source.revision += 1;
    await own.locator('#connection', { hasText: 'This page is gone' }).waitFor();
    await own.goto(`${other.url}/`);
    await holds(own, 'source?.readyState === 1');
    await other[Symbol.asyncDispose]();
    const banner = own.locator('#connection', {
      hasText: /^No live updates since .*: the connection is gone/,
    });
    await banner.waitFor();
    const told = await banner.textContent();
    const clock = await own.locator('#clock').textContent();
    expect(told).toContain(`since ${clock}:`);
    const ticked = 'document.querySelector("tbody .age").textContent';
    const before = await own.evaluate<string>(ticked);
    await own.evaluate('follow()');
    await holds(own, `source.readyState !== 1 && ${ticked} !== '${before}'`);
    expect(await own.locator('#clock').textContent()).toBe(clock);
    expect(await banner.textContent()).toBe(told);
    await own.close();
  });
});
