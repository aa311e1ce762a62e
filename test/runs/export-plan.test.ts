/** @module-tag long */

import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { planFor } from '../../src/engine/engine.ts';
import { kinds, lookups } from '../../src/kinds/index.ts';
import { userModules, userRoles } from '../../src/platform/records/user-records.ts';
import { loadDesired } from '../../src/project/load-desired.ts';
import { loadProject } from '../../src/project/load-project.ts';
import { selectWorkspace } from '../../src/project/select-workspace.ts';
import { manifestFiles, projectFile } from '../../src/runs/export/project-files.ts';
import { writeFolder } from '../../src/runs/export/write-folder.ts';
import type { Json, JsonObject } from '../../src/values/json.ts';
import { behaviours } from '../engine/properties/workspaces.ts';
import { draftsOf } from './drafts-of.ts';
import { known, type UnmanagedWorkspace, unmanagedWorkspace } from './unmanaged-workspace.ts';

const env = { KEY: 'the-api-key' };

/** Plans the exported project without a state, as a first run does. */
async function planOf(folder: string, { client, emulator }: UnmanagedWorkspace) {
  const project = await loadProject({ cwd: folder, env });
  const workspace = selectWorkspace(project, { name: undefined, env });
  const { resources, diagnostics } = await loadDesired({ project, workspace, kinds, lookups, env, mode: 'live' });
  expect(diagnostics).toEqual([]);
  const { plan } = await planFor({
    desired: resources,
    state: {
      lineage: 'L',
      serial: 0,
      salt: 'S',
      workspaceId: emulator.workspaceId,
      resources: new Map(),
      pending: new Map(),
      orphans: [],
    },
    selection: { targets: [], labels: {} },
    client,
    workspace: { name: 'test', id: emulator.workspaceId, baseUrl: emulator.url },
    guards: { maxChangedPercent: 50, minResources: 10 },
    concurrency: 4,
    refresh: true,
    allowRecreate: [],
    evenIfAll: false,
    allowReplace: [],
    version: '1.0.0',
    now: () => new Date('2030-01-01T00:00:00Z'),
  });
  return plan.document;
}

const texts = fc.oneof(
  { weight: 3, arbitrary: fc.string({ unit: 'binary', maxLength: 12 }) },
  {
    weight: 2,
    arbitrary: fc.array(fc.string({ maxLength: 5 }), { minLength: 2, maxLength: 7 }).map((lines) => lines.join('\n')),
  },
  fc.constantFrom(
    '',
    ' ',
    '<<',
    '~',
    '012',
    'a\n',
    '\n\n\n\n\n',
    '\uFEFFa\nb\nc\nd\ne',
    'a\r\nb\r\nc\r\nd\r\n',
    '# x\n- y\n---\nz: 1\n...',
    '$ref',
    '\u2028',
    '\u0085',
  ),
);
const jsons = fc
  .jsonValue({ maxDepth: 3, stringUnit: 'binary' })
  .chain((value) =>
    fc.constantFrom(value, { $ref: value }, [{ $file: 'x', y: value }], { '<<': value }, { a: { $b: [value] } }),
  ) as fc.Arbitrary<Json>;
const decimals = fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.constantFrom(0, -0, 1e21, 0.1));

const some = (model: Record<string, fc.Arbitrary<unknown>>) =>
  fc.record(model, { requiredKeys: [] }) as fc.Arbitrary<JsonObject>;

const agents = fc.record({
  publish: fc.constantFrom('no', 'yes', 'before an edit'),
  mentioned: fc.constantFrom('by a number', 'by a user', 'by a call', 'by nobody'),
  knowledgeBases: fc.subarray([0, 1, 2, 3]),
  body: some({
    name: fc.oneof(fc.constantFrom('Support line', 'support-line', 'Ärger', '24h'), texts),
    call_config: some({ max_call_duration_ms: fc.nat(9) }),
    knowledge_base_config: some({ chunks_to_retrieve: fc.nat(9) }),
    llm_config: some({
      model: texts,
      temperature: decimals,
      api_key: fc.constant('sk-provider-000001'),
      tools: fc.array(jsons, { maxLength: 3 }),
    }),
    prompt_config: some({ prompt: texts, welcome_message: fc.option(texts) }),
    stt_config: some({ model: texts }),
    tts_config: some({
      voice_id: texts,
      emotion: fc.option(texts),
      backchannel_words: fc.array(texts, { maxLength: 3 }),
    }),
  }),
});

