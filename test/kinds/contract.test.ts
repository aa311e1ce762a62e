import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { kinds } from '../../src/kinds/index.ts';
import type { Resource } from '../../src/manifests/resource.ts';
import { actionsIn, at, Bench } from '../engine/bench.ts';
import { lineOf, manifest, TemporaryProject } from '../project/temporary-project.ts';

interface Sample {
  /** A spec with every field of the kind. Free strings are secrets. */
  readonly spec: string;
  /** The same spec with a change that no endpoint supports, if there is one. */
  readonly fixed?: string;
  /** The same spec with a change that an update can apply. */
  readonly edited?: string;
  /** Prepares the dashboard for the API. */
  prepare?(w: Bench): void;
  /** Performs the remaining steps in the dashboard. */
  finish?(w: Bench): void;
  /** The secret strings of the sample. */
  readonly secrets: readonly string[];
}

const env = { HIDDEN: 'sk-hidden-text', PART: 'hidden-part' };

const agentSpec = (prompt: string) => `
name: Support
call_config: { max_call_duration_ms: 60000, ring_duration_ms: 1000 }
knowledge_base_config: { chunks_to_retrieve: 3, similarity_threshold: 0.5 }
llm_config:
  provider: internal
  model: gpt-4o
  temperature: 0.2
  deployment: d
  endpoint: https://llm.example.com
  api_version: v1
  base_url: https://llm.example.com/base
  api_key: { $secret: HIDDEN }
  region: eu
  max_tokens: 100
  knowledge_base_ids: [{ $ref: KnowledgeBase/FAQ }, { $ref: KnowledgeBase/Prices }]
  tools: [{ name: t, schema: { $literal: { $ref: '#/x' } }, header: { $join: [Bearer, { $secret: PART }] } }]
prompt_config:
  prompt: ${prompt}
  first_speaker: ai
  ai_speak_after_silence: true
  ai_speak_wait_time: 1.5
  welcome_message_type: dynamic
  welcome_message: null
stt_config: { provider: p, model: m }
tts_config: { voice_id: v, speed: fast, emotion: null, backchannel_words: [yes, no], speed_alpha: 1 }
`;

const samples: Record<string, Sample> = {
  Agent: {
    spec: agentSpec('Be kind.'),
    edited: agentSpec('Be brief.'),
    prepare: ({ emulator: { dashboard } }) => {
      for (const name of ['FAQ', 'Prices']) dashboard.addKnowledgeBase({ name });
    },
    secrets: Object.values(env),
  },
  PhoneNumber: {
    spec: `number: '+49 30-123'\nnickname: { $secret: HIDDEN }\ninbound_agent_id: null\noutbound_agent_id: null`,
    fixed: `number: '+49 30-124'\nnickname: { $secret: HIDDEN }\ninbound_agent_id: null\noutbound_agent_id: null`,
    secrets: [env.HIDDEN],
  },
  Webhook: {
    spec: `
url: { $join: ['https://example.com/', { $secret: PART }], separator: '' }
payload: { data: { key: { $secret: HIDDEN } }, event: call, timestamp: now }
check_https: true
logging_enabled: false
retries: 3
timeout: 30`,
    fixed: `
url: { $join: ['https://example.com/', { $secret: PART }], separator: '' }
payload: { data: { key: { $secret: HIDDEN } }, event: call, timestamp: now }
check_https: true
logging_enabled: false
retries: 4
timeout: 30`,
    secrets: Object.values(env),
  },
  WorkspaceUser: {
    spec: `email: ada@example.com\nrole: developer\nmodules: [analytics, agents]\nagent_ids: []`,
    fixed: `email: grace@example.com\nrole: developer\nmodules: [analytics, agents]\nagent_ids: []`,
    edited: `email: ada@example.com\nrole: member\nmodules: [analytics, agents]\nagent_ids: []`,
    prepare: ({ emulator: { dashboard } }) => {
      dashboard.inviteUser({ email: 'Ada@Example.com', role: 'admin' });
    },
    secrets: [],
  },
};

async function load(kind: string, spec: string): Promise<readonly Resource[]> {
  using project = new TemporaryProject({ 'manifests/x.yaml': manifest(kind, 'x', spec) });
  const { resources, diagnostics } = await project.load({ env, mode: 'live' });
  expect(diagnostics.map(lineOf)).toEqual([]);
  return resources;
}

async function applied(kind: string): Promise<{ w: Bench; desired: readonly Resource[]; sample: Sample }> {
  const sample = samples[kind];
  if (sample === undefined) throw new Error(`add a sample of ${kind}`);
  const w = await Bench.open({
    shows: { read: ['llm_config', 'prompt_config'], update: ['tts_config'] },
    numericNumbers: true,
    normalise: { reorderSets: true },
  });
  w.secrets = env;
  sample.prepare?.(w);
  const desired = await load(kind, sample.spec);
  const report = await w.apply(desired);
  expect([...report.results.values()]).toEqual([{ status: 'done', id: expect.any(String) }]);
  return { w, desired, sample };
}

