import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bindResources } from '../../../src/engine/decide/bind.ts';
import type { Plan } from '../../../src/engine/decide/make-plan.ts';
import type { Observed } from '../../../src/engine/decide/observed.ts';
import { planDocument } from '../../../src/engine/plan/plan-schema.ts';
import { kinds } from '../../../src/kinds/index.ts';
import type { ShownRecord } from '../../../src/kinds/kind.ts';
import type { Resource } from '../../../src/manifests/resource.ts';
import { UserError } from '../../../src/problems/user-error.ts';
import type { State } from '../../../src/state/state.ts';
import type { PendingCreate, ResourceEntry } from '../../../src/state/state-document.ts';
import { inDashboard } from '../../step-texts.ts';
import { agent, number, ref, secret, user, webhook } from '../resources.ts';
import { entryOf, fingerprints, observedOf, stateOf } from './facts.ts';
import { at, decidedAhead, plan, type World } from './planning.ts';

const MISSING_SINCE = { missing_since: '2030-01-01T00:00:00.000Z' };

function pendingAt(address: string, natural_key?: string): ReadonlyMap<string, PendingCreate> {
  return new Map([[address, { since: '2030-01-01T00:00:00Z', recorded: {}, ...(natural_key && { natural_key }) }]]);
}

describe('the plan of one resource', () => {
  it.each<World & { reason: string; address?: string; planned: object }>([
    {
      reason: 'it is new',
      resources: [agent('a')],
      planned: { action: 'create', id: null, desired: { name: 'a' } },
    },
    {
      reason: 'its record equals the manifest',
      resources: [agent('a')],
      state: stateOf({ 'Agent/a': entryOf({ name: 'a' }) }),
      observed: observedOf({ 'Agent/a': { id: 'R1', name: 'a' } }),
      planned: { action: 'noop', id: 'R1', changes: [] },
    },
    {
      reason: 'its record is missing',
      resources: [agent('a')],
      state: stateOf({ 'Agent/a': entryOf({ name: 'a' }) }),
      observed: observedOf({ 'Agent/a': 'missing' }),
      planned: { action: 'blocked', id: 'R1', missing: true },
    },
    {
      reason: 'its record is missing and may be recreated',
      resources: [agent('a')],
      state: stateOf({ 'Agent/a': entryOf({ name: 'a' }, MISSING_SINCE) }),
      observed: observedOf({ 'Agent/a': 'missing' }),
      allowRecreate: ['all'],
      planned: { action: 'create', id: 'R1', recreates: 'R1' },
    },
    {
      reason: 'the record was not read, and was missing before',
      resources: [agent('a')],
      state: stateOf({ 'Agent/a': entryOf({ name: 'old' }, MISSING_SINCE) }),
      observed: observedOf({ 'Agent/a': 'remembered' }),
      planned: { action: 'blocked', missing_since: '2030-01-01T00:00:00.000Z' },
    },
    {
      reason: 'the record was not read',
      resources: [agent('a')],
      state: stateOf({ 'Agent/a': entryOf({ name: 'old' }) }),
      observed: observedOf({ 'Agent/a': 'remembered' }),
      planned: { action: 'update', id: 'R1', changes: [{ path: 'name', verified: false }] },
    },
    {
      reason: 'metadata.id names a missing record',
      resources: [agent('a', {}, { id: 'X1' })],
      observed: observedOf({ 'Agent/a': 'missing' }),
      planned: { action: 'blocked', id: null },
    },
    {
      reason: 'metadata.id names a record that another resource manages',
      resources: [agent('a', {}, { id: 'R1' }), agent('b')],
      state: stateOf({ 'Agent/b': entryOf({ name: 'b' }) }),
      observed: observedOf({ 'Agent/a': { id: 'R1', name: 'b' }, 'Agent/b': { id: 'R1', name: 'b' } }),
      planned: { action: 'blocked', reason: 'the record R1 is already managed as Agent/b' },
    },
    {
      reason: 'a webhook differs',
      resources: [webhook('h', { timeout: 5 })],
      state: stateOf({ 'Webhook/h': entryOf({ url: 'https://example.com/h', timeout: 4 }) }),
      observed: observedOf({ 'Webhook/h': { id: 'R1', url: 'https://example.com/h', timeout: 4 } }),
      planned: {
        action: 'blocked',
        id: 'R1',
        changes: [{ path: 'timeout' }],
        steps: [{ action: 'replace', address: 'Webhook/h', id: 'R1' }],
      },
    },
    {
      reason: 'a webhook differs and may be replaced',
      resources: [webhook('h', { timeout: 5 }, { mayReplace: true })],
      state: stateOf({ 'Webhook/h': entryOf({ url: 'https://example.com/h', timeout: 4 }) }),
      observed: observedOf({ 'Webhook/h': { id: 'R1', url: 'https://example.com/h', timeout: 4 } }),
      planned: { action: 'replace', id: 'R1' },
    },
    {
      reason: 'a user is not in the workspace',
      resources: [user('ada')],
      planned: { action: 'manual', steps: [inDashboard('In the dashboard, invite ada@example.com to the workspace.')] },
    },
    {
      reason: 'a user has no role, and the manifest has none',
      resources: [user('ada', { modules: ['agents'] })],
      observed: observedOf({ 'WorkspaceUser/ada': { id: 'U1', email: 'ada@example.com', role: null, modules: [] } }),
      planned: { action: 'blocked', id: 'U1' },
    },
    {
      reason: 'a user is imported unchanged while others set their agents, one of which does not exist yet',
      resources: [agent('new'), user('ada', { agent_ids: [ref('Agent/new')] }, { ignoreDrift: ['agent_ids'] })],
      observed: observedOf({ 'WorkspaceUser/ada': { id: 'U1', email: 'ada@example.com', agent_ids: ['A1'] } }),
      address: 'WorkspaceUser/ada',
      planned: { action: 'adopt', id: 'U1', changes: [], depends_on: ['Agent/new'] },
    },
    {
      reason: 'only a link differs',
      resources: [number('n', { number: '+49301', inbound_agent_id: null })],
      state: stateOf({ 'PhoneNumber/n': entryOf({ number: '+49301' }) }),
      observed: observedOf({ 'PhoneNumber/n': { id: 'R1', number: '49301', inbound_agent_id: 'A1' } }),
      planned: {
        action: 'manual',
        steps: [inDashboard('In the dashboard, remove the inbound agent of number +49301.')],
      },
    },
    {
      reason: 'a knowledge base is missing',
      resources: [agent('a', { llm_config: { knowledge_base_ids: [ref('KnowledgeBase/FAQ')] } })],
      observed: { ...observedOf({}), lookups: new Map([['KnowledgeBase', new Map([['FAQs', ['K1']]])]]) },
      planned: {
        action: 'manual',
        steps: [inDashboard('In the dashboard, add the knowledge base "FAQ"; did you mean "FAQs"?')],
      },
    },
    {
      reason: 'a knowledge base is missing, and another field drifted',
      resources: [agent('a', { llm_config: { knowledge_base_ids: [ref('KnowledgeBase/FAQ')] } })],
      state: stateOf({ 'Agent/a': entryOf({ name: 'a', 'llm_config.knowledge_base_ids': ['K1'] }) }),
      observed: observedOf({ 'Agent/a': { id: 'R1', name: 'theirs' } }),
      planned: {
        action: 'manual',
        id: 'R1',
        changes: [
          { path: 'llm_config.knowledge_base_ids', verified: false },
          { path: 'name', before: 'theirs', after: 'a', cause: 'drift' },
        ],
      },
    },
    {
      reason: 'a create is unknown, and its record cannot be listed',
      resources: [agent('a')],
      state: stateOf({}, { pending: pendingAt('Agent/a') }),
      planned: { action: 'unknown', id: null },
    },
    {
      reason: 'the create of another resource of its kind is unknown',
      resources: [agent('a')],
      state: stateOf({}, { pending: pendingAt('Agent/b') }),
      planned: { action: 'create' },
    },
    {
      reason: 'the create of the same number under another address is unknown',
      resources: [number('n', { number: '+49301' })],
      state: stateOf({}, { pending: pendingAt('PhoneNumber/m', '49301') }),
      planned: { action: 'unknown', steps: [{ action: 'resolve_first', address: 'PhoneNumber/m' }] },
    },
    {
      reason: 'no manifest declares it any more',
      resources: [],
      state: stateOf({ 'Agent/a': entryOf({ name: 'a' }) }),
      planned: { action: 'forget', id: 'R1', source: null },
    },
    {
      reason: 'no manifest declares it any more, and its record is missing',
      resources: [],
      state: stateOf({ 'Agent/a': entryOf({ name: 'a' }, MISSING_SINCE) }),
      planned: { action: 'forget', notices: ['R1 has been missing from the platform since 2030-01-01T00:00:00.000Z'] },
    },
    {
      reason: 'no manifest declares it any more, and its create is unknown',
      resources: [],
      state: stateOf({}, { pending: pendingAt('Agent/a') }),
      planned: { action: 'unknown', source: null },
    },
    {
      reason: 'it was renamed',
      resources: [agent('new', {}, { previousNames: ['old'] })],
      state: stateOf({ 'Agent/old': entryOf({ name: 'new' }) }),
      observed: observedOf({ 'Agent/new': { id: 'R1', name: 'new' } }),
      planned: { action: 'noop', id: 'R1', previous_address: 'Agent/old', reason: 'renamed from Agent/old' },
    },
  ])('has the expected action if $reason', ({ planned, ...world }) => {
    const { address = world.resources[0]?.address ?? 'Agent/a' } = world;
    expect(at(plan(world), address)).toMatchObject(planned);
  });

  it('releases a key with a warning for any returned mask', () => {
    const recorded = {
      name: 'a',
      'llm_config.model': 'm',
      'llm_config.api_key': { $fingerprint: fingerprints.of('sk-first-secret') },
    };
    const { document } = plan({
      resources: [agent('a')],
      state: stateOf({ 'Agent/a': entryOf(recorded) }),
      observed: observedOf({ 'Agent/a': { id: 'R1', name: 'a', llm_config: { model: 'm', api_key: '***' } } }),
    });
    expect(document.resources[0]).toMatchObject({
      action: 'noop',
      released: ['llm_config.api_key', 'llm_config.model'],
    });
    expect(document.warnings.map(({ message }) => message)).toEqual([
      expect.stringContaining('llm_config.api_key was removed from the manifest'),
    ]);
  });

  it('does not forget a resource that is out of scope or renamed', () => {
    const state = stateOf({ 'Agent/a': entryOf({ name: 'a' }), 'Agent/old': entryOf({ name: 'b' }, { id: 'R2' }) });
    const narrowed = plan({ resources: [agent('b')], state, scope: new Set(['Agent/b']), alsoDeclared: ['Agent/a'] });
    expect(narrowed.document.resources.map(({ address }) => address)).toEqual(['Agent/b']);
    const renamed = plan({ resources: [agent('a'), agent('b', {}, { previousNames: ['old'] })], state });
    expect(renamed.document.summary.forget).toBe(0);
  });

  it('binds an entry to one address, by name before number', () => {
    const resources = [
      number('a', { number: '+49301' }),
      number('b', { number: '+49302' }, { previousNames: ['old'] }),
    ];
    const record = { id: 'R1', number: '49301' };
    const found = plan({
      resources,
      state: stateOf({ 'PhoneNumber/old': entryOf({ number: '+49301' }) }),
      observed: {
        ...observedOf({ 'PhoneNumber/a': record, 'PhoneNumber/b': record }),
        lists: new Map([['PhoneNumber', [record]]]),
      },
    });
    expect(at(found, 'PhoneNumber/a')).toMatchObject({
      action: 'blocked',
      reason: 'the record R1 is already managed as PhoneNumber/old',
    });
    expect(at(found, 'PhoneNumber/b')).toMatchObject({ action: 'blocked', previous_address: 'PhoneNumber/old' });
  });

  it('binds a record to one of two matching addresses', () => {
    const record = { id: 'R1', number: '49301' };
    const { document } = plan({
      resources: [number('a', { number: '+49301' }), number('b', { number: '+49302' })],
      state: stateOf(
        { 'PhoneNumber/left': entryOf({ number: '+49301' }) },
        { pending: pendingAt('PhoneNumber/b', '49301') },
      ),
      observed: {
        ...observedOf({ 'PhoneNumber/a': record, 'PhoneNumber/b': record }),
        lists: new Map([['PhoneNumber', [record]]]),
      },
    });
    expect(document.resources).toMatchObject([
      { address: 'PhoneNumber/a', action: 'noop', previous_address: 'PhoneNumber/left' },
      { address: 'PhoneNumber/b', action: 'blocked' },
    ]);
  });

  it.each([
    ['its manifest means another one', number('a', { number: '+49302' })],
    ['another address continues it', number('b', { number: '+49302' }, { previousNames: ['a'] })],
  ])('is not created twice if the list lacks it and %s', (_, holder) => {
    const found = plan({
      resources: [holder, number('c', { number: '+49301' })],
      state: stateOf({ 'PhoneNumber/a': entryOf({ number: '+49301' }) }),
      observed: { ...observedOf({ [holder.address]: 'missing' }), lists: new Map([['PhoneNumber', []]]) },
    });
    expect(at(found, 'PhoneNumber/c')).toMatchObject({ action: 'blocked', id: null });
    expect(at(found, 'PhoneNumber/c').reason).toContain('PhoneNumber/a manages');
  });

  it('lists all records with the name of an ambiguous reference', () => {
    const observed = { ...observedOf({}), lookups: new Map([['KnowledgeBase', new Map([['FAQ', ['K1', 'K2']]])]]) };
    const spec = { llm_config: { knowledge_base_ids: [ref('KnowledgeBase/FAQ')] } };
    expect(() => plan({ resources: [agent('a', spec)], observed })).toThrow(UserError);
    expect(() => plan({ resources: [agent('a', spec)], observed })).toThrow(
      'manifests/all.yaml:1  Agent/a refers to KnowledgeBase/FAQ, but 2 records have that name: K1, K2',
    );
  });

  it('contains only the fingerprints of secrets that an apply sends', () => {
    const spec = { llm_config: { api_key: secret() } };
    const held = { 'llm_config.api_key': { $fingerprint: fingerprints.of('sk-first-secret') } };
    const found = plan({
      resources: [agent('a', { llm_config: { api_key: secret('OTHER', 'sk-other') } }), agent('b', spec)],
      state: stateOf({ 'Agent/b': entryOf({ name: 'b', ...held }) }),
      observed: observedOf({ 'Agent/b': { id: 'R1', name: 'b' } }),
    });
    expect(found.document.secrets).toEqual({ OTHER: fingerprints.of('sk-other') });
  });
});

