import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ApplyReport, ResourceResult } from '../../../src/engine/apply/apply-report.ts';
import type { PlanDocument } from '../../../src/engine/plan/plan-document.ts';
import { graphHtml } from '../../../src/output/graph/graph-html.ts';
import { groupedGraph } from '../../../src/output/graph/grouping.ts';
import { planGraph } from '../../../src/output/graph/pictures.ts';
import { htmlReports } from '../../../src/output/html/html-report.ts';
import { impactHtml } from '../../../src/output/html/impact-html.ts';
import { driftReport, planReport } from '../../../src/output/report.ts';
import { referenceGraph } from '../../../src/project/reference-graph.ts';
import { hasBrowser, noBrowser, startBrowser } from '../../browser.ts';
import { branchOffices } from '../branch-offices.ts';
import { hostilePlan } from '../hostile-plan.ts';
import { adoptions, sameChange } from '../many-resources.ts';
import { applyHtml, driftHtml, planHtml } from '../rendered.ts';
import { sampleImpact } from '../sample-impact.ts';
import { change, plan, resource, richPlan } from '../sample-plan.ts';
import { evil } from '../sample-styles.ts';

const payload = `"'><img src=x onerror="window.ran=1"></code></pre></script><script>window.ran=1</script><svg onload="window.ran=1">{{x}}`;

/** The sample with references between its resources, so that a graph is drawn. */
const linked: PlanDocument = {
  ...richPlan,
  resources: richPlan.resources.map((each) =>
    each.kind === 'PhoneNumber' ? { ...each, depends_on: ['Agent/support-line', 'Agent/billing'] } : each,
  ),
};

function hostile(): PlanDocument {
  const text = JSON.stringify(hostilePlan()).replaceAll(
    JSON.stringify(evil).slice(1, -1),
    JSON.stringify(payload).slice(1, -1),
  );
  const made = JSON.parse(text) as PlanDocument;
  const addresses = made.resources.map(({ address }) => address);
  return {
    ...made,
    resources: made.resources.map((each) => ({
      ...each,
      depends_on: addresses.slice(0, 1),
      changes: [
        ...each.changes,
        change('p', {
          before: `# ${payload}\nsame ${payload}`,
          after: `# ${payload}\nsame other ${payload}`,
        }),
      ],
    })),
  };
}

function reportOf(document: PlanDocument): ApplyReport {
  const [first, second, ...rest] = document.resources;
  return {
    plan: document,
    results: new Map<string, ResourceResult>([
      [first?.address ?? '', { status: 'failed', error: payload, hint: payload }],
      [second?.address ?? '', { status: 'skipped', because: payload }],
      ...rest.map(({ address, id }) => [address, { status: 'done' as const, id }] as const),
    ]),
    warnings: document.warnings,
    interrupted: 'SIGINT',
  };
}

const longNames = plan(
  [
    resource(`Agent/${'n'.repeat(63)}`, {
      action: 'update',
      changes: [change(`a.${'long_'.repeat(40)}`, { before: 'x'.repeat(900), after: 'y'.repeat(900) })],
    }),
  ],
  { workspace: 'w'.repeat(120), base_url: `https://${'h'.repeat(200)}.example.com` },
);

const made = new Date('2030-01-02T03:04:05.678Z');
const drifted = [
  resource('Webhook/moved', {
    action: 'update',
    changes: [change('url', { before: 'https://a.example', after: 'https://b.example', cause: 'drift' })],
  }),
];
const blocked = ['a', 'b', 'c', 'd'].map((name) =>
  resource(`WorkspaceUser/${name}`, {
    action: 'blocked',
    changes: [change('role', { before: 'owner', after: 'member' })],
  }),
);
const sameWarning = sameChange.map(({ address }) => ({ address, message: 'edited since it was published' }));

