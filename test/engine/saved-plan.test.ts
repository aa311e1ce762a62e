import { describe, expect, it } from 'vitest';
import type { PlanDocument } from '../../src/engine/plan/plan-document.ts';
import { parseSavedPlan, sealed } from '../../src/engine/plan/saved-plan.ts';
import { UserError } from '../../src/problems/user-error.ts';
import type { JsonObject } from '../../src/values/json.ts';
import { failureOf } from '../state/temporary-state.ts';
import { agent, number, ref, secret, user, webhook } from './resources.ts';
import { actionsIn, outcomes, VERSION, Workspace } from './workspace.ts';

/** As it comes back from a file. */
function reread(plan: PlanDocument): PlanDocument {
  return parseSavedPlan(JSON.stringify(sealed(plan)), { file: 'p.json', version: VERSION });
}

const desired = (model = 'm') => [
  agent('a', { llm_config: { model, api_key: secret(), knowledge_base_ids: [ref('KnowledgeBase/FAQ')] } }),
  agent('b', { tts_config: { speed: 'fast' } }),
  number('n', { number: '+49301', nickname: 'Desk', inbound_agent_id: ref('Agent/a') }),
  webhook('h', { payload: { data: { $x: 1 }, event: 'e' } }),
  user('ada', { role: 'member', agent_ids: [ref('Agent/a'), ref('Agent/b')] }),
];

async function prepared(): Promise<Workspace> {
  const w = await Workspace.open({ normalise: { trim: true, reorderSets: true } });
  w.emulator.dashboard.inviteUser({ email: 'ada@example.com', role: 'admin' });
  w.emulator.dashboard.addKnowledgeBase({ name: 'FAQ' });
  return w;
}

describe('a saved plan', () => {
  it('is applied to an empty state exactly as it is, and leaves nothing to do', async () => {
    const w = await prepared();
    const saved = reread(await w.plan(desired()));
    const report = await w.applySaved(saved);
    expect(new Set(Object.values(outcomes(report)))).toEqual(new Set(['done']));
    expect(report.plan).toEqual(saved);
    expect(actionsIn(await w.plan(desired()))).toEqual(['manual PhoneNumber/n']);
    const [id = ''] = w.emulator.world.agents.keys();
    expect(w.emulator.dashboard.holdsApiKey(id, 'sk-first-secret')).toBe(true);
    expect(JSON.stringify(saved)).not.toContain('sk-first-secret');
  });

  it('updates, replaces, forgets and adopts what it says, and nothing else', async () => {
    const w = await prepared();
    await w.apply([...desired(), webhook('old')]);
    const adopted = await w.client.webhooks.create({ url: 'https://example.com/adopted' });
    const next = [
      ...desired('n').filter(({ address }) => address !== 'Webhook/h'),
      webhook('h', { timeout: 9 }, { mayReplace: true }),
      webhook('adopted', {}, { id: adopted.id }),
    ];
    const saved = reread(await w.plan(next));
    expect(actionsIn(saved)).toEqual([
      'update Agent/a',
      'manual PhoneNumber/n',
      'adopt Webhook/adopted',
      'replace Webhook/h',
      'forget Webhook/old',
    ]);
    expect(new Set(Object.values(outcomes(await w.applySaved(saved))))).toEqual(new Set(['done']));
    expect(actionsIn(await w.plan(next))).toEqual(['manual PhoneNumber/n']);
  });

  it('with nothing to do leaves the state as it was', async () => {
    const w = await Workspace.open({ shows: { read: [], update: [] } });
    const only = [agent('b', { tts_config: { speed: 'fast' }, llm_config: { api_key: secret() } })];
    await w.apply(only);
    const before = (await w.state()).resources.get('Agent/b');
    w.emulator.clearRequests();
    await w.applySaved(reread(await w.plan(only)));
    expect((await w.state()).resources.get('Agent/b')).toEqual(before);
    expect(w.writes).toEqual([]);
    expect(actionsIn(await w.plan(only))).toEqual([]);
  });

  it('leaves the memory of what it does not write as it was', async () => {
    const w = await prepared();
    await w.apply(desired());
    const before = (await w.state()).resources;
    const memory = new Map(before);
    await w.applySaved(reread(await w.plan(desired('n'))));
    const after = (await w.state()).resources;
    for (const address of ['Agent/b', 'PhoneNumber/n', 'Webhook/h', 'WorkspaceUser/ada']) {
      expect(after.get(address), address).toEqual(memory.get(address));
    }
  });

  it('takes a rename along', async () => {
    const w = await Workspace.open();
    await w.apply([agent('a'), agent('b', { llm_config: { model: 'm' } })]);
    const renamed = [
      resourceNamed('c', 'a', { previousNames: ['a'] }),
      agent('d', { name: 'b', llm_config: { model: 'n' } }, { previousNames: ['b'] }),
    ];
    const saved = reread(await w.plan(renamed));
    expect(actionsIn(saved)).toEqual(['update Agent/d']);
    expect(outcomes(await w.applySaved(saved))).toEqual({ 'Agent/d': 'done' });
    expect([...(await w.state()).resources.keys()].sort()).toEqual(['Agent/c', 'Agent/d']);
    expect(w.emulator.world.agents.size).toBe(2);
    expect(actionsIn(await w.plan(renamed))).toEqual([]);
  });

  it('made without a refresh is applied to what is there by then', async () => {
    const w = await Workspace.open();
    await w.apply([agent('a', { llm_config: { model: 'm' } })]);
    const next = [agent('a', { llm_config: { model: 'n' } })];
    const saved = reread(await w.plan(next, { refresh: false }));
    expect(outcomes(await w.applySaved(saved))).toEqual({ 'Agent/a': 'done' });
    expect(actionsIn(await w.plan(next))).toEqual([]);
  });
});

