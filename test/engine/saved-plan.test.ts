import { describe, expect, it } from 'vitest';
import type { PlanDocument } from '../../src/engine/plan/plan-document.ts';
import { helpText } from '../../src/output/next-steps.ts';
import { webhookRecord } from '../../src/platform/records/webhook-records.ts';
import { UserError } from '../../src/problems/user-error.ts';
import { failureOf } from '../state/temporary-state.ts';
import { actionsIn, Bench, outcomes, reread } from './bench.ts';
import { agent, number, ref, secret, user, webhook } from './resources.ts';

const desired = (model = 'm') => [
  agent('a', { llm_config: { model, api_key: secret(), knowledge_base_ids: [ref('KnowledgeBase/FAQ')] } }),
  agent('b', { tts_config: { speed: 'fast' } }),
  number('n', { number: '+49301', nickname: 'Desk', inbound_agent_id: ref('Agent/a') }),
  webhook('h', { payload: { data: { $x: 1 }, event: 'e' } }),
  user('ada', { role: 'member', agent_ids: [ref('Agent/a'), ref('Agent/b')] }),
];

async function prepared(): Promise<Bench> {
  const bench = await Bench.open({ normalise: { trim: true, reorderSets: true } });
  bench.emulator.dashboard.inviteUser({ email: 'ada@example.com', role: 'admin' });
  bench.emulator.dashboard.addKnowledgeBase({ name: 'FAQ' });
  return bench;
}

describe('a saved plan', () => {
  it('is applied unchanged to an empty state, so that the next plan has no changes', async () => {
    const bench = await prepared();
    const saved = await bench.plan(desired());
    const report = await bench.applySaved(saved);
    expect(new Set(Object.values(outcomes(report)))).toEqual(new Set(['done']));
    expect(report.plan).toEqual(reread(saved));
    expect(actionsIn(await bench.plan(desired()))).toEqual(['manual PhoneNumber/n']);
    expect(bench.emulator.dashboard.holdsApiKey(await bench.idOf('Agent/a'), 'sk-first-secret')).toBe(true);
    expect(JSON.stringify(saved)).not.toContain('sk-first-secret');
    expect((await failureOf(bench.applySaved(saved))).message, 'once only').toContain('the plan is stale');
  });

  it('updates, replaces, forgets and adopts exactly its resources', async () => {
    const bench = await prepared();
    await bench.apply([...desired(), webhook('old')]);
    const adopted = await bench.client
      .collection('webhooks', webhookRecord)
      .create({ url: 'https://example.com/adopted' });
    const next = [
      ...desired('n').filter(({ address }) => address !== 'Webhook/h'),
      webhook('h', { timeout: 9 }, { mayReplace: true }),
      webhook('adopted', {}, { id: adopted.id }),
    ];
    const saved = await bench.plan(next);
    expect(actionsIn(saved)).toEqual([
      'update Agent/a',
      'manual PhoneNumber/n',
      'adopt Webhook/adopted',
      'replace Webhook/h',
      'forget Webhook/old',
    ]);
    expect(new Set(Object.values(outcomes(await bench.applySaved(saved))))).toEqual(new Set(['done']));
    expect(actionsIn(await bench.plan(next))).toEqual(['manual PhoneNumber/n']);
  });

  it('does not change the state without actions', async () => {
    const bench = await Bench.open({ shows: { read: [], update: [] } });
    const only = [agent('b', { tts_config: { speed: 'fast' }, llm_config: { api_key: secret() } })];
    await bench.apply(only);
    const before = (await bench.state()).resources.get('Agent/b');
    bench.requests();
    await bench.applySaved(await bench.plan(only));
    expect((await bench.state()).resources.get('Agent/b')).toEqual(before);
    expect(bench.writes).toEqual([]);
    expect(actionsIn(await bench.plan(only))).toEqual([]);
  });

  it('does not change state entries of resources that it does not write', async () => {
    const bench = await prepared();
    await bench.apply(desired());
    const before = (await bench.state()).resources;
    await bench.applySaved(await bench.plan(desired('n')));
    const after = (await bench.state()).resources;
    for (const address of ['Agent/b', 'PhoneNumber/n', 'Webhook/h', 'WorkspaceUser/ada']) {
      expect(after.get(address), address).toEqual(before.get(address));
    }
  });

  it.each([true, false])('applies renames together with other actions (refresh: %s)', async (refresh) => {
    const bench = await Bench.open();
    bench.emulator.dashboard.inviteUser({ email: 'ada@example.com', role: 'member' });
    await bench.apply([agent('a'), agent('b', { llm_config: { model: 'm' } }), agent('c'), agent('gone')]);
    const next = [
      agent('x', { name: 'a' }, { previousNames: ['a'] }),
      agent('y', { name: 'b', llm_config: { model: 'n' } }, { previousNames: ['b'] }),
      agent('c', { llm_config: { model: 'n' } }),
      user('ada', { role: 'member', agent_ids: [ref('Agent/c')] }),
    ];
    const saved = await bench.plan(next, { refresh });
    expect(actionsIn(saved)).toEqual([
      'update Agent/c',
      'forget Agent/gone',
      'update Agent/y',
      'update WorkspaceUser/ada',
    ]);
    expect(outcomes(await bench.applySaved(saved))).toEqual({
      'Agent/c': 'done',
      'Agent/gone': 'done',
      'Agent/y': 'done',
      'WorkspaceUser/ada': 'done',
    });
    expect([...(await bench.state()).resources.keys()].sort()).toEqual(next.map(({ address }) => address).sort());
    expect(bench.emulator.world.agents.size).toBe(4);
    expect(actionsIn(await bench.plan(next))).toEqual([]);
  });
});