const pages: Readonly<Record<string, () => string>> = {
  plan: () => planHtml(linked),
  several: () =>
    htmlReports({
      type: 'drift',
      reports: [linked, plan([])].map(driftReport),
      failures: [{ workspace: 'c', message: payload }],
    }),
  adoptions: () => planHtml(plan(adoptions), { made }),
  'adoptions-full': () => planHtml(plan(adoptions.slice(0, 30)), { full: true, made }),
  graph: () =>
    graphHtml(groupedGraph(referenceGraph(branchOffices({ agents: 100 })), undefined), {
      workspace: 'w',
      made,
    }),
  'graph-of-few': () =>
    graphHtml(groupedGraph(referenceGraph(branchOffices({ agents: 3 })), undefined), {
      workspace: 'w',
      made,
    }),
  drift: () => driftHtml(plan(drifted), { made }),
  'hostile-plan': () => planHtml(hostile()),
  'hostile-apply': () => applyHtml(reportOf(hostile())),
  'hostile-graph': () => graphHtml(groupedGraph(planGraph(hostile()), 'none'), { workspace: payload }),
  'long-names': () => planHtml(longNames),
  'hostile-impact': () => impactHtml(sampleImpact(payload), made),
  many: () => planHtml(plan([...sameChange, ...drifted, ...blocked], { warnings: sameWarning }), { made }),
  'several-plans': () =>
    htmlReports({ type: 'plan', reports: [linked, plan(sameChange)].map(planReport), failures: [] }, { made }),
};

/** Collects facts about a page in the browser. A string, because this project has no browser types. */
const FACTS = `(() => {
  for (const details of document.querySelectorAll('details')) details.open = true;
  return {
    ran: 'ran' in window,
    scripts: document.scripts.length,
    images: document.images.length,
    wide: document.documentElement.scrollWidth - window.innerWidth,
    paper: getComputedStyle(document.body).backgroundColor,
  };
})()`;
const RUN_ANOTHER_SCRIPT = `(() => {
  const script = document.createElement('script');
  script.textContent = 'window.ran = 1';
  document.body.append(script);
  return 'ran' in window;
})()`;
const KIND_COLORS = `[...new Set([...document.querySelectorAll('.kind')].map((element) => {
  const style = getComputedStyle(element);
  const color = element.tagName === 'text' ? style.fill : style.color;
  const kind = /(Agent|KnowledgeBase|PhoneNumber|Webhook|WorkspaceUser)/.exec(element.textContent)[1];
  return kind + ' ' + color.replaceAll(' ', '');
}))]`;
const BOXES = `(() => {
  const place = (element) => element.getBoundingClientRect().toJSON();
  return {
    frame: place(document.querySelector('svg')),
    nodes: [...document.querySelectorAll('svg .node')].map((node) => ({
      box: place(node.querySelector('.box')),
      name: place(node.querySelector('.name')),
    })),
  };
})()`;

interface Opened extends AsyncDisposable {
  readonly page: Page;
  readonly complaints: readonly string[];
}