function resourceNamed(name: string, spoken: string, options: Parameters<typeof agent>[2]) {
  return agent(name, { name: spoken }, options);
}

describe('a saved plan is refused before the first write', () => {
  async function refused(spoil: (w: Workspace, plan: PlanDocument) => Promise<unknown>): Promise<string> {
    const w = await prepared();
    await w.apply(desired());
    const saved = reread(await w.plan(desired('n')));
    const other = await spoil(w, saved);
    const writesBefore = w.writes.length;
    const error = await failureOf(w.applySaved(saved, isOptions(other) ? other : {}));
    expect(error).toBeInstanceOf(UserError);
    expect(error.hint).toBeTruthy();
    expect(w.writes).toHaveLength(writesBefore);
    return error.message;
  }

  const agentId = (w: Workspace) => [...w.emulator.world.agents.keys()][0] ?? '';

  it.each<[string, RegExp, (w: Workspace, plan: PlanDocument) => Promise<unknown>]>([
    [
      'the state moved on',
      /^the plan is stale: it was made from state serial 1, and the state is now at serial 2/,
      (w) => w.apply([...desired(), agent('c')]),
    ],
    [
      'the plan is for another workspace',
      /^the plan is for workspace/,
      async (w) => ({ workspace: { name: 'other', id: 'OTHER', baseUrl: w.emulator.url } }),
    ],
    [
      'the plan is for another address',
      /^the plan is for workspace .* at http/,
      async (w) => ({
        workspace: { name: 'test', id: w.emulator.workspaceId, baseUrl: 'https://x.example' },
      }),
    ],
    [
      'a secret is another one',
      /^KEY changed since the plan was made/,
      async (w) => {
        w.secrets = { KEY: 'sk-next-secret' };
      },
    ],
    [
      'a record looks different, in a field that nobody manages',
      /stale: Agent\/a changed on the platform/,
      async (w) => void w.emulator.dashboard.edit('agents', agentId(w), { llm_config: { max_tokens: 7 } }),
    ],
    [
      'a record is gone',
      /stale: Agent\/a changed on the platform/,
      async (w) => void w.emulator.dashboard.remove('agents', agentId(w)),
    ],
  ])('when %s', async (_, message, spoil) => {
    expect(await refused(spoil)).toMatch(message);
  });

  it('when the state is another one', async () => {
    const w = await prepared();
    const saved = reread(await w.plan(desired()));
    const other = await prepared();
    await other.apply([agent('z')]);
    const foreign = { ...saved, workspace_id: other.emulator.workspaceId, base_url: other.emulator.url };
    const lineage = { ...foreign, state: { ...foreign.state, lineage: 'L2' } };
    expect((await failureOf(other.applySaved(reread(lineage)))).message).toMatch(/another state/);
  });

  it('when a number was registered meanwhile', async () => {
    const w = await prepared();
    const saved = reread(await w.plan(desired()));
    await w.client.numbers.create({ number: '49 301' });
    expect((await failureOf(w.applySaved(saved))).message).toMatch(/PhoneNumber\/n changed on the platform/);
    expect(w.emulator.world.agents.size).toBe(0);
  });
});

describe('the file of a saved plan', () => {
  const plan = async (): Promise<JsonObject> => {
    const w = await prepared();
    return JSON.parse(JSON.stringify(sealed(await w.plan(desired())))) as JsonObject;
  };
  const read = (text: string) => () => parseSavedPlan(text, { file: 'p.json', version: VERSION });

  it('is read back as it was, wherever its lines break', async () => {
    const document = await plan();
    expect(read(JSON.stringify(document, undefined, 2))()).toEqual(document);
  });

  it('is refused for what is wrong with it, each with a message of its own', async () => {
    const document = await plan();
    const { digest: _, ...rest } = document;
    const edited = structuredClone(document) as { resources: { changes: { after?: unknown }[] }[] };
    for (const { changes } of edited.resources) for (const change of changes) change.after = 'x';
    const cases: [string, string, RegExp][] = [
      ['an empty file', '', /it is not JSON/],
      ['half a file', JSON.stringify(document).slice(0, 300), /it is not JSON/],
      ['another JSON', '[]', /is not a saved plan$/],
      ['a null', 'null', /is not a saved plan$/],
      ['a state', JSON.stringify({ format_version: 1, resources: {} }), /is not a saved plan$/],
      [
        'a newer format',
        JSON.stringify(sealed({ ...document, format_version: 2 } as never)),
        /has plan format 2; this version of voxform reads format 1/,
      ],
      [
        'a newer version',
        JSON.stringify(sealed({ ...document, voxform_version: '1.10.0' } as never)),
        /was made by voxform 1\.10\.0; this is voxform 1\.2\.3/,
      ],
      ['an edited value', JSON.stringify(edited), /was edited or damaged/],
      ['no digest', JSON.stringify(rest), /was edited or damaged/],
      [
        'a sealed plan of another shape',
        JSON.stringify(sealed({ ...document, resources: [{ address: 'x' }] } as never)),
        /is not a saved plan$/,
      ],
    ];
    for (const [reason, text, message] of cases) expect(read(text), reason).toThrow(message);
    const older = sealed({ ...document, voxform_version: '1.1.99' } as never);
    expect(read(JSON.stringify(older))).not.toThrow();
  });
});

function isOptions(value: unknown): value is { workspace: { name: string; id: string; baseUrl: string } } {
  return typeof value === 'object' && value !== null && 'workspace' in value;
}