// Generated workspaces

const names = ['a', 'b', 'c', 'd'];
const name = fc.constantFrom(...names);
const text = fc.constantFrom('x', 'y', ' x ');
const options = fc.record({
  previousNames: fc.array(name, { maxLength: 2 }),
  mayReplace: fc.boolean(),
  ignoreDrift: fc.constantFrom([], ['tts_config'], ['agent_ids']),
});

const agents = fc.record({ name, speed: text, hasKey: fc.boolean(), base: fc.boolean(), options }).map((each) =>
  agent(
    each.name,
    {
      tts_config: { speed: each.speed },
      ...(each.hasKey && { llm_config: { api_key: secret() } }),
      ...(each.base && { llm_config: { knowledge_base_ids: [ref('KnowledgeBase/FAQ')] } }),
    },
    each.options,
  ),
);
const numbers = fc
  .record({ name, digits: fc.constantFrom('+49301', '+49302', '+49303'), link: name, options })
  .map((each) => number(each.name, { number: each.digits, inbound_agent_id: ref(`Agent/${each.link}`) }, each.options));
const webhooks = fc
  .record({ name, timeout: fc.constantFrom(1, 2), options })
  .map((each) => webhook(each.name, { timeout: each.timeout }, each.options));
const users = fc
  .record({ name, role: fc.constantFrom('owner', 'member'), agents: fc.array(name, { maxLength: 2 }), options })
  .map((each) =>
    user(each.name, { role: each.role, agent_ids: each.agents.map((one) => ref(`Agent/${one}`)) }, each.options),
  );

