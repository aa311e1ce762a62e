import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from 'vitest';
import { Interrupts } from '../src/cli/interrupts.ts';
import { run } from '../src/cli/run.ts';
import type { BehaviourPatch } from '../src/emulator/behaviour.ts';
import { type Emulator, startEmulator } from '../src/emulator/start-emulator.ts';
import type { PlanDocument } from '../src/engine/plan/plan-document.ts';
import { command } from './trust/in-process.ts';

const root = path.resolve(import.meta.dirname, '..');
const opened: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

interface Project {
  readonly folder: string;
  readonly emulator: Emulator;
  readonly workspace: string;
}

/** Copies an example, with an emulator in place of the platform of one of its workspaces. */
async function openExample(
  name: string,
  workspace: string,
  { folder = copyOf(name), behaviour }: { folder?: string; behaviour?: BehaviourPatch } = {},
): Promise<Project> {
  const emulator = await startEmulator({
    seed: `${name} ${workspace}`,
    behaviour,
    workspaceId: `WS-${workspace}`,
  });
  opened.push(() => emulator.close());
  return { folder, emulator, workspace };
}

function copyOf(name: string): string {
  const folder = mkdtempSync(path.join(tmpdir(), `voxform-${name}-`));
  opened.push(() => rmSync(folder, { recursive: true, force: true }));
  cpSync(path.join(root, 'examples', name), folder, {
    recursive: true,
    filter: (source) => path.basename(source) !== '.voxform',
  });
  return folder;
}

