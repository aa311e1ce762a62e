import { marked } from 'marked';
import { describe, expect, it } from 'vitest';
import type { PlanDocument } from '../../src/engine/plan/plan-document.ts';
import { commentOf, markerOf, pendingStatus, statusOf } from '../../src/fleet/pulls/pull-report.ts';
import type { PullPlan, PullResult } from '../../src/fleet/rows/pull-rows.ts';
import type { HostName } from '../../src/hosting/index.ts';
import type { Json } from '../../src/values/json.ts';
import { hostNames } from '../hosting/drift-project.ts';
import { change, plan, resource } from '../output/sample-plan.ts';
import { unsafe } from '../output/sample-styles.ts';

const pull = { source: 'voices', number: 7, head: 'a'.repeat(40) };
const address = 'https://voxform.example.com';
const results = ['changes', 'unchanged', 'denied', 'invalid', 'failed', 'new', 'removed', 'validated'] as const;

const planned = (document: PlanDocument, more: Partial<PullPlan> = {}): PullPlan => ({
  ...{ address: 'voices/clients/acme:test', result: 'changes', digest: undefined, notes: [] },
  plan: document as unknown as Json,
  ...more,
});

const prompts = (before: string, after: string) =>
  plan([resource('Agent/day', { action: 'update', changes: [change('prompt_config.prompt', { before, after })] })]);

const comment = (plans: readonly PullPlan[], host: HostName = 'github') => commentOf({ pull, plans, address }, host);

/** Returns the tags of a comment as a reader sees them, without those of Markdown itself. */
function tagsIn(text: string): string[] {
  const html = marked.parse(text, { async: false, gfm: true });
  return [...html.matchAll(/<(?!!--)\/?([a-z][a-z0-9]*)/gi)].map(([, name = '']) => name.toLowerCase());
}
const TAGS = new Set(
  'h2 h3 h4 p strong em code pre table thead tbody tr th td ul li input details summary sub a span br'.split(' '),
);