const shownRecord: fc.Arbitrary<ShownRecord> = fc.record(
  {
    id: fc.constantFrom('R1', 'R2', 'R3'),
    name: text,
    tts_config: fc.record({ speed: text }),
    number: fc.constantFrom('49301', '49302', '49303'),
    inbound_agent_id: fc.constantFrom(null, 'R1'),
    url: fc.constant('https://example.com/a'),
    timeout: fc.constantFrom(1, 2),
    email: fc.constantFrom('a@example.com', 'b@example.com', 'z@example.com'),
    role: fc.constantFrom(null, 'owner', 'member'),
    is_owner: fc.boolean(),
    agent_ids: fc.subarray(['R1', 'R2']),
  },
  { requiredKeys: ['id', 'email', 'number'] },
);
const records = fc.uniqueArray(shownRecord, { selector: ({ id }) => id, maxLength: 3 });

const entries: fc.Arbitrary<[string, ResourceEntry][]> = fc.uniqueArray(
  fc
    .record({
      kind: fc.constantFrom('Agent', 'PhoneNumber', 'Webhook', 'WorkspaceUser'),
      name: fc.constantFrom(...names, 'left'),
      id: fc.constantFrom('R1', 'R2', 'R3'),
      speed: text,
    })
    .map((each): [string, ResourceEntry] => [
      `${each.kind}/${each.name}`,
      entryOf(each.kind === 'Agent' ? { name: each.name, 'tts_config.speed': each.speed } : {}, {
        id: each.id,
        adopted: true,
      }),
    ]),
  { maxLength: 5, selector: ([address, { id }]) => `${address.split('/')[0]} ${id}` },
);

