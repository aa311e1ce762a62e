import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { pathOf } from '../../src/page/views/parts.ts';
import { hasBrowser, noBrowser, startBrowser } from '../browser.ts';
import { agents } from '../output/many-resources.ts';
import { change, plan } from '../output/sample-plan.ts';
import { type RunningPage, runningPage } from './running-page.ts';
import { SampleSource } from './sample-source.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const names = [
  'voices/clients/client-00000:production',
  `voices/${'long-name-'.repeat(24)}:production`,
  'voices/שלום/עולם:production',
  `voices/<img src=x onerror="window.ran=1">\u202e:p`,
  'voices/clients/greenhouse/delta:production',
];
const ADDRESS = names[0] ?? '';

const OF_STANDING = (index: number) => pathOf(`voices/clients/client-000${index}:production`);

/** Every page in each visually different state, and its status if that is not 200. */
const looks: readonly (readonly [name: string, path: string, status?: number])[] = [
  ['overview', '/'],
  ['workspaces', '/workspaces'],
  ['filtered', '/workspaces?status=failed&q=client&sort=due'],
  ['an unknown filter', '/workspaces?status=bogus'],
  ['no match', '/workspaces?q=nothing-of-this-name'],
  ['a search', '/search?q=client'],
  ['a search for a long name', '/search?q=%3Cimg'],
  ['a search without results', '/search?q=nothing'],
  ['pull requests', '/pulls'],
  ['a pull request', '/pulls/voices/41'],
  ['an unknown pull request', '/pulls/voices/9', 404],
  ['workspace', pathOf(ADDRESS)],
  ['a workspace that was never run', OF_STANDING(19)],
  ['an invalid workspace', OF_STANDING(13)],
  ['a stale workspace', OF_STANDING(16)],
  ['a paused workspace', OF_STANDING(17)],
  ['long name', pathOf(names[1] ?? '')],
  ['a name of many parts', pathOf(names[4] ?? '')],
  ['right to left', pathOf(names[2] ?? '')],
  ['resource with calls', pathOf(ADDRESS, 'resources', 'Agent/support-line')],
  ['resource while calls are read', pathOf(ADDRESS, 'resources', 'Agent/billing')],
  ['resource without calls', pathOf(ADDRESS, 'resources', 'Agent/reception')],
  ['filtered resources', `${pathOf(ADDRESS)}?kind=Agent&status=drifted&q=a`],
  ['webhook', pathOf(ADDRESS, 'resources', 'Webhook/events')],
  ['compare calls', `${pathOf(ADDRESS, 'actions', 'compare-calls')}?of=Agent/support-line`],
  ['gone resource', pathOf(ADDRESS, 'resources', 'Agent/none'), 404],
  ['failed run', pathOf(ADDRESS, 'runs', 'run-1')],
  ['planned run', pathOf(ADDRESS, 'runs', 'run-3')],
  ['run with a waived rule', pathOf(ADDRESS, 'runs', 'run-2')],
  ['gone run', pathOf(ADDRESS, 'runs', 'run-0'), 404],
  ['gone workspace', '/workspaces/none', 404],
  ['run now', pathOf(ADDRESS, 'actions', 'run')],
  ['approve', `${pathOf(ADDRESS, 'actions', 'approve')}?of=plan-1`],
  ['reject', `${pathOf(ADDRESS, 'actions', 'reject')}?of=plan-1`],
  ['another plan', `${pathOf(ADDRESS, 'actions', 'approve')}?of=plan-0`, 404],
  ['pause', pathOf(ADDRESS, 'actions', 'pause')],
  ['resume', `${OF_STANDING(17)}/actions/resume`],
  ['what cannot be done', `${OF_STANDING(17)}/actions/pause`, 409],
  ['freeze', '/freeze'],
  ['close an orphan', `${pathOf(ADDRESS, 'actions', 'close-orphan')}?of=01JORPHAN`],
];

/** Words of addresses that are split over two lines. */
const TORN = `[...document.querySelectorAll('h1 bdi, .crumbs bdi, .name bdi')].flatMap((name) => {
  const texts = [...name.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE);
  return texts.flatMap((text) => [...text.data.matchAll(/\\w{1,20}/g)].filter(({ index, 0: word }) => {
    const range = document.createRange();
    range.setStart(text, index);
    range.setEnd(text, index + word.length);
    return new Set([...range.getClientRects()].map(({ top }) => top)).size > 1;
  }).map(([word]) => word));
})`;

