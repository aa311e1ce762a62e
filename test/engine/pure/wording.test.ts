import { describe, expect, it } from 'vitest';
import type { PublishedRecord, ShownRecord } from '../../../src/kinds/kind.ts';
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
  const seen = { name: 'a', tts_config: { speed: 'fast', emotion: 'calm' } };
  const recorded = { name: 'a', 'tts_config.speed': 'fast', 'tts_config.emotion': 'calm' };
  const state = stateOf({ 'Agent/a': entryOf(recorded) });
  it.each([
    {
      reason: 'the manifest changed',
      spec: { tts_config: { speed: 'slow', emotion: 'calm' } },
      record: seen,
    },
    {
      reason: 'the platform drifted from the manifest',
      spec: { tts_config: { speed: 'fast', emotion: 'calm' } },
      record: { ...seen, tts_config: { speed: 'slow', emotion: 'calm' } },
    },
    {
      reason: 'the manifest changed, and other fields drifted',
      spec: { tts_config: { speed: 'slow', emotion: 'calm' } },
      record: { ...seen, tts_config: { speed: 'fast', emotion: 'wild' } },
    },
    {
      reason: "the manifest changed, and so did the platform: someone else's change is overwritten",
      spec: { tts_config: { speed: 'slow', emotion: 'calm' } },
      record: { ...seen, tts_config: { speed: 'slower', emotion: 'calm' } },
    },
  ])('is: $reason', ({ reason, spec, record }) => {
    const planned = plan({ resources: [agent('a', spec)], state, observed: found(record) });
    expect(at(planned, 'Agent/a')).toMatchObject({ action: 'update', reason });
    expect(planned.document.warnings).toEqual([]);
  });
});

describe('an update of a record that others made', () => {
  const resources = (spec: object) => [agent('a', { ...spec }, { id: 'R1' })];

  it('warns of a config object that is sent whole and not shown', () => {
    const world = { resources: resources({ stt_config: { model: 'm' } }), observed: found({ name: 'a' }) };
    expect(warnings(world)).toEqual([
      'stt_config is sent whole, and the platform does not show it: what is set there and not in the manifest may be reset',
    ]);
  });

  it('does not warn where the published version stands in for what is hidden', () => {
    const published = { record: { id: 'R1', stt_config: { model: 'old', provider: 'p' } }, ahead: false };
    const world = {
      resources: resources({ stt_config: { model: 'm' } }),
      observed: found({ name: 'a' }, published),
    };
    expect(at(plan(world), 'Agent/a')).toMatchObject({
      action: 'update',
      changes: [{ before: 'old', after: 'm', verified: false }],
    });
    expect(warnings(world)).toEqual([]);
    expect(
      warnings({ ...world, observed: found({ name: 'a' }, { ...published, ahead: true }) }),
    ).toHaveLength(2);
  });

  it('warns of a key that is never shown, unless the manifest has it', () => {
    const observed = found({ name: 'a', llm_config: { model: 'old' } });
    const without = { resources: resources({ llm_config: { model: 'm' } }), observed };
    expect(warnings(without)).toEqual([
      expect.stringContaining('the platform does not show llm_config.api_key'),
    ]);
    const withKey = { resources: resources({ llm_config: { model: 'm', api_key: secret() } }), observed };
    expect(warnings(withKey)).toEqual([]);
  });

  it('says that the draft may be other than the published version it was compared with', () => {
    const published = { record: { id: 'R1', stt_config: { model: 'm' } }, ahead: true };
    const world = {
      resources: resources({ stt_config: { model: 'm' } }),
      observed: found({ name: 'a' }, published),
    };
    expect(at(plan(world), 'Agent/a')).toMatchObject({ action: 'adopt', unverified: ['stt_config.model'] });
    expect(warnings(world)).toEqual([expect.stringContaining('the draft is newer than that')]);
    const settled = { ...world, observed: found({ name: 'a' }, { ...published, ahead: false }) };
    expect(warnings(settled)).toEqual([]);
  });

  it('goes on warning as long as the record is one that was adopted', () => {
    const entry = entryOf({ name: 'a', 'stt_config.model': 'old' }, { adopted: true });
    const world = (adopted: boolean) => ({
      resources: [agent('a', { stt_config: { model: 'm' } })],
      state: stateOf({ 'Agent/a': adopted ? entry : entryOf(entry.recorded) }),
      observed: found({ name: 'a' }),
    });
    expect(warnings(world(true))).toHaveLength(1);
    expect(warnings(world(false))).toEqual([]);
  });
});

describe('what a person must do', () => {
  const link = (spec: object, record: object, agents: World['resources'] = []) => {
    const resources = [number('n', { number: '+49301', ...spec }), ...agents];
    const state = stateOf({
      'PhoneNumber/n': entryOf({ number: '+49301' }),
      ...Object.fromEntries(
        agents.map(({ address, name }) => [address, entryOf({ name }, { id: `A-${name}` })]),
      ),
    });
    const observed = observedOf({
      'PhoneNumber/n': { id: 'R1', number: '49301', ...record },
      ...Object.fromEntries(agents.map(({ address, name }) => [address, { id: `A-${name}`, name }])),
    });
    return at(plan({ resources, state, observed }), 'PhoneNumber/n');
  };

  it('names an agent by its address and its id', () => {
    expect(
      link({ inbound_agent_id: ref('Agent/a') }, { inbound_agent_id: null }, [agent('a')]),
    ).toMatchObject({
      action: 'manual',
      steps: ['In the dashboard, set the inbound agent of number +49301 to Agent/a (A-a).'],
    });
  });

  it('names an agent that is yet to be created by its address', () => {
    const resources = [number('n', { number: '+49301', outbound_agent_id: ref('Agent/a') }), agent('a')];
    expect(at(plan({ resources }), 'PhoneNumber/n')).toMatchObject({
      action: 'create',
      depends_on: ['Agent/a'],
      steps: ['In the dashboard, set the outbound agent of number +49301 to Agent/a.'],
    });
  });

  it('is one sentence for each change, in the order of the fields', () => {
    expect(
      link({ nickname: 'Desk', inbound_agent_id: null }, { nickname: 'Old', inbound_agent_id: 'X' }).steps,
    ).toEqual([
      'In the dashboard, remove the inbound agent of number +49301.',
      'In the dashboard, rename number +49301 to "Desk".',
    ]);
  });

  it('says no secret', () => {
    const nickname = secret('NICKNAME', 'sk-nickname');
    const planned = link({ nickname }, { nickname: 'Old' });
    expect(planned.steps).toEqual(['In the dashboard, rename number +49301 to (secret).']);
    expect(JSON.stringify(planned)).not.toContain('sk-nickname');
    expect(fingerprints.of('sk-nickname')).toBe(planned.changes[0]?.fingerprints?.after);
  });
});