const pendings: fc.Arbitrary<[string, PendingCreate][]> = fc.uniqueArray(
  fc
    .constantFrom('Agent/a', 'Agent/left', 'PhoneNumber/b', 'Webhook/c')
    .map((address): [string, PendingCreate] => [
      address,
      { since: '2030-01-01T00:00:00Z', recorded: {}, ...(address.startsWith('P') && { natural_key: '49301' }) },
    ]),
  { maxLength: 2, selector: ([address]) => address },
);

/** Returns the records of resources, as `observe` finds them in lists and by their ids. */
function look(resources: readonly Resource[], state: State, shown: readonly ShownRecord[]): Observed {
  const declared = new Set(resources.map(({ address }) => address));
  const found = [...bindResources(resources, state, declared)].map(
    ([address, { resource, id, pending }]): [string, ShownRecord | 'missing' | 'absent'] => {
      const kind = kinds.get(resource.kind);
      const key = pending?.natural_key ?? kind?.naturalKey?.(resource.spec)?.key;
      const isRecorded = id !== undefined && pending === undefined;
      const record = shown.find((each) =>
        isRecorded ? each.id === id : key !== undefined && kind?.naturalKeyOf?.(each) === key,
      );
      return [address, record ?? (isRecorded ? 'missing' : 'absent')];
    },
  );
  return {
    ...observedOf(Object.fromEntries(found)),
    lists: new Map(['PhoneNumber', 'WorkspaceUser'].map((each) => [each, shown])),
    lookups: new Map([['KnowledgeBase', new Map([['FAQ', ['K1']]])]]),
  };
}