it('the contract has a sample of every kind', () => {
  expect(Object.keys(samples)).toEqual([...kinds.keys()]);
});

describe.each([...kinds.values()])('kind $name', (kind) => {
  it('has no changes after an apply, and sends nothing again', { tags: ['long'] }, async () => {
    const { w, desired } = await applied(kind.name);
    w.requests();
    expect(actionsIn(await w.plan(desired))).toEqual([]);
    expect(actionsIn(await w.drift(desired))).toEqual([]);
    await w.apply(desired);
    expect(w.writes).toEqual([]);
  });

  it('is imported without a write if it matches the manifest', async () => {
    const { w, desired } = await applied(kind.name);
    const id = at(await w.plan(desired), `${kind.name}/x`).id ?? '';
    const named = desired.map((resource) => ({ ...resource, id }));
    await w.record({ type: 'forgotten', address: `${kind.name}/x` });
    w.requests();
    const plan = await w.plan(named);
    expect(at(plan, `${kind.name}/x`)).toMatchObject({ adopted: true, id });
    await w.apply(named);
    expect(w.writes.filter((write) => write.startsWith('POST'))).toEqual([]);
    expect(actionsIn(await w.plan(named))).toEqual([]);
  });

  it('updates the fields that an update can change', async () => {
    const { w, sample } = await applied(kind.name);
    expect(sample.edited === undefined, 'a kind with an update has a field that it changes').toBe(
      kind.update === undefined,
    );
    if (sample.edited === undefined) return;
    const desired = await load(kind.name, sample.edited);
    expect(actionsIn(await w.plan(desired))).toEqual([`update ${kind.name}/x`]);
    const report = await w.apply(desired);
    expect([...report.results.values()]).toEqual([{ status: 'done', id: expect.any(String) }]);
    expect(actionsIn(await w.plan(desired))).toEqual([]);
  });

  it('is unchanged by a change that no endpoint supports', async () => {
    const { w, sample } = await applied(kind.name);
    const hasFixed = Object.values(kind.fields).some((rule) => rule.immutable);
    expect(sample.fixed !== undefined).toBe(hasFixed);
    if (sample.fixed === undefined) return;
    w.requests();
    const desired = await load(kind.name, sample.fixed);
    // If the API cannot create it, the test creates the other record.
    const action = kind.create === undefined ? 'manual' : 'blocked';
    expect(actionsIn(await w.plan(desired))).toEqual([`${action} ${kind.name}/x`]);
    await w.apply(desired);
    expect(w.writes).toEqual([]);
  });

  it('reveals no secret in plan, report, drift or state', async () => {
    const { w, desired, sample } = await applied(kind.name);
    const texts = [
      await w.plan(desired),
      await w.drift(desired),
      await w.apply(desired),
      await w.store.read(),
      await w.plan(await load(kind.name, sample.fixed ?? sample.edited ?? sample.spec)),
      await w.plan([]),
    ].map((each) => JSON.stringify(each));
    for (const secret of sample.secrets) expect(texts.filter((text) => text.includes(secret))).toEqual([]);
    const sent = JSON.stringify(w.emulator.world.toData());
    for (const secret of sample.secrets) {
      if (secret !== env.HIDDEN || kind.name !== 'Agent') expect(sent, 'the secret was sent').toContain(secret);
    }
  });

  it('reports an unknown key with its position, and suggests the intended one', async () => {
    const [field = ''] = Object.keys(kind.spec.shape);
    const misspelt = `${field}x`;
    using project = new TemporaryProject({ 'manifests/x.yaml': manifest(kind.name, 'x', `${misspelt}: 1`) });
    const { diagnostics } = await project.load({ env, mode: 'live' });
    const unknown = diagnostics.find(({ path }) => path === `spec.${misspelt}`);
    expect(unknown).toMatchObject({ severity: 'error', file: 'manifests/x.yaml', line: 6, column: 3 });
    expect(unknown?.message).toContain(`did you mean "${field}"?`);
  });

  it('describes every field', () => {
    const { properties = {} } = z.toJSONSchema(kind.spec, { unrepresentable: 'any' });
    const undescribed = Object.entries(properties).filter(
      ([, schema]) => typeof schema === 'boolean' || !schema.description,
    );
    expect(undescribed.map(([field]) => field)).toEqual([]);
    expect(kind.description).toMatch(/\.$/);
  });

  it('refers to other records by fields with their ids, and can be listed if it does', () => {
    const ways = Object.keys(kind.routes?.ways ?? {});
    expect(ways.filter((path) => !kinds.has(kind.fields[path]?.refersTo ?? ''))).toEqual([]);
    expect(ways.length === 0 || kind.list !== undefined).toBe(true);
  });

  it('either lists its records by a key or reads them one by one', () => {
    expect([kind.list === undefined, kind.naturalKeyOf === undefined]).toEqual([
      kind.get !== undefined,
      kind.naturalKey === undefined,
    ]);
    expect(kind.create !== undefined || kind.manualCreateStep !== undefined).toBe(true);
  });
});