interface Rectangle {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

describe.skipIf(!hasBrowser)(hasBrowser ? 'a page in a browser' : noBrowser, () => {
  let browser: Browser;
  let folder: string;
  let contexts: { readonly withScripts: BrowserContext; readonly without: BrowserContext };
  /** Open pages that are not in use, because one more page costs the browser a process. */
  const idle: Page[] = [];

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'voxform-pages-'));
    await Promise.all(
      Object.entries(pages).map(([name, html]) => writeFile(path.join(folder, `${name}.html`), html())),
    );
    browser = await startBrowser();
    contexts = {
      withScripts: await browser.newContext(),
      without: await browser.newContext({ javaScriptEnabled: false }),
    };
  });

  afterAll(async () => {
    await browser?.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** Opens a page and records console messages and requests other than for the page itself. */
  async function open(name: string, width = 1280, javaScriptEnabled = true): Promise<Opened> {
    const page = javaScriptEnabled
      ? (idle.pop() ?? (await contexts.withScripts.newPage()))
      : await contexts.without.newPage();
    await page.setViewportSize({ width, height: 800 });
    const complaints: string[] = [];
    const url = pathToFileURL(path.join(folder, `${name}.html`)).href;
    page.on('console', (message) => complaints.push(message.text()));
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('request', (request) => {
      if (request.url() !== url && !request.url().startsWith('data:')) complaints.push(`asks for ${request.url()}`);
    });
    await page.goto(url);
    return {
      page,
      complaints,
      [Symbol.asyncDispose]: async () => {
        if (!javaScriptEnabled) return page.close();
        await page.removeAllListeners();
        await page.emulateMedia({ colorScheme: null });
        await page.goto('about:blank');
        idle.push(page);
      },
    };
  }

  it.each(Object.keys(pages))(
    '%s: sends no requests, runs only its own scripts, and fits a phone',
    { tags: ['long'] },
    async (name) => {
      await using opened = await open(name, 375);
      const { page, complaints } = opened;
      const facts = { ran: false, scripts: 1, images: 0, wide: 0 };
      expect(await page.evaluate(FACTS)).toEqual({ ...facts, paper: 'rgb(255, 255, 255)' });
      await page.emulateMedia({ colorScheme: 'dark' });
      expect(await page.evaluate(FACTS)).toEqual({ ...facts, paper: 'rgb(13, 17, 23)' });
      expect(complaints).toEqual([]);
    },
  );

  it('shows hostile text unchanged, and runs no other script', async () => {
    await using opened = await open('hostile-plan');
    const { page } = opened;
    expect(await page.locator('h1').textContent()).toBe(`voxform plan: ${payload}`);
    expect(await page.evaluate(RUN_ANOTHER_SCRIPT)).toBe(false);
  });

  it('can be searched, filtered and expanded, by mouse and by keyboard', { tags: ['long'] }, async () => {
    await using opened = await open('plan');
    const { page } = opened;
    const items = page.locator('[data-item]:visible');
    const whole = linked.resources.length;
    expect(await items.count()).toBe(whole);

    await page.keyboard.press('/');
    await page.keyboard.type('saturday SUPPORT');
    expect(await items.locator('.address').allTextContents()).toEqual(['Agent/support-line']);
    expect(await page.locator('#count').textContent()).toBe(`1 of ${whole} shown`);
    await page.keyboard.press('Escape');
    expect(await items.count()).toBe(whole);

    await page.getByLabel('Manual 2').check();
    expect(await items.count()).toBe(2);
    expect(await page.locator('h2:visible').allTextContents()).toEqual([
      'Manual (2) the API cannot do these; do them in the dashboard',
      'References',
    ]);
    await page.getByLabel('Manual 2').uncheck();

    const support = page.locator('details.resource', { hasText: 'Agent/support-line' }).first();
    await support.locator('summary').first().focus();
    await page.keyboard.press('Enter');
    expect(await support.locator('.came ins').allInnerTexts()).toEqual(['Saturday', '18', ', and say goodbye by name']);
    await page.getByRole('button', { name: 'Close all' }).click();
    expect(await page.locator('details.resource[open]').count()).toBe(0);
    await page.evaluate('window.dispatchEvent(new Event("beforeprint"))');
    expect(await page.locator('details:not([open])').count()).toBe(0);
  });

  it('shows shared changes once, and finds them by each of their addresses', async () => {
    await using opened = await open('many');
    const { page } = opened;
    const shared = page.locator('details.resource').first();
    expect(await shared.locator('summary').innerText()).toMatch(/97 resources\s+llm_config\.model/);
    expect(await shared.locator('li').count()).toBe(97);
    await page.keyboard.press('/');
    await page.keyboard.type('branch-096');
    expect(await page.locator('[data-item]:visible').count()).toBe(1);
    await page.keyboard.press('Escape');
    expect(await page.locator('.remark').innerText()).toMatch(/edited since it was published\s+97 resources/);
  });

  it('names the fields in each row, marks drift, and shows its creation time', { tags: ['long'] }, async () => {
    await using opened = await open('many');
    const { page } = opened;
    expect(await page.locator('.address', { hasText: 'WorkspaceUser/' }).count()).toBe(4);
    const row = page.locator('summary', { hasText: 'Webhook/moved' });
    expect(await row.innerText()).toMatch(/drifted\s+url/);
    expect(await page.locator('summary .note').count()).toBe(1);
    for (const name of ['many', 'drift', 'several-plans', 'graph']) {
      await using made = await open(name);
      expect(await made.page.locator('time').first().getAttribute('datetime')).toBe('2030-01-02T03:04:05Z');
    }
  });

  it('begins with a summary of several workspaces that links to each', async () => {
    await using opened = await open('several-plans');
    const { page } = opened;
    const links = page.locator('.overview a');
    expect(await links.allInnerTexts()).toEqual(['staging', 'staging']);
    expect(await page.locator('.overview td').last().innerText()).toBe('Plan: 97 to update.');
    await links.last().click();
    expect(await page.locator(':target h1').innerText()).toBe('staging');
    expect(await page.locator(':target .summary').innerText()).toBe('Plan: 97 to update.');
  });

  it('has a table row for each of many adoptions, and with --full a box', { tags: ['long'] }, async () => {
    await using opened = await open('adoptions', 1000);
    const { page } = opened;
    expect(await page.locator('tr[data-item]').count()).toBe(adoptions.length);
    expect(await page.locator('details.resource').count()).toBe(0);
    const row = page.locator('tr', { hasText: 'Agent/branch-003' });
    expect(await row.locator('td').allInnerTexts()).toEqual([
      'Agent/branch-003',
      '01JAGENT0000000000000000003',
      'llm_config.temperature, prompt_config.prompt',
      'manifests/branch-003.yaml:1',
    ]);
    await row.locator('summary').click();
    expect(await row.locator('del, .went').allInnerTexts()).toEqual(['1', '- b']);
    await page.keyboard.press('/');
    await page.keyboard.type('branch-003 temperature');
    expect(await page.locator('tr[data-item]:visible').count()).toBe(1);
    await using whole = await open('adoptions-full');
    expect(await whole.page.locator('details.resource').count()).toBe(30);
    expect(await whole.page.locator('tr[data-item]').count()).toBe(0);
  });

  it('has one color per kind on every page, in pictures and in rows', { tags: ['long'] }, async () => {
    const colors = new Set<string>();
    for (const name of ['plan', 'drift', 'several', 'many', 'adoptions', 'graph', 'graph-of-few']) {
      await using opened = await open(name);
      const found = await opened.page.evaluate<string[]>(KIND_COLORS);
      expect(found.length, name).toBeGreaterThan(0);
      for (const color of found) colors.add(color);
    }
    const kinds = [...colors].map((color) => color.split(' ')[0]);
    expect(kinds.toSorted()).toEqual([...new Set(kinds)].toSorted());
    expect(new Set([...colors].map((color) => color.split(' ')[1])).size).toBe(kinds.length);
  });

  it.each([true, false])(
    'expands and collapses the groups of a graph, with or without scripts (%s)',
    { tags: ['long'] },
    async (scripts) => {
      await using opened = await open('graph', 1000, scripts);
      const { page, complaints } = opened;
      const groups = page.locator('details[data-group]');
      expect(await groups.count()).toBe(7);
      expect(await page.locator('details[open]').count()).toBe(0);
      await page.locator('svg').first().locator('.frame a', { hasText: 'support' }).click();
      expect(await page.locator('details[open]').count()).toBe(1);
      const support = page.locator('details[open]');
      expect(await support.locator('summary .address').first().innerText()).toBe('support');
      await support.locator('svg .node a', { hasText: 'support-12' }).first().click();
      expect(await page.locator('li:target').innerText()).toContain('Agent/support-12');
      await page.locator('li:target a', { hasText: 'Company handbook' }).click();
      expect(await page.locator('li:target strong').innerText()).toBe('KnowledgeBase/Company handbook');
      expect(await page.locator('details[data-group][open]').count()).toBe(2);
      expect(complaints).toEqual([]);
    },
  );

  it('finds resources of a graph in collapsed groups', { tags: ['long'] }, async () => {
    await using opened = await open('graph');
    const { page } = opened;
    await page.keyboard.press('/');
    await page.keyboard.type('PhoneNumber/sales-line-13');
    const found = page.locator('li[data-item]:visible');
    expect(await found.locator('strong').allInnerTexts()).toEqual(['Agent/sales-13', 'PhoneNumber/sales-line-13']);
    await page.getByRole('button', { name: 'Close all' }).click();
    expect(await page.locator('details[data-group][open]:visible').count()).toBe(0);
  });

  it('draws the references, with each box inside the picture, on no other, and as wide as its name', async () => {
    await using opened = await open('plan');
    const { frame, nodes } = await opened.page.evaluate<{
      frame: Rectangle;
      nodes: { box: Rectangle; name: Rectangle }[];
    }>(BOXES);
    const isInside = (inner: Rectangle, outer: Rectangle) =>
      inner.left >= outer.left && inner.right <= outer.right && inner.bottom <= outer.bottom;
    const isApart = (a: Rectangle, b: Rectangle) =>
      a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;
    expect(nodes).toHaveLength(linked.resources.length);
    expect(nodes.every(({ box, name }) => isInside(box, frame) && isInside(name, box))).toBe(true);
    const pairs = nodes.flatMap((a, index) => nodes.slice(index + 1).map((b) => isApart(a.box, b.box)));
    expect(pairs.every(Boolean)).toBe(true);
  });
});
