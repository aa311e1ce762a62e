import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FuzzGround } from './fuzz-ground.ts';
import { type Attempt, faultOf, resealed, targets } from './fuzz-targets.ts';
import { checkedText, deepJson } from './mutations.ts';

/** A short form of `npm run fuzz`. */
const RUNS = 10;

let ground: FuzzGround;

beforeAll(async () => {
  ground = await FuzzGround.open();
});

afterAll(async () => {
  await ground[Symbol.asyncDispose]();
});

describe('command with invalid input', () => {
  it.each(targets)('prints no internal error: $name', { tags: ['long'] }, async ({ attempts }) => {
    await fc.assert(
      fc.asyncProperty(attempts(ground), async (attempt) => {
        expect(await faultOf(ground, attempt)).toBeUndefined();
      }),
      { numRuns: RUNS },
    );
  });
});

const DEEP = deepJson(10_000);
const AGENT = 'apiVersion: voxform/v1\nkind: Agent\nmetadata: { name: a }\nspec: ';
const manifest = (text: string): Attempt => ({ args: ['validate'], files: { 'manifests/all.yaml': text } });
const answer = (body: string): Attempt => ({
  args: ['plan'],
  answers: new Map([
    ['GET /api/v1/numbers', { status: 200, body: Buffer.from(body) }],
    ...[...ground.answers.keys()]
      .filter((key) => key.startsWith('GET /api/v1/webhooks/'))
      .map((key) => [key, { status: 200, body: Buffer.from(body) }] as const),
  ]),
});

describe('known parser attack', () => {
  it.each<{ reason: string; attempt: () => Attempt }>([
    { reason: 'a deep manifest', attempt: () => manifest(AGENT + DEEP) },
    { reason: 'a deep manifest by indentation', attempt: () => manifest(AGENT + nestedBlocks(1_000)) },
    { reason: 'a deep patch', attempt: () => projectWith(`    patches: { Agent/a: ${DEEP} }\n`) },
    { reason: 'a deep state', attempt: () => ({ args: ['plan'], files: { state: withDeep('state', DEEP) } }) },
    {
      reason: 'a deep journal',
      attempt: () => ({
        args: ['state', 'list'],
        files: { journal: checkedText(JSON.stringify({ event: DEEP_MARK }).replace(QUOTED, DEEP)) },
      }),
    },
    {
      reason: 'a deep plan',
      attempt: () => ({ args: ['apply', 'saved.plan'], files: { 'saved.plan': withDeep('saved.plan', DEEP) } }),
    },
    { reason: 'a deep response', attempt: () => answer(`{"data":${DEEP}}`) },
    { reason: 'a deep record', attempt: () => answer(`{"data":{"id":"x","payload":${DEEP}}}`) },
    {
      reason: 'an alias bomb',
      attempt: () =>
        manifest(
          `a: &a [x, x, x, x, x, x, x, x, x, x]\n${[...'bcdefgh']
            .map((name, index) => `${name}: &${name} [${Array(10).fill(`*${'abcdefgh'[index]}`).join(', ')}]`)
            .join('\n')}`,
        ),
    },
    { reason: 'a very long key', attempt: () => manifest(`${AGENT}{ ${'k'.repeat(500_000)}: 1 }`) },
    {
      reason: 'a very long key in a response',
      attempt: () => answer(`{"data":{"id":"x","${'k'.repeat(500_000)}":1}}`),
    },
    { reason: 'a very long line', attempt: () => manifest(`${AGENT}{ name: ${'x'.repeat(900_000)} }`) },
    { reason: 'a repeated key', attempt: () => manifest(`${AGENT}\n${'  name: a\n'.repeat(20_000)}`) },
    {
      reason: 'a repeated key in a response',
      attempt: () => answer(`{"data":[${'{"id":"x","id":"y"},'.repeat(99)}{}]}`),
    },
    {
      reason: 'names of built-in properties',
      attempt: () => manifest(`${AGENT}{ __proto__: { a: 1 }, constructor: 1, hasOwnProperty: 1 }`),
    },
    {
      reason: 'names of built-in properties in a record',
      attempt: () =>
        answer('{"data":{"id":"x","__proto__":{"polluted":1},"payload":{"__proto__":{"a":1},"constructor":1}}}'),
    },
    {
      reason: 'a byte order mark and CRLF',
      attempt: () => manifest(`\ufeff${ground.original('manifests/all.yaml').replaceAll('\n', '\r\n')}`),
    },
    { reason: 'tabs and NUL bytes', attempt: () => manifest(`${AGENT}\n\t\u0000name:\t\u0000x`) },
    { reason: 'half a surrogate pair', attempt: () => manifest(`${AGENT}{ name: "\\ud800", "\\udfff": 1 }`) },
    {
      reason: 'half a surrogate pair in a response',
      attempt: () => answer('{"data":{"id":"\\ud800","url":"\\udfff"}}'),
    },
    {
      reason: 'invalid numbers',
      attempt: () =>
        manifest(
          `${AGENT}{ llm_config: { temperature: 1e999, max_tokens: -0, tools: [.nan, 1e-999, 0x7fffffffffffffff] } }`,
        ),
    },
    {
      reason: 'invalid numbers in a response',
      attempt: () => answer('{"data":{"id":"x","retries":1e999,"timeout":-0,"version":-1e999}}'),
    },
  ])('causes no internal error: $reason', async ({ attempt }) => {
    expect(await faultOf(ground, attempt())).toBeUndefined();
  });
});

const DEEP_MARK = 'the deep value stands here';
const QUOTED = JSON.stringify(DEEP_MARK);

function nestedBlocks(levels: number): string {
  return Array.from({ length: levels }, (_, level) => `\n${' '.repeat(level + 2)}a:`).join('');
}

function projectWith(lines: string): Attempt {
  const text = ground.original('voxform.yaml').replace(/^ +patches: .*\n/m, lines);
  return { args: ['validate'], files: { 'voxform.yaml': text } };
}

/** Nests a value deeply in the first resource of the file. A plan gets a matching digest if it can be computed. */
function withDeep(file: 'state' | 'saved.plan', deep: string): string {
  const document = JSON.parse(ground.original(file)) as {
    resources: Record<string, { recorded?: object; desired?: object }>;
  };
  const [first = ''] = Object.keys(document.resources);
  Object.assign(document.resources[first]?.recorded ?? document.resources[first]?.desired ?? {}, { name: DEEP_MARK });
  return (file === 'state' ? JSON.stringify(document) : resealed(document)).replace(QUOTED, deep);
}
