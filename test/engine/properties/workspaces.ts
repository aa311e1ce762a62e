import fc from 'fast-check';
import { type BehaviourPatch, returnedConfigs } from '../../../src/emulator/behaviour.ts';
import { userModules, userRoles } from '../../../src/platform/records/user-records.ts';
import type { State } from '../../../src/state/state.ts';
import { isObject, type Json, type JsonObject } from '../../../src/values/json.ts';
import { Bench, type Manifest, manifest } from '../bench.ts';
import { unlike } from './platform-truth.ts';

/** A generated workspace, and the previous actions of people in its dashboard. */
export interface Workspace {
  readonly manifests: readonly Manifest[];
  readonly knowledgeBases: readonly string[];
  readonly invited: readonly Invited[];
}

interface Invited {
  readonly email: string;
  readonly role?: (typeof userRoles)[number];
  readonly modules: readonly string[];
}

/** All combinations of behaviour that the API document does not specify. */
export const behaviours: fc.Arbitrary<BehaviourPatch> = fc.record({
  shows: fc.record({ read: fc.subarray([...returnedConfigs]), update: fc.subarray([...returnedConfigs]) }),
  put: fc.constantFrom('merge', 'replace'),
  updatedAfterPublishing: fc.constantFrom(0, 1, 90),
  showsSecrets: fc.boolean(),
  unsetFields: fc.constantFrom('leftOut', 'null'),
  nulls: fc.constantFrom('shown', 'leftOut'),
  numbersAsText: fc.boolean(),
  flagsAsNumbers: fc.boolean(),
  numericNumbers: fc.boolean(),
  versionNumbers: fc.constantFrom('number', 'text'),
  noLatestVersion: fc.constantFrom('notFound', 'null'),
  normalise: fc.record({ trim: fc.boolean(), reorderSets: fc.boolean(), defaults: fc.boolean() }),
  uniqueNumbers: fc.boolean(),
  compresses: fc.constantFrom(null, null, null, null, null, null, 'gzip', 'deflate', 'br', 'zstd'),
  users: fc.constantFrom('paged', 'whole', 'unmarked', 'ignoresCursor', 'refusesQuery'),
  meta: fc.constantFrom('documented', 'odd'),
  cursors: fc.constantFrom('key', 'position'),
  pages: fc.constantFrom({}, { most: 1 }, { most: 2, overlap: 1 }, { most: 1, overlap: 2 }),
  seesOtherWorkspace: fc.boolean(),
  listsNameless: fc.boolean(),
  agentTimes: fc.constantFrom('shown', 'hidden'),
});

/** Behaviour of the list of calls. */
export const callBehaviours: fc.Arbitrary<BehaviourPatch> = fc
  .record({
    // If the cursor is ignored, only one page can be read.
    callFilters: fc.constantFrom('body', 'query'),
    callFigures: fc.constantFrom('number', 'text'),
    cursors: fc.constantFrom('key', 'position'),
    callDates: fc.record({
      from: fc.constantFrom('moment', 'offsetIgnored'),
      to: fc.constantFrom('endOfDay', 'midnight'),
    }),
    meta: fc.constantFrom('documented', 'odd'),
    pages: fc.constantFrom({}, { most: 7 }, { most: 3, overlap: 2 }),
    seesOtherWorkspace: fc.boolean(),
  })
  .chain((rest) =>
    fc
      .constantFrom(null, 400, 403, 411, 501)
      .map((refusesGetBody) => (rest.callFilters === 'body' ? rest : { ...rest, refusesGetBody })),
  );

const words = fc.constantFrom('a', 'Hello', ' blank before', 'blank after ', 'line\nline\n', 'é', '(secret)');
const texts = fc.oneof(words, fc.constant(''));
const whole = fc.integer({ min: 0, max: 9 });
const decimals = fc.constantFrom(0, 0.1, 0.5, 1, 1.5);
const urls = fc.constantFrom('https://a.example.com', 'https://b.example.com/x?y=1');

const tools: fc.Arbitrary<Json> = fc.array(
  fc.oneof(
    fc.record({ name: words, parameters: fc.record({ $type: words, deep: fc.array(whole) }) }),
    words.map((word) => [word]),
  ),
  { maxLength: 2 },
) as fc.Arbitrary<Json>;

const some = <T>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<JsonObject> =>
  fc.record(model, { requiredKeys: [] }) as fc.Arbitrary<JsonObject>;

export const KNOWLEDGE_BASES = ['FAQ', 'Prices', 'missing one'] as const;

const knowledgeBaseRefs = fc
  .subarray([...KNOWLEDGE_BASES])
  .map((names) => names.map((name) => ({ $ref: `KnowledgeBase/${name}` })));

