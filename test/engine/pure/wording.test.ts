import { describe, expect, it } from 'vitest';
import type { PublishedRecord, ShownRecord } from '../../../src/kinds/kind.ts';
import { inDashboard, stepTexts } from '../../step-texts.ts';
import { agent, number, ref, secret } from '../resources.ts';
import { entryOf, fingerprints, observedOf, stateOf } from './facts.ts';
import { at, plan, type World } from './planning.ts';

function warnings(world: World): string[] {
  return plan(world).document.warnings.map(({ message }) => message);
}

function found(record: Omit<ShownRecord, 'id'>, published?: PublishedRecord) {
  return {
    ...observedOf({}),
    records: new Map([['Agent/a', { status: 'shown' as const, record: { id: 'R1', ...record }, published }]]),
  };
}

describe('the reason of an update', () => {
  const current = { name: 'a', tts_config: { speed: 'fast', emotion: 'calm' } };
  const recorded = { name: 'a', 'tts_config.speed': 'fast', 'tts_config.emotion': 'calm' };
  const state = stateOf({ 'Agent/a': entryOf(recorded) });
  it.each([
    { reason: 'the manifest changed', spec: { tts_config: { speed: 'slow', emotion: 'calm' } }, record: current },
    {
      reason: 'the platform drifted from the manifest',
      spec: { tts_config: { speed: 'fast', emotion: 'calm' } },
      record: { ...current, tts_config: { speed: 'slow', emotion: 'calm' } },
    },
    {
      reason: 'the manifest changed, and other fields drifted',
      spec: { tts_config: { speed: 'slow', emotion: 'calm' } },
      record: { ...current, tts_config: { speed: 'fast', emotion: 'wild' } },
    },
    {
      reason: "the manifest and the platform both changed: this overwrites someone else's change",
      spec: { tts_config: { speed: 'slow', emotion: 'calm' } },
      record: { ...current, tts_config: { speed: 'slower', emotion: 'calm' } },
    },
  ])('is correct: $reason', ({ reason, spec, record }) => {
    const planned = plan({ resources: [agent('a', spec)], state, observed: found(record) });
    expect(at(planned, 'Agent/a')).toMatchObject({ action: 'update', reason });
  });
});

describe('the warning of an update', () => {
  const resources = (spec: object, metadata = {}) => [agent('a', { ...spec }, metadata)];
  const managed = (recorded: Record<string, string>) => ({
    state: stateOf({ 'Agent/a': entryOf({ name: 'a', ...recorded }) }),
  });

  it('names the fields that it may erase, because they are neither declared nor returned', () => {
    const spec = { stt_config: { model: 'm' } };
    const expected = [
      'This resends all of stt_config: stt_config.provider may be erased if set only in the dashboard.',
    ];
    const observed = found({ name: 'a' });
    expect(warnings({ resources: resources(spec, { id: 'R1' }), observed })).toEqual(expected);
    expect(warnings({ resources: resources(spec), observed, ...managed({ 'stt_config.model': 'old' }) })).toEqual(
      expected,
    );
  });

  it('names the key of a model provider first, then fields that are hard to restore, then others', () => {
    const llm = { provider: 'p', model: 'm' };
    const world = (declared: object) => ({
      resources: resources({ llm_config: { ...llm, ...declared } }),
      observed: found({ name: 'a', llm_config: { provider: 'p', model: 'old', api_key: '***' } }),
      ...managed({ 'llm_config.model': 'old', 'llm_config.provider': 'p' }),
    });
    const [{ message = '', may_erase: fields = [] } = {}, ...more] = plan(world({})).document.warnings;
    expect(more).toEqual([]);
    expect(fields.slice(0, 3)).toEqual(['llm_config.api_key', 'llm_config.knowledge_base_ids', 'llm_config.tools']);
    expect(fields.length).toBeGreaterThan(5);
    expect(message).toBe(
      `This resends all of llm_config: ${fields.slice(0, -1).join(', ')} and ${fields.at(-1)} may be erased if set only in the dashboard.`,
    );
    expect(warnings(world({ api_key: secret() })).join()).not.toContain('api_key');
  });

  it('names a hidden voice that is not declared', () => {
    const spec = { tts_config: { speed: 'fast' } };
    const entry = managed({ 'tts_config.speed': 'slow' });
    expect(warnings({ resources: resources(spec), observed: found({ name: 'a' }), ...entry })).toEqual([
      expect.stringMatching(/^This resends all of tts_config: tts_config\.voice_id, /),
    ]);
  });

  it('is one sentence for resources with the same fields', () => {
    const agents = ['a', 'b'].map((name) => agent(name, { stt_config: { model: 'm' } }, { id: name }));
    const observed = observedOf({ 'Agent/a': { id: 'a', name: 'a' }, 'Agent/b': { id: 'b', name: 'b' } });
    expect(new Set(warnings({ resources: agents, observed })).size).toBe(1);
  });

  it('is omitted if all fields are returned, declared or published', () => {
    const observed = found({ name: 'a', stt_config: { model: 'old', provider: 'p' } });
    expect(warnings({ resources: resources({ stt_config: { model: 'm' } }, { id: 'R1' }), observed })).toEqual([]);
    const published = { record: { id: 'R1', stt_config: { model: 'old', provider: 'p' } }, ahead: false };
    const world = {
      resources: resources({ stt_config: { model: 'm' } }, { id: 'R1' }),
      observed: found({ name: 'a' }, published),
    };
    expect(at(plan(world), 'Agent/a')).toMatchObject({
      action: 'update',
      changes: [{ before: 'old', after: 'm', verified: false }],
    });
    expect(warnings(world)).toEqual([]);
    expect(warnings({ ...world, observed: found({ name: 'a' }, { ...published, ahead: true }) })).toHaveLength(2);
  });

  it('reports that the draft may differ from the published version', () => {
    const published = { record: { id: 'R1', stt_config: { model: 'm' } }, ahead: true };
    const world = {
      resources: resources({ stt_config: { model: 'm' } }, { id: 'R1' }),
      observed: found({ name: 'a' }, published),
    };
    expect(at(plan(world), 'Agent/a')).toMatchObject({ action: 'adopt', unverified: ['stt_config.model'] });
    expect(warnings(world)).toEqual([expect.stringContaining('the draft is newer')]);
    const settled = { ...world, observed: found({ name: 'a' }, { ...published, ahead: false }) };
    expect(warnings(settled)).toEqual([]);
  });
});

