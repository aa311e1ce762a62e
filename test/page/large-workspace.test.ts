import { expect, it } from 'vitest';
import type { PlannedResource } from '../../src/engine/plan/plan-document.ts';
import { ROWS_PER_PAGE, type WorkspaceDetail } from '../../src/page/page-data.ts';
import { pathOf } from '../../src/page/views/parts.ts';
import { agents } from '../output/many-resources.ts';
import { change, plan, resource } from '../output/sample-plan.ts';
import { runningPage } from './running-page.ts';
import { NOW, SampleSource } from './sample-source.ts';

const PATH = pathOf('voices/clients/client-00000:production');
const MOST_BYTES = 100_000;

const prompt = (index: number, day: string) =>
  Array.from({ length: 60 }, (_, line) => `Line ${line} of branch ${index}: on ${day}, répondez par une phrase brève.`);

const update = (index: number): Partial<PlannedResource> => ({
  action: 'update',
  reason: 'the manifest changed',
  notices: [`never published: publish branch ${index} when it is ready`],
  changes: [
    change('name', { before: 'Branch', after: `Branch ${index}` }),
    change('prompt_config.prompt', {
      before: prompt(index, 'Monday').join('\n'),
      after: prompt(index, 'Monday').with(5, `${index}`).with(40, `${index}`).join('\n'),
    }),
  ],
});

const create = (index: number): Partial<PlannedResource> => ({
  action: 'create',
  id: null,
  changes: [change('prompt_config.prompt', { after: prompt(index, 'Monday').join('\n').repeat(10) })],
});

/** A source of 300 agents with a number each, and with the maximum of everything else. */
class LargeSource extends SampleSource {
  constructor(make: (index: number) => Partial<PlannedResource>) {
    const all = agents(300, make);
    const numbers = all.map(({ address }, index) =>
      resource(`PhoneNumber/number-${index}`, { depends_on: [address], id: `01JNUMBER${index}` }),
    );
    super({ count: 1, plan: plan([...all, ...numbers]) });
  }

  override async workspace(address: string): Promise<WorkspaceDetail | undefined> {
    const detail = await super.workspace(address);
    if (detail === undefined) return undefined;
    const [orphan] = detail.orphans;
    const text = 'the platform answered 503 '.repeat(40);
    return {
      ...detail,
      problems: [{ heading: 'The last run failed', lines: Array.from({ length: 50 }, () => text.slice(0, 200)) }],
      orphans: orphan === undefined ? [] : Array.from({ length: 60 }, (_, index) => ({ ...orphan, id: `${index}` })),
      runs: Array.from({ length: 50 }, (_, index) => ({
        id: `run-${index}`,
        began: NOW,
        seconds: 1,
        result: 'failed',
        command: 'fleet',
        user: 'voxform@host-1',
        askedBy: undefined,
        summary: text,
      })),
    };
  }
}

it.each([
  ['all changed', update],
  ['all new', create],
  ['30 changed', (index: number) => (index < 30 ? update(index) : {})],
  ['none changed', () => ({})],
])('is a page of less than 100 kB with 600 resources: %s', { tags: ['long'] }, async (_, make) => {
  await using page = await runningPage({ source: new LargeSource(make) });
  for (const query of ['', '?q=branch', '?status=changed', '?kind=Agent&page=3', `?q=${'%C3%A9'.repeat(2000)}`]) {
    const { status, text } = await page.ask(`${PATH}${query}`);
    expect([query.slice(0, 20), status, Buffer.byteLength(text) < MOST_BYTES]).toEqual([query.slice(0, 20), 200, true]);
  }
});

it('counts the resources above all other contents, and lists those of a text, a kind and a status', {
  tags: ['long'],
}, async () => {
  const source = new LargeSource((index) => (index < 70 ? update(index) : {}));
  await using page = await runningPage({ source });
  const { text: whole } = await page.ask(PATH);
  expect(whole.indexOf('70 changed')).toBeGreaterThan(0);
  expect(whole.indexOf('70 changed')).toBeLessThan(whole.indexOf('id="plan"'));
  const listed = async (query: string) => {
    const { text } = await page.ask(`${PATH}${query}`);
    const section = text.slice(text.indexOf('id="resource-list"'), text.indexOf('id="graph"'));
    return [...section.matchAll(/<td class="name"><a[^>]*resources\/([^"]+)"/g)].map(([, address]) => address);
  };
  const shown = async (query: string) => (await listed(query)).length;
  expect(await shown('?status=changed')).toBe(ROWS_PER_PAGE);
  expect(await shown('?status=changed&page=2')).toBe(20);
  expect(await shown('?status=changed&kind=PhoneNumber')).toBe(0);
  expect(await listed('?kind=PhoneNumber&q=NUMBER-299')).toEqual(['PhoneNumber/number-299']);
  const pages = await Promise.all(Array.from({ length: 12 }, (_, index) => listed(`?q=n&page=${index + 1}`)));
  expect(new Set(pages.flat()).size).toBe(600);
  expect(pages.flat()).toHaveLength(600);
});

it('shows the only resource of a status among hundreds of others', async () => {
  const source = new LargeSource((index) =>
    index === 299 ? { notices: ['never published: publish it'] } : update(index),
  );
  await using page = await runningPage({ source });
  const { text } = await page.ask(PATH);
  const [, group = ''] = /<details class="group" open>(.*?)<\/details>/s.exec(text) ?? [];
  expect(group).toMatch(/unpublished.*<strong>1 resource<.*<td class="name">/s);
});