function byAddress<T extends { readonly address: string }>(all: readonly T[]): T[] {
  return [...new Map(all.map((each) => [each.address, each])).values()];
}

/** Removes repeated natural keys and earlier names, which the checks of manifests reject. */
function checked(all: readonly Resource[]): Resource[] {
  const live = new Set(all.map(({ address }) => address));
  const claimed = new Set<string>();
  const keys = new Set<string>();
  return all.flatMap((resource) => {
    const key = kinds.get(resource.kind)?.naturalKey?.(resource.spec)?.key;
    if (key !== undefined && keys.has(`${resource.kind} ${key}`)) return [];
    keys.add(`${resource.kind} ${key}`);
    const previousNames = resource.previousNames.filter((previous) => {
      const address = `${resource.kind}/${previous}`;
      return !live.has(address) && !claimed.has(address) && claimed.add(address);
    });
    return [{ ...resource, previousNames }];
  });
}

const world = fc
  .record({
    resources: fc
      .array(fc.oneof(agents, numbers, webhooks, users), { maxLength: 8 })
      .map((all) => checked(byAddress(all))),
    entries,
    pendings,
    shown: records,
  })
  .map(({ resources, entries: held, pendings: open, shown }) => ({
    resources: resources.map((each) => withDeclared(each, resources)),
    entries: [...new Map(held)],
    pendings: open,
    shown,
  }));

/** Removes dangling references, which the checks of manifests reject. */
function withDeclared(resource: Resource, all: readonly Resource[]): Resource {
  const live = new Set(all.map(({ address }) => address));
  const { inbound_agent_id: link, agent_ids: given, ...rest } = resource.spec;
  const isLive = (value: unknown): boolean => live.has((value as { address: string }).address);
  return {
    ...resource,
    spec: {
      ...rest,
      ...(link !== undefined && isLive(link) && { inbound_agent_id: link }),
      ...(Array.isArray(given) && { agent_ids: given.filter(isLive) }),
    },
  };
}

type Generated = typeof world extends fc.Arbitrary<infer T> ? T : never;

function planOf({ resources, entries: held, pendings: open, shown }: Generated): Plan {
  const state = stateOf(Object.fromEntries(held), { pending: new Map(open) });
  return plan({ resources, state, observed: look(resources, state, shown) });
}

function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const inner of Object.values(value)) frozen(inner);
  }
  return value;
}