/** Runs all rules of axe, or only those whose result may depend on the color scheme and the width. */
const findings = (rules: 'all' | 'of looks') => `axe.run(document, {
  resultTypes: ['violations'],
  ${rules === 'all' ? "rules: { 'target-size': { enabled: true } }" : "runOnly: ['color-contrast', 'target-size']"},
}).then(({ violations }) =>
  violations.map(({ id, nodes }) => id + ': ' + nodes.slice(0, 3).map(({ html }) => html.slice(0, 160)).join(' | ')))`;
const FACTS = `({
  wide: document.documentElement.scrollWidth - innerWidth,
  thin: [...document.querySelectorAll('.rows bdi')].filter((text) => text.textContent.length > 20 && text.getBoundingClientRect().width < 120).length,
  boxes: [...document.querySelectorAll('main li')].filter((li) => getComputedStyle(li, '::before').borderTopWidth !== '0px').length,
  torn: ${TORN},
  parted: [...document.querySelectorAll('.bar form:not(.search)')].filter((form) =>
    form.getBoundingClientRect().bottom < clock.getBoundingClientRect().top || form.getBoundingClientRect().top > clock.getBoundingClientRect().bottom).length,
  cut: [...document.querySelectorAll('dt')].filter((label) => label.scrollWidth > label.clientWidth).length,
  tall: [...document.querySelectorAll('.by')].filter((cell) => cell.getBoundingClientRect().height > 140).length,
  ran: 'ran' in window,
  paper: getComputedStyle(document.body).backgroundColor,
})`;

const fine = { wide: 0, thin: 0, boxes: 0, torn: [], parted: 0, cut: 0, tall: 0, ran: false };

/** Waits until the expression is true. The policy of the page forbids the method that Playwright would use. */
async function holds(page: Page, expression: string): Promise<void> {
  await expect.poll(() => page.evaluate<boolean>(expression), { interval: 20 }).toBe(true);
}