export const agentSpecs: fc.Arbitrary<JsonObject> = some({
  name: words,
  call_config: some({ max_call_duration_ms: whole, ring_duration_ms: whole }),
  knowledge_base_config: some({ chunks_to_retrieve: whole, similarity_threshold: decimals }),
  llm_config: some({
    model: texts,
    temperature: decimals,
    base_url: urls,
    api_key: fc.constant({ $secret: 'PROVIDER_KEY' }),
    knowledge_base_ids: knowledgeBaseRefs,
    tools,
  }),
  prompt_config: some({
    prompt: texts,
    first_speaker: words,
    ai_speak_after_silence: fc.boolean(),
    welcome_message: fc.option(texts, { nil: null }),
  }),
  stt_config: some({ provider: words, model: words }),
  tts_config: some({
    voice_id: words,
    emotion: fc.option(words, { nil: null }),
    speed_alpha: fc.option(decimals, { nil: null }),
    backchannel_words: fc.array(texts, { maxLength: 3 }),
  }),
});

const NAMES = ['a', 'b', 'c'] as const;
const agentRefs = fc.subarray([...NAMES]).map((names) => names.map((name) => ({ $ref: `Agent/${name}` })));
const link = fc.option(
  fc.constantFrom(...NAMES).map((name) => ({ $ref: `Agent/${name}` })),
  { nil: null },
);

const webhookSpecs = some({
  payload: fc.option(fc.record({ event: words, data: fc.record({ $key: texts }) }), { nil: null }),
  check_https: fc.boolean(),
  retries: whole,
  timeout: fc.integer({ min: 1, max: 9 }),
}).chain((rest) => urls.map((url): JsonObject => ({ url, ...rest })));

const numberSpecs = some({ nickname: words, inbound_agent_id: link, outbound_agent_id: link });

const userSpecs = some({
  role: fc.constantFrom(...userRoles),
  modules: fc.shuffledSubarray([...userModules]),
  agent_ids: agentRefs,
});

const numberTexts = (index: number) => fc.constantFrom(`+4930${index}5550`, `0049(30)${index}1`, `030 ${index}-777`);

const byName = <T>(specs: fc.Arbitrary<T>) =>
  fc.record(Object.fromEntries(NAMES.map((name) => [name, specs])), { requiredKeys: [] }) as fc.Arbitrary<
    Record<string, T>
  >;

/** Edits a spec: adds fields of another spec, and removes some fields. */
function edited(before: JsonObject, { laid, out }: { laid: JsonObject; out: readonly string[] }): JsonObject {
  const after: Record<string, Json> = { ...before };
  for (const [root, value] of Object.entries(laid)) {
    const old = after[root];
    after[root] = isObject(old) && isObject(value) ? { ...(old as JsonObject), ...(value as JsonObject) } : value;
  }
  for (const path of out) {
    const [root = '', field = ''] = path.split('.');
    const object = after[root];
    if (field === '') delete after[root];
    else if (isObject(object)) {
      const { [field]: _, ...rest } = object as JsonObject;
      after[root] = rest;
    }
  }
  return after;
}

const users = fc.array(
  fc.record({
    spec: userSpecs,
    invited: fc.constantFrom('no', 'without a role', ...userRoles),
    // Requests must not contain the second module.
    modules: fc.subarray(['analytics', 'billing']),
  }),
  { maxLength: 2 },
);

export const workspaces: fc.Arbitrary<Workspace> = fc
  .record({
    agents: byName(agentSpecs),
    numbers: fc.array(numberSpecs, { maxLength: 2 }),
    numberTexts: fc.tuple(numberTexts(1), numberTexts(2)),
    webhooks: fc.array(webhookSpecs, { maxLength: 2 }),
    users,
    hasKnowledgeBases: fc.boolean(),
    // Rare, because a fingerprint is slow by design.
    hasKeys: fc.nat({ max: 7 }).map((number) => number === 7),
  })
  .map((parts) => {
    const has = (address: string) => Object.hasOwn(parts.agents, address.slice('Agent/'.length));
    const emailOf = (index: number) => `User${index}@example.com`;
    return {
      manifests: [
        ...Object.entries(parts.agents).map(([name, spec]) =>
          manifest(`Agent/${name}`, parts.hasKeys ? spec : withoutKey(spec)),
        ),
        ...parts.numbers.map((spec, index) =>
          manifest(`PhoneNumber/n${index}`, { number: parts.numberTexts[index] ?? '', ...withoutDangling(spec, has) }),
        ),
        ...parts.webhooks.map((spec, index) => manifest(`Webhook/w${index}`, spec)),
        ...parts.users.map(({ spec }, index) =>
          manifest(`WorkspaceUser/u${index}`, { email: emailOf(index), ...withoutDangling(spec, has) }),
        ),
      ],
      knowledgeBases: parts.hasKnowledgeBases ? KNOWLEDGE_BASES.slice(0, 2) : [],
      invited: parts.users.flatMap(({ invited, modules }, index) => {
        if (invited === 'no') return [];
        const email = emailOf(index).toLowerCase();
        return [{ email, modules, ...(invited !== 'without a role' && { role: invited }) }];
      }),
    };
  });