/** Returns the text outside of fenced blocks. */
const outside = (text: string): string => text.replace(/^(`{3,})\w*\n[\s\S]*?\n\1$/gm, '');

const HOSTILE = [
  '<script>alert(1)</script><img src=x onerror=alert(1)><a href="javascript:alert(1)">x</a>',
  '@ann @acme/admins @all please look',
  '/merge\n/approve\n/close\n /label ~bug\n\t/assign @ann',
  '</details></details><!-- voxform fleet others -->\n<!-- voxform fleet voices -->',
  '```\n````\n~~~\n</pre>\n# heading\n\n| a | b |\n| - | - |\n| [x](javascript:1) | ![i](https://track.example.com/i.png) |',
  '\u0000\u001b[2J\u202e\u2028\u{e0041}\u009b1m',
  '\ud800 lone \udfff',
  '& &lt; &#64;ann &commat;ann',
];

const LIMITS = { github: 65_536, gitlab: 1_000_000 };

function expectInert(text: string, host: HostName): void {
  expect(text.length).toBeLessThanOrEqual(LIMITS[host]);
  expect(text).not.toMatch(unsafe);
  expect(text.isWellFormed()).toBe(true);
  expect(text.startsWith(`${markerOf('voices')}\n`)).toBe(true);
  const visible = outside(text);
  expect(visible.match(/<!--/g), 'markers').toHaveLength(1);
  expect(visible).not.toMatch(/@\w/);
  for (const tag of tagsIn(text)) expect(TAGS).toContain(tag);
  const html = marked.parse(text, { async: false, gfm: true });
  expect(html).not.toMatch(/<[^>]*(?:javascript:|onerror)/i);
  const folds = (tag: string) => tagsIn(text).filter((each) => each === tag).length;
  expect(folds('details') % 2).toBe(0);
  expect([visible.match(/<details(?: open)?>/g)?.length ?? 0]).toEqual([visible.match(/<\/details>/g)?.length ?? 0]);
  const last = marked
    .lexer(text)
    .filter(({ type }) => type !== 'space')
    .at(-1);
  expect(last?.raw, 'the footer is outside of all blocks').toMatch(/^<sub>Plan of commit/);
}

describe.each(hostNames)('comment on %s', (host) => {
  it.each(HOSTILE)('escapes %j', (text) => {
    const notes = [text];
    const problem = { message: text, hint: text, places: [text, text] };
    const names = plan([resource(`Agent/${text}`, { reason: text })], { workspace: text });
    const all = [
      planned(prompts('One.', text)),
      planned(prompts(text, `${text} more`), { address: 'voices:b', notes }),
      planned(names, { address: `voices/${text}:test`, result: 'denied', notes }),
      ...results.map((result) => {
        return { address: `voices/${text}:${result}`, result, digest: undefined, plan: undefined, notes, problem };
      }),
    ];
    const written = comment(all, host);
    expectInert(written, host);
    if (host === 'gitlab') expect(outside(written)).not.toMatch(/^\s*\//m);
  });

  it('stays below the limit of the host and closes all blocks, at any size', { tags: ['long'] }, () => {
    const long = 'long text '.repeat(100_000);
    const many = (result: PullResult, count: number) =>
      Array.from({ length: count }, (_, index): PullPlan => {
        const name = `voices/clients/client-${index}:production`;
        if (result === 'changes')
          return planned(prompts(`One ${index}.\n`.repeat(40), `Two ${index}.\n`), { address: name });
        const problem =
          result === 'invalid' ? { message: 'the manifests are not valid', places: [`a.yaml:${index}`] } : undefined;
        return { address: name, result, digest: undefined, plan: undefined, notes: ['A note about it.'], problem };
      });
    for (const plans of [
      [planned(prompts('One.', long))],
      [planned(prompts(long, `${long}.`), { notes: [long] })],
      [
        {
          ...planned(prompts('a', 'b')),
          plan: undefined,
          result: 'invalid',
          problem: { message: long, places: [long] },
        },
      ],
      [planned(plan([resource(`Agent/${long}`)]), { address: `voices/${long}:test` })],
      many('changes', 300),
      many('invalid', 300),
      many('new', 300),
      [...many('changes', 100), ...many('invalid', 100), ...many('removed', 100)],
      many('changes', 3000),
      many('new', 3000),
    ] as const)
      expectInert(comment(plans, host), host);
  });

  it('lists 300 workspaces', () => {
    const plans = Array.from({ length: 300 }, (_, index) =>
      planned(prompts('One.', 'Two.'), { address: `voices/clients/client-${index}:production` }),
    );
    const written = comment(plans, host);
    for (const { address: name } of plans) expect(written).toContain(name);
  });
});

it('lists the problems of an invalid workspace individually', () => {
  const problem = { message: 'the manifests are not valid', places: ['a.yaml:1  one', 'b.yaml:2  two'] };
  const written = comment([{ ...planned(prompts('a', 'b')), plan: undefined, result: 'invalid', problem }]);
  const html = marked.parse(written, { async: false });
  expect(html.match(/<li>/g)).toHaveLength(2);
});

it.each(
  results.map((result) => ({
    result,
    state: ['denied', 'invalid', 'failed'].includes(result) ? 'failure' : 'success',
  })),
)('sets the status $state for $result', ({ result, state }) => {
  const plans = [planned(prompts('a', 'b')), { ...planned(prompts('a', 'b')), result }];
  expect(statusOf({ pull, plans, address }).state).toBe(state);
});

it.each(results.filter((result) => result !== 'changes' && result !== 'unchanged'))(
  'names the result %s in the comment and in the status',
  (result) => {
    const problem = ['denied', 'invalid', 'failed'].includes(result) ? { message: 'so', places: [] } : undefined;
    const plans = [{ ...planned(prompts('a', 'b')), plan: undefined, result, problem }];
    expect(comment(plans).toLowerCase()).toContain(result);
    expect(statusOf({ pull, plans, address }).description).toContain(`1 ${result}`);
    for (const other of results.filter((each) => each !== result))
      expect(comment(plans)).not.toMatch(new RegExp(`\\*\\*${other}|${other}$`, 'm'));
  },
);

it('sets a short status with a link that stays on the page', () => {
  const plans = Array.from({ length: 100_000 }, () => planned(prompts('a', 'b'), { result: 'failed' }));
  const hostile = { ...pull, source: '../@x?#\u0000' };
  for (const { description, url } of [
    statusOf({ pull: hostile, plans, address }),
    statusOf({ pull: hostile, plans: [], address }),
    pendingStatus({ pull: hostile, address }),
  ]) {
    expect(description.length).toBeLessThan(140);
    expect(new URL(url ?? '').pathname).toBe(`/pulls/${encodeURIComponent(hostile.source)}/7`);
  }
});