describe.skipIf(!hasBrowser)(hasBrowser ? 'the page in a browser' : noBrowser, () => {
  let browser: Browser;
  let running: RunningPage;
  let signedIn: BrowserContext;
  let page: Page;
  let visitor: Page | undefined;
  const complaints: string[] = [];

  beforeAll(async () => {
    running = await runningPage({ source: new SampleSource({ count: 120, names }) });
    browser = await startBrowser();
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

  /** Opens a page without a sign-in. One more page costs the browser a process. */
  async function visit(): Promise<Page> {
    visitor ??= await browser.newPage();
    await visitor.goto('about:blank');
    await visitor.unrouteAll();
    await visitor.context().clearCookies();
    return visitor;
  }

  async function signInAs(on: Page, token: string, url = running.url): Promise<void> {
    await on.goto(`${url}/sign-in`);
    await on.fill('input[name=token]', token);
    await on.click('main button');
  }

  /** Checks the layout on a phone, a tablet and a wide screen, in light and dark. */
  async function looksRight(on: Page, widths = [800, 2000, 360]): Promise<void> {
    await on.evaluate(axe);
    for (const width of widths) {
      await on.setViewportSize({ width, height: 900 });
      for (const colorScheme of ['light', 'dark'] as const) {
        await on.emulateMedia({ colorScheme });
        const paper = colorScheme === 'light' ? 'rgb(255, 255, 255)' : 'rgb(13, 17, 23)';
        expect(await on.evaluate(FACTS)).toEqual({ ...fine, paper });
        if (width === 2000 && colorScheme === 'dark') expect(await on.evaluate(findings('of looks'))).toEqual([]);
        if (width === 360 && colorScheme === 'light') expect(await on.evaluate(findings('all'))).toEqual([]);
      }
    }
  }

  const each = looks.map(([name, path, status = 200]) => ({ name, path, status }));
  it.each(each)(
    '$name: fits a phone, logs nothing, and has no findings of axe',
    { tags: ['long'] },
    async ({ path, status }) => {
      complaints.length = 0;
      expect((await page.goto(`${running.url}${path}`))?.status()).toBe(status);
      await looksRight(page, [360]);
      expect(complaints.filter((text) => !/Password forms|status of 40[49]/.test(text))).toEqual([]);
    },
  );

  it.each(each)('$name: fits a tablet and a wide screen', { tags: ['long'] }, async ({ path }) => {
    await page.goto(`${running.url}${path}`);
    await looksRight(page, [800, 2000]);
  });

  it('shows the changes of a plan that waits for approval, all expanded, with its warnings below', async () => {
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.goto(`${running.url}${pathOf(ADDRESS, 'actions', 'approve')}?of=plan-1`);
    expect(await page.locator('details.resource:not([open])').count()).toBe(0);
    const top = (selector: string) =>
      page.evaluate<number>(`document.querySelector('${selector}').getBoundingClientRect().top`);
    expect(await top('details.resource .field')).toBeLessThan(await top('.remark:not(.bad)'));
    expect(await top('details.resource .field')).toBeLessThan(await top('.effect'));
    expect(await top('.confirm button')).toBeLessThan(900);
  });

  it('shows each of the 60 agents of a workspace once, on a few screens', { tags: ['long'] }, async () => {
    const never = 'never published: publish it in the dashboard when it is ready';
    const make = (changed: number) => (index: number) => ({
      notices: [never],
      ...(index < changed && {
        action: 'update' as const,
        reason: 'the manifest changed',
        changes: [change('name', { before: 'Branch', after: `Branch ${index}` })],
      }),
    });
    const visible = (selector: string) =>
      `[...document.querySelectorAll('${selector}')].filter((each) => each.checkVisibility()).map((each) => each.textContent)`;
    for (const changed of [3, 60]) {
      const source = new SampleSource({ count: 1, plan: plan(agents(60, make(changed))) });
      await using other = await runningPage({ source });
      const own = await visit();
      await signInAs(own, 'admin-token', other.url);
      const workspace = `${other.url}${pathOf(ADDRESS)}`;
      for (const [width, most] of [
        [1280, 2000],
        [360, 4000],
      ] as const) {
        await own.setViewportSize({ width, height: 900 });
        await own.goto(workspace);
        expect(await own.evaluate('document.documentElement.scrollHeight')).toBeLessThan(most);
        const named = await own.evaluate<string[]>(visible('main .resource .address, #resources td.name'));
        expect(named).toEqual([...new Set(named)]);
      }
      await looksRight(own);
      await own.locator('#resources summary', { hasText: changed === 3 ? 'unpublished' : 'changed' }).click();
      const listed = await own.evaluate<string[]>(visible('#resources td.name'));
      const more = Number(/(\d+) more/.exec(await own.locator('#resources').innerText())?.[1] ?? 0);
      expect(listed.length + more).toBe(changed === 3 ? 57 : 60);
      await own.goto(`${workspace}/actions/approve?of=plan-1`);
      expect(await own.evaluate(visible('.resource .address'))).toHaveLength(changed);
      expect(await own.evaluate(visible('.resource .field'))).toHaveLength(changed === 3 ? 3 : 0);
    }
  });

  it('shows values side by side, even expanded', { tags: ['long'] }, async () => {
    await page.goto(`${running.url}${pathOf(ADDRESS, 'resources', 'Agent/support-line')}`);
    await page.evaluate('for (const each of document.querySelectorAll("#values details")) each.open = true');
    await looksRight(page);
    await page.setViewportSize({ width: 1280, height: 900 });
    const row = page.locator('.values tr', { hasText: 'llm_config.temperature' });
    const [declared, live] = await Promise.all([1, 2].map((cell) => row.locator('td').nth(cell).boundingBox()));
    expect(declared?.y).toBe(live?.y);
    expect(declared?.x).toBeLessThan(live?.x ?? 0);
  });

  it("shows policy violations, and the position of a waiver's rule", async () => {
    await page.goto(`${running.url}${pathOf(ADDRESS)}`);
    const said = await page.locator('#plan').innerText();
    expect(said).toContain('Apply refuses this plan: calls-end (policies/calls.yaml): Calls must end');
    expect(said).toContain('calls-end (voxform.yaml): Calls must end. Waived: a load test. Agent/support-line');
    expect(said).toContain('no-friday: Nobody is here on Friday.');
    await page.locator('#history a', { hasText: '2 h' }).click();
    const waived = 'calls-end (policies/calls.yaml) for Agent/support-line: a load test';
    await page.locator('dd', { hasText: waived }).waitFor();
  });

  it('removes the approve button from open pages when another session replaces the plan', {
    tags: ['long'],
  }, async () => {
    const approve = `${running.url}${pathOf(ADDRESS, 'actions', 'approve')}`;
    const own = await browser.newContext({ javaScriptEnabled: false });
    const plain = await own.newPage();
    await signInAs(plain, 'approver-token');
    await page.setViewportSize({ width: 360, height: 740 });
    for (const each of [page, plain]) await each.goto(`${approve}?of=plan-1`);
    await holds(page, 'source?.readyState === 1');
    expect(await page.locator('.confirm button').textContent()).toBe('Approve plan plan-1');
    const before = running.source.acted.length;
    onTestFinished(() => {
      running.source.waiting = 'plan-1';
    });
    running.source.waiting = 'plan-2';
    running.source.revision += 1;
    await page.locator('.confirm button:disabled').waitFor();
    expect(await page.locator('#connection').textContent()).toMatch(/no longer waits/);
    await plain.locator('.confirm button').click();
    await plain.locator('main', { hasText: 'no longer waits' }).waitFor();
    expect(running.source.acted.length).toBe(before);
    await own.close();
  });

  it('shows a freeze on open pages at once, and an admin ends it', { tags: ['long'] }, async () => {
    await page.goto(`${running.url}${pathOf(ADDRESS)}`);
    await holds(page, 'source?.readyState === 1');
    const own = await browser.newContext({ javaScriptEnabled: false });
    const plain = await own.newPage();
    await signInAs(plain, 'admin-token');
    await plain.locator('a[href="/freeze"]').click();
    await plain.locator('main input[name=because]').fill(`an incident ${'of a very long name '.repeat(11)}`);
    await plain.locator('main button').click();
    await plain.locator('#frozen', { hasText: 'by admin-ann' }).waitFor();
    expect(await plain.locator('a[href="/freeze"]').count()).toBe(0);
    await own.close();
    await page.locator('#frozen', { hasText: 'an incident' }).waitFor();
    await looksRight(page);
    await page.goto(`${running.url}/unfreeze`);
    await looksRight(page);
    await page.locator('main button').click();
    await page.waitForURL(`${running.url}/`);
    expect(await page.locator('#frozen').textContent()).toBe('');
  });

  it('renders correctly without workspaces, after a wrong token, without a right, and without a connection', {
    tags: ['long'],
  }, async () => {
    const source = new SampleSource({ count: 0 });
    await using other = await runningPage({ source });
    const own = await visit();
    for (const path of ['/', '/workspaces']) {
      await own.goto(`${other.url}${path}`);
      await looksRight(own);
    }
    expect(await own.locator('.bar .button').isVisible()).toBe(true);
    await own.goto(`${other.url}/sign-in`);
    expect(await own.locator('.bar .button').isVisible()).toBe(false);
    await looksRight(own);
    await signInAs(own, 'wrong', other.url);
    await own.locator('[role=alert]', { hasText: 'The token is wrong.' }).waitFor();
    await looksRight(own);
    await signInAs(own, 'viewer-token', other.url);
    source.rows.push(...new SampleSource({ count: 1 }).rows);
    await own.goto(`${other.url}${pathOf(ADDRESS, 'actions', 'approve')}?of=plan-1`);
    await own.locator('h1', { hasText: 'Not allowed' }).waitFor();
    await looksRight(own);
    await own.goto(`${other.url}${pathOf(ADDRESS)}`);
    await holds(own, 'source?.readyState === 1');
    await other[Symbol.asyncDispose]();
    await own.locator('#connection', { hasText: 'No live updates' }).waitFor();
    const color = (of: string) => own.evaluate(`getComputedStyle(document.querySelector('${of}')).color`);
    expect(await color('#status .badge')).toBe(await color('#status dt'));
    await looksRight(own);
  });

  it('can be read, filtered and used without scripts, by keyboard alone', { tags: ['long'] }, async () => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    const plain = await context.newPage();
    await plain.goto(`${running.url}/sign-in`);
    await plain.locator('input[name=token]:focus').waitFor();
    await plain.keyboard.type('approver-token');
    await plain.keyboard.press('Enter');
    await plain.waitForURL(`${running.url}/`);
    await plain.setViewportSize({ width: 800, height: 900 });
    expect(await plain.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0);
    await plain.locator('.tiles a', { hasText: 'waiting' }).focus();
    await plain.keyboard.press('Enter');
    await plain.waitForURL(/status=waiting/);
    expect(await plain.evaluate(TORN)).toEqual([]);
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
      subject: 'plan-1',
      by: 'approver-ann',
    });
    await context.close();
  });

  it('reaches the content and all other elements with the Tab key', { tags: ['long'] }, async () => {
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

  it('shows that a future time is due, and how long ago past times were', async () => {
    await page.goto(`${running.url}${pathOf(ADDRESS)}`);
    await page.evaluate('skew += 4 * 60_000, tick()');
    const ages = await page.locator('#status .age').allTextContents();
    expect(ages).toEqual(['4 min ago', '4 min ago', 'due']);
  });

  it('shows a change without a reload, and keeps expanded elements and the focus', async () => {
    await page.goto(`${running.url}${pathOf(ADDRESS)}`);
    await holds(page, 'typeof lastEventAt === "number"');
    const isOpen = '[...document.querySelectorAll("#plan details.resource")].map(({ open }) => open)';
    const before = await page.evaluate<boolean[]>(isOpen);
    await page.locator('#plan details.resource > summary').first().press('Enter');
    const link = page.locator('#history a').first();
    await link.focus();
    const [row] = running.source.rows;
    if (row !== undefined) running.source.rows[0] = { ...row, status: 'drifted', summary: 'name changed' };
    onTestFinished(() => {
      running.source.waiting = 'plan-1';
    });
    running.source.waiting = 'plan-2';
    running.source.revision += 1;
    await page.locator('#status .badge', { hasText: 'drifted' }).waitFor();
    await page.locator('#plan a[href$="plan-2"]').first().waitFor();
    await holds(page, `document.body.dataset.version === '${running.source.revision}'`);
    expect(await page.evaluate(isOpen)).toEqual(before.with(0, before[0] === false));
    expect(await page.evaluate('document.activeElement.closest("section").id')).toBe('history');
    expect(await page.locator('#connection').isVisible()).toBe(false);
  });

  it('retries a failed fetch, and shows this meanwhile', { tags: ['long'] }, async () => {
    const own = await visit();
    await own.goto(`${running.url}${pathOf(names[1] ?? '')}`);
    await holds(own, 'source?.readyState === 1 && banner.hidden');
    let failing = true;
    let asked = 0;
    await own.route('**/workspaces/**', (route) => {
      asked += 1;
      return failing ? route.fulfill({ status: 503 }) : route.continue();
    });
    const [, row] = running.source.rows;
    if (row !== undefined) running.source.rows[1] = { ...row, status: 'drifted', summary: 'name changed' };
    running.source.revision += 1;
    const banner = own.locator('#connection', { hasText: 'the server does not respond' });
    await banner.waitFor();
    await expect.poll(() => asked).toBeGreaterThan(2);
    expect(await banner.isVisible()).toBe(true);
    failing = false;
    await own.locator('#status .badge', { hasText: 'drifted' }).waitFor();
    await banner.waitFor({ state: 'hidden' });
  });

  it('removes the actions when another tab has signed out', { tags: ['long'] }, async () => {
    await using other = await runningPage({ source: new SampleSource({ count: 1 }) });
    const own = await visit();
    await signInAs(own, 'admin-token', other.url);
    await own.goto(`${other.url}${pathOf(ADDRESS)}`);
    await own.locator('#actions a', { hasText: 'Run now' }).waitFor();
    await own.context().clearCookies();
    await own.evaluate("window.dispatchEvent(new Event('focus'))");
    await own.locator('#who a', { hasText: 'Sign in' }).waitFor();
    expect(await own.locator('#actions a').count()).toBe(0);
  });

  it('keeps its size over many changes', { tags: ['long'] }, async () => {
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

  it('shows that the connection, the plan or the workspace is gone', { tags: ['long'] }, async () => {
    await using other = await runningPage({ source: new SampleSource({ count: 2, names }) });
    const own = await visit();
    await signInAs(own, 'admin-token', other.url);
    await own.goto(`${other.url}${pathOf(ADDRESS, 'actions', 'approve')}?of=plan-1`);
    await holds(own, 'typeof lastEventAt === "number"');
    other.source.waiting = 'plan-2';
    other.source.revision += 1;
    await own.locator('#connection', { hasText: 'This plan no longer waits' }).waitFor();
    expect(await own.locator('.confirm button').isDisabled()).toBe(true);
    await own.goto(`${other.url}${pathOf(ADDRESS)}`);
    await holds(own, 'typeof lastEventAt === "number"');
    other.source.rows.shift();
    other.source.revision += 1;
    await own.locator('#connection', { hasText: 'There is no workspace' }).waitFor();
    await own.goto(`${other.url}/`);
    await holds(own, 'source?.readyState === 1');
    other.source.single = names[1];
    other.source.revision += 1;
    await own.waitForURL(`${other.url}${pathOf(names[1] ?? '')}`);
    other.source.single = undefined;
    await own.goto(`${other.url}/`);
    await holds(own, 'source?.readyState === 1');
    await other[Symbol.asyncDispose]();
    const banner = own.locator('#connection', {
      hasText: /^No live updates since .*: the connection was lost/,
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
  });
});