describe('a manual step', () => {
  const link = (spec: object, record: object, agents: World['resources'] = []) => {
    const resources = [number('n', { number: '+49301', ...spec }), ...agents];
    const state = stateOf({
      'PhoneNumber/n': entryOf({ number: '+49301' }),
      ...Object.fromEntries(agents.map(({ address, name }) => [address, entryOf({ name }, { id: `A-${name}` })])),
    });
    const observed = observedOf({
      'PhoneNumber/n': { id: 'R1', number: '49301', ...record },
      ...Object.fromEntries(agents.map(({ address, name }) => [address, { id: `A-${name}`, name }])),
    });
    return at(plan({ resources, state, observed }), 'PhoneNumber/n');
  };

  it('names an agent by its address and its id', () => {
    expect(link({ inbound_agent_id: ref('Agent/a') }, { inbound_agent_id: null }, [agent('a')])).toMatchObject({
      action: 'manual',
      steps: [inDashboard('In the dashboard, set the inbound agent of number +49301 to Agent/a (A-a).')],
    });
  });

  it('names a new agent by its address', () => {
    const resources = [number('n', { number: '+49301', outbound_agent_id: ref('Agent/a') }), agent('a')];
    expect(at(plan({ resources }), 'PhoneNumber/n')).toMatchObject({
      action: 'create',
      depends_on: ['Agent/a'],
      steps: [inDashboard('In the dashboard, set the outbound agent of number +49301 to Agent/a.')],
    });
  });

  it('is one sentence per change, in the order of fields', () => {
    expect(
      stepTexts(link({ nickname: 'Desk', inbound_agent_id: null }, { nickname: 'Old', inbound_agent_id: 'X' })),
    ).toEqual([
      'In the dashboard, remove the inbound agent of number +49301.',
      'In the dashboard, rename number +49301 to "Desk".',
    ]);
  });

  it('contains no secret', () => {
    const nickname = secret('NICKNAME', 'sk-nickname');
    const planned = link({ nickname }, { nickname: 'Old' });
    expect(stepTexts(planned)).toEqual(['In the dashboard, rename number +49301 to (secret).']);
    expect(JSON.stringify(planned)).not.toContain('sk-nickname');
    expect(fingerprints.of('sk-nickname')).toBe(planned.changes[0]?.fingerprints?.after);
  });
});
