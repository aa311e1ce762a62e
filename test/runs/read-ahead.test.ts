import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { RequestHook } from '../../src/emulator/request-pipeline.ts';
import { type Emulator, startEmulator } from '../../src/emulator/start-emulator.ts';
import { apply, drift, InvalidManifests, loadProject, type Project, plan } from '../../src/library.ts';
import { type Prefetch, readAheadIfCurrent } from '../../src/runs/planning.ts';
import { emptyDocument, fold } from '../../src/state/fold.ts';
import { type Folder, temporaryFolder } from '../cli/voxform-process.ts';
import { agentManifest, projectFile, webhookManifest } from '../cli/workspace.ts';

const KEY = 'key-that-nobody-may-see';
/** Too short to be redacted anywhere but in text of the platform. */
const SECRET = 'kQ7x';

const NUMBER = `apiVersion: voxform/v1
kind: PhoneNumber
metadata: { name: front-desk }
spec: { number: "+12025550120" }
`;
const USER = `apiVersion: voxform/v1
kind: WorkspaceUser
metadata: { name: ann }
spec: { email: ann@example.com, role: member }
`;
const AGENTS = ['a', 'b', 'c', 'd', 'e'];
const AGENT_FILES = Object.fromEntries(
  AGENTS.map((name) => [
    `manifests/${name}.yaml`,
    `${agentManifest(name)}  llm_config: { api_key: { $secret: LLM_KEY }, knowledge_base_ids: [{ $ref: KnowledgeBase/FAQ }] }\n`,
  ]),
);
const FILES = {
  ...AGENT_FILES,
  'manifests/hooks.yaml': `${webhookManifest('one', 'https://example.com/1')}---\n${webhookManifest('two', 'https://example.com/2')}`,
  'manifests/number.yaml': NUMBER,
  'manifests/user.yaml': USER,
};

interface Setting extends AsyncDisposable {
  readonly emulator: Emulator;
  readonly folder: Folder;
  readonly project: Project;
  /** The response hook of the platform. */
  hook: RequestHook;
  /** Returns the requests since the last call: method and path, sorted. */
  asked(): readonly string[];
}

