import { describe, expect, it } from 'vitest';
import { wordedWarnings } from '../../../src/output/next-steps.ts';
import { agent, secret, webhook } from '../resources.ts';
import { entryOf, observedOf, stateOf } from './facts.ts';
import { plan, type World } from './planning.ts';

const PROMPT = 'Answer calls for the practice. Be brief, and ask one question at a time.';
const recorded = (name: string, prompt = PROMPT) => ({
  name,
  'llm_config.model': 'm',
  'llm_config.provider': 'internal',
  'prompt_config.prompt': prompt,
});
const spec = (name: string, prompt = PROMPT) => ({
  name,
  llm_config: { model: 'm', provider: 'internal' },
  prompt_config: { prompt },
});

function warnings(world: World): string[] {
  return wordedWarnings(plan(world).document.warnings, undefined, { full: true }).map(
    ({ address, message }) => `${address}: ${message}`,
  );
}

const state = (entries: Record<string, Record<string, string>>) =>
  stateOf(
    Object.fromEntries(
      Object.entries(entries).map(([address, values]) => [address, entryOf(values, { id: `id-${address}` })]),
    ),
  );

describe('an undeclared rename', () => {
  const warning =
    'Agent/new: This looks like a rename of Agent/old. To keep its record id-Agent/old, add to metadata: previous_names: [old]';

  it.each([
    { reason: 'an unchanged spec', resources: [agent('new', spec('Old'))] },
    { reason: 'another name on the platform', resources: [agent('new', spec('New'))] },
    { reason: 'another sentence in the prompt', resources: [agent('new', spec('Old', `${PROMPT} Say thank you.`))] },
    {
      reason: 'a secret',
      resources: [agent('new', { ...spec('Old'), llm_config: { ...spec('').llm_config, api_key: secret() } })],
    },
  ])('causes a warning with the line to add: $reason', ({ resources }) => {
    expect(warnings({ resources, state: state({ 'Agent/old': recorded('Old') }) })).toEqual([warning]);
  });

  it('causes a warning if only the new name is in scope', () => {
    const resources = [agent('new', spec('Old'))];
    const scope = new Set(['Agent/new']);
    const old = state({ 'Agent/old': recorded('Old') });
    expect(warnings({ resources, state: old, scope })).toEqual([warning]);
    expect(warnings({ resources, state: old, scope, alsoDeclared: ['Agent/old'] })).toEqual([]);
    expect(warnings({ resources, state: old, scope, alsoPrevious: ['Agent/old'] })).toEqual([]);
  });

  it('causes a warning if the create of the former address is unknown', () => {
    const pending = new Map([['Agent/old', { since: '2026-01-01T00:00:00Z', recorded: recorded('Old') }]]);
    expect(warnings({ resources: [agent('new', spec('Old'))], state: stateOf({}, { pending }) })).toEqual([
      'Agent/new: This looks like a rename of Agent/old. To keep its unknown create, add to metadata: previous_names: [old]',
    ]);
  });

  it('causes no warning if the manifest declares it', () => {
    const resources = [agent('new', spec('Old'), { previousNames: ['old'] })];
    const observed = observedOf({ 'Agent/new': { id: 'id-Agent/old', ...spec('Old') } });
    expect(warnings({ resources, state: state({ 'Agent/old': recorded('Old') }), observed })).toEqual([]);
  });

  it.each([
    { reason: 'another prompt on the same model', resources: [agent('new', spec('New', 'Sell shoes.'.repeat(9)))] },
    { reason: 'another kind', resources: [webhook('old')] },
  ])('is not assumed: $reason', ({ resources }) => {
    expect(warnings({ resources, state: state({ 'Agent/old': recorded('Old') }) })).toEqual([]);
  });

  it('is not assumed if two records are equally similar', () => {
    const entries = { 'Agent/one': recorded('One'), 'Agent/two': recorded('Two') };
    expect(warnings({ resources: [agent('new', spec('New'))], state: state(entries) })).toEqual([]);
  });

  it('is found for many resources, each record once', () => {
    const many = Array.from({ length: 2_000 }, (_, index) => index);
    const prompt = (index: number) => `${PROMPT} You are number ${index}.`;
    const entries = Object.fromEntries(
      many.map((index) => [`Agent/old-${index}`, recorded(`A ${index}`, prompt(index))]),
    );
    const resources = many.map((index) => agent(`new-${index}`, spec(`A ${index}`, prompt(index))));
    const messages = warnings({ resources, state: state(entries) });
    expect(messages).toHaveLength(many.length);
    expect(messages.every((text) => /new-(\d+): This looks like a rename of Agent\/old-\1\./.test(text))).toBe(true);
  });
});