interface Finished {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the complete command line in this process. */
async function voxform({ folder, emulator, workspace }: Project, ...args: readonly string[]): Promise<Finished> {
  const streams = { stdin: () => new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
  // Read from the start, because the command waits for its reader.
  const written = Promise.all([text(streams.stdout), text(streams.stderr)]);
  const exitCode = await run({
    args,
    cwd: folder,
    env: {
      VOXFORM_WORKSPACE: workspace,
      VOXFORM_BASE_URL: emulator.url,
      VOXFORM_WORKSPACE_ID: emulator.workspaceId,
      LOCAL_API_KEY: 'key-of-the-workspace',
      STAGING_API_KEY: 'key-of-the-workspace',
      PRODUCTION_API_KEY: 'key-of-the-workspace',
      COMPANY_API_KEY: 'key-of-the-workspace',
      TRIAL_API_KEY: 'key-of-the-workspace',
      OPENAI_API_KEY: 'key-of-a-model',
      AZURE_OPENAI_API_KEY: 'key-of-another-model',
    },
    ...streams,
    interrupts: new Interrupts(() => undefined),
    now: () => new Date(),
  });
  streams.stdout.end();
  streams.stderr.end();
  const [stdout, stderr] = await written;
  return { exitCode, stdout, stderr };
}

async function planOf(project: Project): Promise<PlanDocument> {
  const { exitCode, stdout, stderr } = await voxform(project, 'plan', '--output', 'json');
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  return JSON.parse(stdout);
}

async function succeed(project: Project, ...args: readonly string[]): Promise<Finished> {
  const finished = await voxform(project, ...args);
  expect(finished.exitCode, `${args.join(' ')}\n${finished.stdout}${finished.stderr}`).toBe(0);
  return finished;
}

const nothing = { create: 0, update: 0, replace: 0, adopt: 0, forget: 0, manual: 0, blocked: 0, unknown: 0 };

function needs(plan: PlanDocument, action: string): string[] {
  return plan.resources.filter((resource) => resource.action === action).map(({ address }) => address);
}

/** Performs in the dashboard the steps that the manifests need before the first apply. */
function prepare({ dashboard }: Emulator, given: { knowledgeBases: string[]; users: string[] }): void {
  for (const name of given.knowledgeBases) dashboard.addKnowledgeBase({ name });
  for (const email of given.users) dashboard.inviteUser({ email });
}

/** Links every number to the agents in its manifest, as the steps of the plan request. */
function linkNumbers({ world, dashboard }: Emulator, plan: PlanDocument): void {
  const agents = new Map([...world.agents.values()].map(({ id, name }) => [name, id]));
  expect(agents.size).toBeGreaterThan(0);
  for (const { id, changes } of plan.resources.filter(({ kind }) => kind === 'PhoneNumber')) {
    const links = changes.filter(({ path }) => path.endsWith('_agent_id'));
    const link = Object.fromEntries(links.map(({ path, after }) => [path, String(after)]));
    if (id !== null && links.length > 0) dashboard.linkNumber(id, link);
  }
}

/** Behaviors of the platform that its document leaves open. */
const behaviours: readonly { readonly named: string; readonly behaviour: BehaviourPatch }[] = [
  { named: 'as it comes', behaviour: {} },
  {
    named: 'replacing, rendering numbers and rewriting values',
    behaviour: {
      put: 'replace',
      numericNumbers: true,
      normalise: { trim: true, reorderSets: true, defaults: true },
      shows: { read: [], update: [] },
    },
  },
];

const callCentre = {
  knowledgeBases: ['Billing', 'Tariffs', 'Outage procedures', 'Moving home', 'Business contracts'],
  users: [
    'ines.okafor',
    'tomas.brandt',
    'priya.raman',
    'lukas.weber',
    'rosa.delgado',
    'samuel.adeyemi',
    'hanna.lindqvist',
    'marco.ferri',
    'amelia.hughes',
  ].map((name) => `${name}@northlight.example`),
};

const examples: readonly {
  readonly name: string;
  readonly workspace: string;
  readonly resources: number;
  /** True if no step in the dashboard is needed. */
  readonly isReady?: boolean;
  readonly given: { readonly knowledgeBases: string[]; readonly users: string[] };
}[] = [
  {
    name: 'quickstart',
    workspace: 'local',
    resources: 3,
    isReady: true,
    given: { knowledgeBases: [], users: [] },
  },
  { name: 'call-centre', workspace: 'staging', resources: 21, given: callCentre },
  { name: 'call-centre', workspace: 'production', resources: 35, given: callCentre },
  {
    name: 'migration',
    workspace: 'company',
    resources: 5,
    given: { knowledgeBases: ['Rooms and prices'], users: ['desk@larch.example'] },
  },
];

describe.each(behaviours)('platform $named', ({ behaviour }) => {
  it.each(examples)(
    'supports an apply of $name to $workspace',
    { tags: ['long'] },
    async ({ name, workspace, resources, given, isReady = false }) => {
      const project = await openExample(name, workspace, { behaviour });
      const { emulator } = project;
      await succeed(project, 'validate');

      const first = await planOf(project);
      expect(first.resources).toHaveLength(resources);
      const manual = needs(first, 'manual');
      expect(manual.length === 0, `a missing record is a manual step: ${manual}`).toBe(isReady);
      expect(needs(first, 'blocked').concat(needs(first, 'unknown'))).toEqual([]);

      prepare(emulator, given);
      await succeed(project, 'apply', '--auto-approve');
      linkNumbers(emulator, await planOf(project));
      expect((await planOf(project)).summary).toEqual({ ...nothing, noop: resources });

      const writes = emulator.requests.filter(({ method }) => method !== 'GET').length;
      await succeed(project, 'apply', '--auto-approve');
      expect(emulator.requests.filter(({ method }) => method !== 'GET')).toHaveLength(writes);
    },
  );
});

describe('call-centre', () => {
  it('has at least 30 resources, and a different address for staging', async () => {
    const production = await planOf(await openExample('call-centre', 'production'));
    const staging = await planOf(await openExample('call-centre', 'staging'));
    expect(production.resources.length).toBeGreaterThanOrEqual(30);
    const urls = (plan: PlanDocument) =>
      plan.resources.flatMap(({ changes }) =>
        changes.filter(({ path }) => path === 'url').map(({ after }) => String(after)),
      );
    expect(urls(staging)).toHaveLength(4);
    for (const url of urls(staging)) expect(url).toMatch('https://hooks.staging.');
    for (const url of urls(production)) expect(url).toMatch('https://hooks.northlight.');
  });

  it('continues from a manual setup, one step at a time', { tags: ['long'] }, async () => {
    const project = await openExample('call-centre', 'production');
    const { emulator } = project;
    prepare(emulator, { ...callCentre, knowledgeBases: [] });
    await succeed(project, 'apply', '--auto-approve');
    expect(emulator.world.agents.size, 'agents without knowledge bases').toBeGreaterThan(0);
    expect(needs(await planOf(project), 'manual')).toContain('Agent/billing');

    prepare(emulator, { ...callCentre, users: [] });
    await succeed(project, 'apply', '--auto-approve');
    linkNumbers(emulator, await planOf(project));
    expect((await planOf(project)).summary).toEqual({ ...nothing, noop: 35 });
  });
});

describe('migration', () => {
  it('imports one workspace, fills the other, and does not change the first', async () => {
    const trial = await openExample('migration', 'trial');
    const { emulator: old, folder } = trial;
    prepare(old, { knowledgeBases: ['Rooms and prices'], users: ['desk@larch.example'] });
    const bookings = await createdByHand(old, 'agents', { name: 'Bookings' });
    const concierge = await createdByHand(old, 'agents', { name: 'Concierge' });
    const number = await createdByHand(old, 'numbers', { number: '+12025550140', nickname: 'Hotel' });
    old.dashboard.linkNumber(number, { inbound_agent_id: bookings });

    await succeed(trial, 'import', 'Agent/bookings', bookings);
    await succeed(trial, 'import', 'Agent/concierge', concierge);
    const taken = await planOf(trial);
    expect(taken.summary).toMatchObject({
      create: 0,
      replace: 0,
      manual: 0,
      blocked: 0,
      adopt: 1,
      update: 3,
    });
    await succeed(trial, 'apply', '--auto-approve');
    expect((await planOf(trial)).summary).toEqual({ ...nothing, noop: 4 });

    const company = await openExample('migration', 'company', { folder });
    prepare(company.emulator, { knowledgeBases: ['Rooms and prices'], users: ['desk@larch.example'] });
    nameBoth(folder, old, company.emulator);
    const ends = ['--from', 'trial', '--to', 'company'];
    const env = { TRIAL_API_KEY: 'key-of-the-trial', COMPANY_API_KEY: 'key-of-the-company' };
    const moved = await command(['migrate', ...ends, '--auto-approve'], { cwd: folder, env });
    expect(moved, moved.stderr).toMatchObject({ code: 0 });
    expect(moved.stdout).toContain('[ ] In the dashboard, set the inbound agent of number');
    linkNumbers(company.emulator, await planOf(company));
    expect((await planOf(company)).summary).toEqual({ ...nothing, noop: 5 });

    const skipped = { ...trial, folder };
    skipEverything(folder);
    expect((await planOf(skipped)).summary).toEqual({ ...nothing, forget: 4, noop: 0 });
    await succeed(skipped, 'apply', '--auto-approve');
    expect((await planOf(skipped)).resources).toEqual([]);
    expect([...old.world.agents.keys()], 'nothing is deleted').toEqual([bookings, concierge]);
  });
});

/** Creates a record through the API, as a person without voxform. */
async function createdByHand({ url }: Emulator, collection: string, body: object): Promise<string> {
  const answer = await fetch(`${url}/api/v1/${collection}`, {
    method: 'POST',
    headers: { authorization: 'Bearer key-of-the-workspace', 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const { data } = (await answer.json()) as { readonly data: { readonly id: string } };
  return data.id;
}

/** Replaces the platform by the emulators, for a command that uses both workspaces. */
function nameBoth(folder: string, trial: Emulator, company: Emulator): void {
  const file = path.join(folder, 'voxform.yaml');
  let text = readFileSync(file, 'utf8');
  for (const { url, workspaceId } of [trial, company]) {
    text = text.replace('https://voice.example.com', url).replace(/01JVQ8C4T0\w+/, workspaceId);
  }
  writeFileSync(file, text);
}

function skipEverything(folder: string): void {
  const file = path.join(folder, 'voxform.yaml');
  const before = readFileSync(file, 'utf8');
  const edited = before.replace('skip: [Webhook/bookings]', 'skip: ["*/*"]');
  expect(edited).not.toBe(before);
  writeFileSync(file, edited);
}