function isIdentity(field: string): boolean {
  return field === 'number' || field === 'email' || field === 'url';
}

/** The manifests of a workspace after edits: changed, added and removed fields, and added agents. */
export const editedWorkspaces: fc.Arbitrary<{ before: Workspace; after: readonly Manifest[] }> = fc
  .record({
    before: workspaces,
    other: workspaces,
    out: fc.subarray([
      'name',
      'llm_config',
      'prompt_config.prompt',
      'tts_config.voice_id',
      'llm_config.model',
      'modules',
      'retries',
      'nickname',
    ]),
    edits: fc.subarray([
      'Agent/a',
      'Agent/b',
      'Agent/c',
      'PhoneNumber/n0',
      'Webhook/w0',
      'Webhook/w1',
      'WorkspaceUser/u0',
      'WorkspaceUser/u1',
    ]),
  })
  .map(({ before, other, out, edits }) => {
    const laid = new Map(other.manifests.map((each) => [each.address, each.spec]));
    const known = new Set(before.manifests.map(({ address }) => address));
    const changed = before.manifests.map((each) => {
      if (!edits.includes(each.address)) return each;
      const over = Object.fromEntries(
        Object.entries(laid.get(each.address) ?? {}).filter(([field]) => field === 'url' || !isIdentity(field)),
      );
      return { ...each, spec: edited(each.spec, { laid: over, out }) };
    });
    const added = other.manifests.filter(
      ({ address }) => address.startsWith('Agent/') && !known.has(address) && edits.includes(address),
    );
    const all = [...changed, ...added];
    const has = (address: string) => all.some((each) => each.address === address);
    return {
      before,
      after: all.map((each) => ({
        ...each,
        spec: withoutDangling(each.spec, has),
        metadata: { mayReplace: /^(Webhook|PhoneNumber)/.test(each.address) },
      })),
    };
  });

export function withoutKey({ llm_config, ...rest }: JsonObject): JsonObject {
  if (llm_config === undefined) return rest;
  const { api_key: _, ...others } = llm_config as JsonObject;
  return { ...rest, llm_config: others };
}

/** Returns the spec without references to undeclared agents, which no manifest may contain. */
function withoutDangling(spec: JsonObject, has: (address: string) => boolean): JsonObject {
  const dangles = (value: Json): boolean => isObject(value) && '$ref' in value && !has(String(value.$ref));
  return Object.fromEntries(
    Object.entries(spec)
      .filter(([, value]) => !dangles(value))
      .map(([key, value]) => [key, Array.isArray(value) ? value.filter((item: Json) => !dangles(item)) : value]),
  );
}

/** Starts a bench with the secrets of a workspace, and with the previous actions of people in its dashboard. */
export async function started(workspace: Workspace, ...options: Parameters<typeof Bench.start>): Promise<Bench> {
  const bench = await Bench.start(...options);
  bench.secrets = SECRETS;
  prepare(bench, workspace);
  return bench;
}

/** Performs the previous actions in the dashboard. */
function prepare({ emulator }: Bench, { knowledgeBases, invited }: Workspace): void {
  for (const name of knowledgeBases) emulator.dashboard.addKnowledgeBase({ name });
  for (const { modules, ...invitation } of invited) {
    const { id } = emulator.dashboard.inviteUser(invitation);
    emulator.dashboard.edit('users', id, { modules });
  }
}

/** Returns true if a manifest refers to a knowledge base that does not exist. */
function waitsForKnowledgeBase({ spec }: Manifest, { knowledgeBases }: Workspace): boolean {
  const ids = (spec.llm_config as JsonObject | undefined)?.knowledge_base_ids ?? [];
  return (ids as readonly { readonly $ref: string }[]).some(
    ({ $ref }) => !knowledgeBases.includes($ref.slice('KnowledgeBase/'.length)),
  );
}

/**
 * Returns the expected action of a resource after everything was applied: none, or a step for a person, because the
 * platform differs and no request could change that.
 */
export function restOf(
  each: Manifest,
  { bench, workspace, state }: { bench: Bench; workspace: Workspace; state: State },
): 'noop' | 'manual' | 'blocked' {
  const { address, spec } = each;
  const different = unlike(each, bench, state);
  if (address.startsWith('WorkspaceUser/') && different !== undefined && different.length > 0) {
    const refs = (spec.agent_ids ?? []) as readonly { readonly $ref: string }[];
    const isThere = ($ref: string) => bench.emulator.world.agents.has(state.resources.get($ref)?.id ?? '');
    return refs.every(({ $ref }) => isThere($ref)) ? 'blocked' : 'manual';
  }
  if (different?.length === 0) return 'noop';
  if (address.startsWith('Webhook/')) return 'noop';
  if (address.startsWith('Agent/')) return waitsForKnowledgeBase(each, workspace) ? 'manual' : 'noop';
  return 'manual';
}

const SECRETS = { PROVIDER_KEY: 'sk-provider-0001' };