/** Creates an applied workspace, with two pages of users on the platform. */
async function applied(): Promise<Setting> {
  const box: { hook: RequestHook } = { hook: () => undefined };
  const emulator = await startEmulator({ seed: 1, apiKey: KEY, onRequest: (request) => box.hook(request) });
  emulator.dashboard.addKnowledgeBase({ name: 'FAQ' });
  emulator.dashboard.inviteUser({ email: 'ann@example.com', role: 'member' });
  for (let index = 0; index < 100; index++)
    emulator.dashboard.inviteUser({ email: `user-${index}@example.com`, role: 'member' });
  const folder = await temporaryFolder({ 'voxform.yaml': projectFile(emulator), ...FILES });
  const project = await loadProject({ cwd: folder.root, env: { VOXFORM_API_KEY: KEY, LLM_KEY: SECRET } });
  await apply(await plan(project));
  emulator.clearRequests();
  return {
    emulator,
    folder,
    project,
    get hook() {
      return box.hook;
    },
    set hook(hook) {
      box.hook = hook;
    },
    asked() {
      const seen = emulator.requests.map(({ method, path }) => `${method} ${path}`).sort();
      emulator.clearRequests();
      return seen;
    },
    async [Symbol.asyncDispose]() {
      await emulator.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** Returns the error of a plan as the user sees it. */
async function failing(promise: Promise<unknown>): Promise<Error> {
  return promise.then(
    () => expect.unreachable('it should have failed'),
    (error: unknown) => error as Error,
  );
}

describe('plan that reads records before it reads the manifests', () => {
  it('requests each record and each page once, and nothing else', async () => {
    await using given = await applied();
    const { project, emulator } = given;
    const { agents, webhooks } = emulator.world;
    const users = `/api/v1/workspaces/${emulator.workspaceId}/users?per_page=100`;
    const expected = [
      ...[...agents.keys()].map((id) => `GET /api/v1/agents/${id}`),
      ...[...webhooks.keys()].map((id) => `GET /api/v1/webhooks/${id}`),
      'GET /api/v1/numbers?per_page=100',
      'GET /api/v1/knowledge-bases?per_page=100',
      `GET ${users}`,
    ].sort();
    const withoutCursors = (paths: readonly string[]) => paths.filter((each) => !each.includes('cursor='));
    for (const look of [plan, drift]) {
      await look(project);
      const asked = given.asked();
      expect(withoutCursors(asked)).toEqual(expected);
      expect(asked).toHaveLength(expected.length + 1);
    }
  });

  it('reads nothing ahead if only a part, or nothing, will be read', async () => {
    await using given = await applied();
    await plan(given.project, { refresh: false });
    expect(given.asked().filter((each) => !each.includes('knowledge-bases'))).toEqual([]);
    await plan(given.project, { target: ['Webhook/two'] });
    expect(given.asked()).toHaveLength(1);
    await plan(given.project, { selector: { team: 'none' } }).catch(() => undefined);
    expect(given.asked()).toEqual([]);
  });

  it('does not read resources that no manifest declares', async () => {
    await using given = await applied();
    await rm(path.join(given.folder.root, 'manifests/hooks.yaml'));
    const { document } = await plan(given.project);
    expect(document.summary).toMatchObject({ forget: 2 });
    expect(given.asked().filter((each) => each.includes('webhooks'))).toEqual([]);
  });

  it.each([
    [
      'does not respond',
      async (given: Setting) => {
        given.hook = () => ({ delayMs: 600_000 });
      },
    ],
    ['does not exist', (given: Setting) => given.emulator.close()],
  ])('reports invalid manifests although the platform %s', async (_reason, make) => {
    await using given = await applied();
    await writeFile(path.join(given.folder.root, 'manifests/z.yaml'), agentManifest('z').replace('spec', 'spce'));
    await make(given);
    const error = await failing(plan(given.project));
    expect(error).toBeInstanceOf(InvalidManifests);
    expect((error as InvalidManifests).diagnostics.map(({ file }) => file)).toContain('manifests/z.yaml');
  });

  it('reports an error like a plan without reading ahead, with redacted secrets', async () => {
    await using given = await applied();
    given.hook = ({ path: asked }) =>
      asked.includes('/agents/') ? { status: 403, body: { message: `no entry for ${SECRET}` } } : undefined;
    const plain = await failing(plan(given.project, { target: ['Agent/a'] }));
    expect(plain.message).toContain('no entry for (secret)');
    const early = await failing(plan(given.project));
    const known = (message: string) => message.replace(/agents\/\w+/, 'agents/ID');
    expect(known(early.message)).toBe(known(plain.message));
  });

  it('skips a record of another workspace among its own', async () => {
    await using given = await applied();
    given.hook = ({ path: asked }) => {
      if (!asked.includes('/numbers')) return undefined;
      const data = [{ id: '01X', number: '+12', workspace_id: '01OTHER' }];
      return { status: 200, body: { data, meta: { next_cursor: null } } };
    };
    const { document } = await plan(given.project);
    expect(JSON.stringify(document)).not.toContain('01X');
  });

  it('counts a missing record as missing', async () => {
    await using given = await applied();
    const [id = ''] = given.emulator.world.agents.keys();
    given.hook = ({ path: asked }) => (asked.endsWith(id) ? { status: 404, body: {} } : undefined);
    const { document } = await plan(given.project);
    expect(document.summary).toMatchObject({ blocked: 1 });
  });
});

it('discards records that were read ahead if the state has changed', () => {
  const document = emptyDocument({ lineage: 'L', salt: 'S' }, 'W', '1');
  const early = { state: fold(document, []), ahead: {} } as unknown as Prefetch;
  expect(readAheadIfCurrent(early, fold(document, []))).toBe(early.ahead);
  expect(readAheadIfCurrent(early, fold({ ...document, serial: 1 }, []))).toBeUndefined();
  expect(readAheadIfCurrent(early, fold({ ...document, lineage: 'M' }, []))).toBeUndefined();
  expect(readAheadIfCurrent(undefined, fold(document, []))).toBeUndefined();
});
