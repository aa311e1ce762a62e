import { describe, expect, it } from 'vitest';
import { sameValue } from '../../src/engine/decide/compare.ts';
import { lookups } from '../../src/kinds/index.ts';
import type { ShownRecord } from '../../src/kinds/kind.ts';
import { Secret } from '../../src/values/value.ts';
import { agentKind as agent, kindOf, numberKind as number, userKind as user } from '../engine/pure/facts.ts';

describe('equality of each kind', () => {
  it.each([
    ['PhoneNumber', 'nickname', ' Desk ', 'Desk', true, 'nobody can put blanks back by hand'],
    ['PhoneNumber', 'nickname', 'Desk', 'desk', false, 'case counts in a name'],
    ['WorkspaceUser', 'modules', ['agents', 'analytics'], ['analytics', 'agents'], true, 'modules are a set'],
    ['WorkspaceUser', 'agent_ids', ['a'], [], false, 'an empty set is another'],
    ['Webhook', 'url', 'https://Example.com', 'https://example.com/', true, 'one place, two spellings'],
    ['Webhook', 'url', 'https://example.com/a', 'https://example.com/A', false, 'paths have case'],
    ['Webhook', 'payload', { a: [1, 2] }, { a: [2, 1] }, false, 'a payload is taken as it is'],
    ['Agent', 'llm_config.knowledge_base_ids', ['a', 'b'], ['b', 'a'], true, 'knowledge bases are a set'],
    ['Agent', 'llm_config.tools', [1, 2], [2, 1], false, 'tools have an order'],
    ['Agent', 'tts_config.backchannel_words', ['a', 'b'], ['b', 'a'], false, 'words have an order'],
  ])('%s %s: %j and %j are the same: %s, because %s', (kind, path, a, b, same, reason) => {
    expect(sameValue(kindOf(kind).fields[path] ?? {}, a, b), reason).toBe(same);
  });
});

describe('phone numbers', () => {
  it.each([
    { a: '+49301234', b: '49301234', same: true, reason: 'a JSON number loses the plus' },
    { a: '+49 (30) 12-34.', b: '49301234', same: true, reason: 'separators do not count' },
    { a: '0049301234', b: '49301234', same: true, reason: 'a JSON number loses leading zeros' },
    { a: '+49301234', b: '+49301243', same: false, reason: 'other digits' },
    { a: '0', b: '00', same: true, reason: 'several zeros equal one zero' },
    { a: '+1', b: '+10', same: false, reason: 'trailing zeros count' },
  ])('$a and $b: $same, because $reason', ({ a, b, same }) => {
    const key = number.naturalKey?.({ number: a })?.key;
    expect(key === number.naturalKeyOf?.({ id: 'N1', number: b })).toBe(same);
    expect(sameValue(number.fields.number ?? {}, a, b)).toBe(same);
    expect(number.naturalKeyOf?.({ id: 'N1', number: Number(b.replace(/\D/g, '')) }) === key).toBe(same);
  });

  it('have no key while the number is unknown', () => {
    expect(number.naturalKey?.({})).toBeUndefined();
    expect(number.naturalKey?.({ number: new Secret('N', '1') })).toBeUndefined();
  });

  it('name the required link and its target', () => {
    const record = { number: '+49301234', nickname: 'Desk' };
    const step = (path: string, after: string) => number.manualChangeStep?.({ path, record, before: undefined, after });
    expect(step('inbound_agent_id', 'Agent/a (A1)')).toBe(
      'In the dashboard, set the inbound agent of number +49301234 to Agent/a (A1).',
    );
    expect(step('outbound_agent_id', 'null')).toBe('In the dashboard, remove the outbound agent of number +49301234.');
    expect(step('nickname', '"Front"')).toBe('In the dashboard, rename number +49301234 to "Front".');
  });
});

describe('users', () => {
  it.each([
    { a: 'Ada@Example.com', b: 'ada@example.com', same: true },
    { a: ' ada@example.com ', b: 'ada@example.com', same: true },
    { a: 'ada@example.com', b: 'ada@example.org', same: false },
  ])('with "$a" and "$b" are one: $same', ({ a, b, same }) => {
    expect(user.naturalKey?.({ email: a })?.key === user.naturalKeyOf?.({ id: 'U1', email: b })).toBe(same);
    expect(sameValue(user.fields.email ?? {}, a, b)).toBe(same);
  });

  it.each<{ record: Omit<ShownRecord, 'id'>; role?: string; owner: boolean }>([
    { record: { role: 'owner', is_owner: false }, owner: true },
    { record: { role: 'admin', is_owner: true }, owner: true },
    { record: { role: null, is_owner: null }, owner: false },
    { record: { role: 'owner', is_owner: true }, role: 'member', owner: false },
    { record: { role: 'member' }, role: 'owner', owner: true },
  ])('$record with the new role $role: an owner is $owner', ({ record, role, owner }) => {
    expect(user.ownership?.isOwner({ id: 'U1', ...record }, role)).toBe(owner);
  });
});

describe('agents', () => {
  const draft = { id: 'A1', version: null, published_at: null, updated_at: '2030-01-02T00:00:00+00:00' };
  it.each<{ reason: string; record: ShownRecord; standing: string }>([
    { reason: 'never published', record: draft, standing: 'never' },
    {
      reason: 'neither version nor date shown',
      record: { id: 'A1', updated_at: '2030-01-02T00:00:00+00:00' },
      standing: 'never',
    },
    {
      reason: 'published after the latest edit',
      record: { ...draft, version: 2, published_at: '2030-01-03T00:00:00+00:00' },
      standing: 'current',
    },
    {
      reason: 'edited after the latest publication',
      record: { ...draft, version: 2, published_at: '2030-01-01T00:00:00+00:00' },
      standing: 'edited',
    },
    {
      reason: 'updated so soon after the publication that this may be the update',
      record: { ...draft, version: 2, published_at: '2030-01-01T23:59:00+00:00' },
      standing: 'unclear',
    },
    {
      reason: 'published at the moment of the edit, in the two forms of a timestamp',
      record: { ...draft, version: 2, published_at: '2030-01-02T00:00:00.000000Z' },
      standing: 'current',
    },
    {
      reason: 'a version without dates proves nothing',
      record: { id: 'A1', version: 3 },
      standing: 'unclear',
    },
    {
      reason: 'the time of the edit is not shown',
      record: { id: 'A1', version: 3, published_at: '2030-01-01T00:00:00+00:00', updated_at: null },
      standing: 'unclear',
    },
    { reason: 'the time of the publication is not shown', record: { ...draft, version: 3 }, standing: 'unclear' },
  ])('have the publication status: $reason', ({ record, standing }) => {
    expect(agent.publishing?.draftStatus(record)).toBe(standing);
  });
});

it('explains how to add a knowledge base', () => {
  expect(lookups.get('KnowledgeBase')?.manualAddStep('FAQ')).toBe('In the dashboard, add the knowledge base "FAQ"');
});