describe('decisions before everything is observed', () => {
  const state = stateOf({ 'Agent/a': entryOf({ name: 'a' }), 'Agent/b': entryOf({ name: 'b' }, { id: 'R2' }) });
  const observed = observedOf({ 'Agent/a': { id: 'R1', name: 'a' } });

  it.each<World & { reason: string; early: readonly string[] }>([
    { reason: 'nothing else affects it', resources: [agent('a')], state, observed, early: ['Agent/a'] },
    {
      reason: 'the record has changed',
      resources: [agent('a')],
      state,
      observed: observedOf({ 'Agent/a': { id: 'R1', name: 'other' } }),
      early: ['Agent/a'],
    },
    { reason: 'the record is new', resources: [agent('c')], state, observed, early: [] },
    {
      reason: 'the record is missing',
      resources: [agent('a')],
      state,
      observed: observedOf({ 'Agent/a': 'missing' }),
      early: [],
    },
    {
      reason: 'the resource was renamed',
      resources: [agent('c', {}, { previousNames: ['a'] })],
      state,
      observed: observedOf({ 'Agent/c': { id: 'R1', name: 'a' } }),
      early: [],
    },
    {
      reason: 'it refers to another resource',
      resources: [agent('a', { webhook_id: ref('Agent/b') }), agent('b')],
      state,
      observed,
      early: [],
    },
    {
      reason: 'it contains a secret',
      resources: [agent('a', { name: secret('NAME', 'a') })],
      state,
      observed,
      early: [],
    },
  ])('decides the possible resources if $reason', ({ early, ...world }) => {
    expect([...decidedAhead(world).keys()]).toEqual(early);
  });
});

describe('the plan of any workspace', () => {
  it('does not depend on the order of its inputs', () => {
    fc.assert(
      fc.property(
        world.chain((one) =>
          fc.tuple(
            fc.constant(one),
            fc.record({
              resources: fc.shuffledSubarray(one.resources, { minLength: one.resources.length }),
              entries: fc.shuffledSubarray(one.entries, { minLength: one.entries.length }),
              pendings: fc.shuffledSubarray(one.pendings, { minLength: one.pendings.length }),
              shown: fc.constant(one.shown),
            }),
          ),
        ),
        ([one, other]) => {
          const [first, second] = [planOf(one), planOf(other)];
          expect(JSON.stringify(second.document)).toBe(JSON.stringify(first.document));
          expect(Object.fromEntries(second.settled)).toEqual(Object.fromEntries(first.settled));
        },
      ),
    );
  });

  it('does not mutate its inputs', () => {
    fc.assert(
      fc.property(world, (one) => {
        expect(() => planOf(frozen(one))).not.toThrow();
      }),
    );
  });

  it('is plain data without secrets, with correct counts', () => {
    fc.assert(
      fc.property(world, (one) => {
        const { document } = planOf(one);
        expect(planDocument.parse(JSON.parse(JSON.stringify(document)))).toEqual(document);
        expect(JSON.stringify(document)).not.toContain('sk-first-secret');
        const counted = Object.values(document.summary).reduce((sum, count) => sum + count, 0);
        expect(counted).toBe(document.resources.length);
      }),
    );
  });

  it('contains every resource and every state entry once', () => {
    fc.assert(
      fc.property(world, (one) => {
        const { resources } = planOf(one).document;
        const addresses = resources.map(({ address }) => address);
        expect(addresses).toEqual([...new Set(addresses)].sort());
        const known = new Set([...addresses, ...resources.flatMap(({ previous_address }) => previous_address ?? [])]);
        for (const { address } of one.resources) expect(addresses).toContain(address);
        for (const [address] of [...one.entries, ...one.pendings]) expect(known).toContain(address);
        const previous = resources.flatMap(({ previous_address }) => previous_address ?? []);
        expect(new Set(previous).size).toBe(previous.length);
        for (const { depends_on } of resources) for (const each of depends_on) expect(addresses).toContain(each);
      }),
    );
  });

  it('never has one record at two addresses', () => {
    fc.assert(
      fc.property(world, (one) => {
        const held = new Map(one.entries.map(([address, { id }]) => [address, id]));
        const { resources } = planOf(one).document;
        const after = resources
          .filter(({ action, id }) => action !== 'forget' && action !== 'create' && action !== 'replace' && id !== null)
          .map(({ address, action, kind, id }) => {
            const isTaken = action === 'adopt' || action === 'update' || action === 'noop';
            return `${kind} ${isTaken ? id : (held.get(address) ?? id)}`;
          });
        expect(after.length).toBe(new Set(after).size);
      }),
    );
  });
});