const workspaces = fc.record({
  behaviour: behaviours,
  layout: fc.constantFrom('resource' as const, 'kind' as const),
  agents: fc.array(agents, { maxLength: 4 }),
  webhooks: fc.array(
    some({
      payload: fc.option(
        some({ data: fc.dictionary(fc.string({ maxLength: 3 }), jsons, { maxKeys: 3 }), event: texts, more: jsons }),
      ),
      check_https: fc.boolean(),
      retries: fc.nat(10),
    }),
    { maxLength: 2 },
  ),
  users: fc.array(
    fc.record({
      role: fc.option(fc.constantFrom(...userRoles)),
      modules: fc.shuffledSubarray([...userModules]),
      odd: fc.boolean(),
    }),
    { maxLength: 3 },
  ),
});

/** Creates the workspace, and returns the ids that a person must name. */
async function made(
  workspace: UnmanagedWorkspace,
  parts: typeof workspaces extends fc.Arbitrary<infer T> ? T : never,
): Promise<string[]> {
  const { dashboard, world } = workspace.emulator;
  const bases = ['FAQ', 'Prices', 'Twins', 'Twins'].map((name) => dashboard.addKnowledgeBase({ name }).id);
  const unmentioned: string[] = [];
  const ofUsers: string[] = [];
  for (const [index, { body, publish, mentioned, knowledgeBases }] of parts.agents.entries()) {
    const llm_config = {
      ...(body.llm_config as JsonObject),
      knowledge_base_ids: [...knowledgeBases.map((each) => bases[each] ?? ''), 'nowhere'],
    };
    const id = await workspace.agent({ ...body, llm_config }, { publish: publish !== 'no' });
    if (publish === 'before an edit')
      await workspace.client.agents.update(id, { tts_config: { voice_id: 'later' }, name: 'Edited' });
    if (mentioned === 'by a number')
      await workspace.number(`+4930${index}5550`, {
        inbound_agent_id: id,
        nickname: index === 0 ? '' : ` line ${index} `,
      });
    else if (mentioned === 'by a user') ofUsers.push(id);
    else if (mentioned === 'by a call') dashboard.recordCall({ agent_id: id });
    else unmentioned.push(id);
  }
  for (const [index, { role, modules, odd }] of parts.users.entries()) {
    const { id } = dashboard.inviteUser({ email: `User.${index}@example.com` });
    dashboard.edit('users', id, { role, modules, agent_ids: odd ? ['gone', ...ofUsers] : ofUsers });
  }
  if (ofUsers.length > 0 && parts.users.length === 0) unmentioned.push(...ofUsers);
  for (const body of parts.webhooks)
    unmentioned.push(await workspace.webhook({ url: 'https://example.com/hook', ...body }));
  expect(world.agents.size).toBe(parts.agents.length);
  return unmentioned;
}

describe('exported project', () => {
  it('is valid, and its first plan adopts everything and changes nothing, for any platform', async () => {
    await fc.assert(
      fc.asyncProperty(workspaces, async (parts) => {
        await using workspace = await unmanagedWorkspace(parts.behaviour);
        const named = await made(workspace, parts);
        const { world } = workspace.emulator;
        const isWebhook = (id: string) => world.webhooks.has(id);
        const discovery = await workspace.discover([
          ...known('Agent', ...named.filter((id) => !isWebhook(id))),
          ...known('Webhook', ...named.filter(isWebhook)),
        ]);
        const { manifests, leftOut, complete } = draftsOf(discovery);
        // Records that lists return without a name are not in the world.
        const held = [world.agents, world.numbers, world.webhooks, world.users];
        expect(leftOut.filter(({ id }) => held.some((records) => records.has(id)))).toEqual([]);
        const folder = path.join(workspace.folder, 'out');
        const { url, workspaceId } = workspace.emulator;
        const settings = { name: 'test', baseUrl: url, workspaceId, apiKeySecret: 'KEY' };
        const files = [...manifestFiles(complete(), parts.layout), projectFile(settings, 'voxform.yaml')];
        // The order of the records is not significant.
        const { records, lookups: shelves } = discovery;
        const backwards = new Map([...records].map(([kind, found]) => [kind, found.toReversed()]));
        const again = draftsOf({ records: backwards, lookups: shelves });
        expect([...manifestFiles(again.complete(), parts.layout), projectFile(settings, 'voxform.yaml')]).toEqual(
          files,
        );
        await writeFolder(folder, files, { moveLast: 'voxform.yaml' });
        if (manifests.length === 0) return;
        const { summary, resources } = await planOf(folder, workspace);
        const changes = resources.filter(({ action }) => action !== 'adopt');
        expect(
          changes.map(({ address, action, reason, changes: fields }) => ({ address, action, reason, fields })),
        ).toEqual([]);
        expect(summary.adopt).toBe(world.agents.size + world.numbers.size + world.webhooks.size + world.users.size);
      }),
      { numRuns: 30 },
    );
  });
});