describe('a saved plan', () => {
  async function refusal(happens: (bench: Bench) => unknown, edit: Partial<PlanDocument> = {}) {
    const bench = await prepared();
    await bench.apply(desired());
    const saved = await bench.plan(desired('n'));
    await happens(bench);
    bench.requests();
    const error = await failureOf(bench.applySaved({ ...saved, ...edit }));
    expect(error).toBeInstanceOf(UserError);
    expect(helpText(error, undefined)).toBeTruthy();
    expect(error.message).not.toContain('-secret');
    expect(bench.writes).toEqual([]);
    return error.message;
  }

  it.each<[string, RegExp, Partial<PlanDocument>]>([
    ['for another workspace', /^the plan is for workspace OTHER/, { workspace_id: 'OTHER' }],
    ['for another address', /^the plan is for .* at https:\/\/x\.example/, { base_url: 'https://x.example' }],
    ['of another state', /another state/, { state: { lineage: 'L2', salt: 'S1', serial: 1 } }],
  ])('is refused before the first write if it is %s', async (_, message, edit) => {
    expect(await refusal(() => undefined, edit)).toMatch(message);
  });

  it.each<[string, RegExp, (bench: Bench) => unknown]>([
    [
      'the state changed',
      /^the plan is stale: it was made from state serial 1, and the state is now at serial 2/,
      (bench) => bench.apply([...desired(), agent('c')]),
    ],
    [
      'a secret changed',
      /secrets changed since the plan was made: KEY/,
      (bench) => Object.assign(bench.secrets, { KEY: 'sk-next-secret' }),
    ],
    [
      'an unmanaged field of a record changed',
      /stale: Agent\/a changed on the platform/,
      async (bench) =>
        bench.emulator.dashboard.edit('agents', await bench.idOf('Agent/a'), { llm_config: { max_tokens: 7 } }),
    ],
    [
      'a record is missing',
      /stale: Agent\/a changed on the platform/,
      async (bench) => bench.emulator.dashboard.remove('agents', await bench.idOf('Agent/a')),
    ],
  ])('is refused before the first write if %s', async (_, message, happens) => {
    expect(await refusal(happens)).toMatch(message);
  });

  it('is refused before the first write if a number was registered in between', async () => {
    const bench = await prepared();
    const saved = await bench.plan(desired());
    await bench.client.numbers.create({ number: '49 301' });
    expect((await failureOf(bench.applySaved(saved))).message).toMatch(/PhoneNumber\/n changed on the platform/);
    expect(bench.emulator.world.agents.size).toBe(0);
  });
});
