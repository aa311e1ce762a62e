import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Fault } from '../../../src/emulator/faults.ts';
import { PlatformError } from '../../../src/platform/platform-error.ts';
import { UserError } from '../../../src/problems/user-error.ts';
import { actionsOf, type Bench, type Manifest } from '../bench.ts';
import { behaviours, editedWorkspaces, restOf, started, type Workspace } from './workspaces.ts';

type Method = 'POST' | 'PUT' | 'GET';
type Step =
  | { readonly do: 'declare'; readonly which: 'before' | 'after' | 'nothing' | 'renamed' | 'renumbered' }
  | { readonly do: 'fault'; readonly method: Method; readonly fault: Fault }
  | { readonly do: 'answer with another agent'; readonly method: Method; readonly index: number }
  | { readonly do: 'ignore updates'; readonly fields: readonly string[]; readonly answer: 'kept' | 'sent' }
  | { readonly do: 'apply'; readonly concurrency: number; readonly interruptAfter: number | undefined }
  | { readonly do: 'apply a saved plan'; readonly refresh: boolean }
  | { readonly do: 'delete an agent'; readonly index: number }
  | { readonly do: 'edit an agent'; readonly index: number }
  | { readonly do: 'register a number'; readonly index: number }
  | { readonly do: 'settle' };

const faults = fc.constantFrom<Fault>(
  { cut: 'before' },
  { cut: 'after' },
  { status: 422, body: { message: 'no' } },
  { status: 500 },
  { status: 504, commit: true },
  { truncate: 20 },
  { emptyBody: true },
  { status: 404, body: 'default backend - 404' },
  { status: 404, body: '<html><title>404</title></html>', headers: { 'content-type': 'text/html' } },
  { status: 409, body: { message: 'exists already' }, commit: true },
);
const methods = fc.constantFrom('POST', 'POST', 'PUT', 'GET');

const interruptAfter = fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined, freq: 4 });

const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    {
      weight: 2,
      arbitrary: step('declare', { which: fc.constantFrom('before', 'after', 'nothing', 'renamed', 'renumbered') }),
    },
    { weight: 3, arbitrary: step('fault', { method: methods, fault: faults }) },
    { weight: 1, arbitrary: step('answer with another agent', { method: methods, index: fc.nat(3) }) },
    {
      weight: 1,
      arbitrary: step('ignore updates', {
        fields: fc.subarray(['name', 'llm_config.model', 'prompt_config.prompt', 'tts_config.voice_id']),
        answer: fc.constantFrom('kept', 'sent'),
      }),
    },
    { weight: 4, arbitrary: step('apply', { concurrency: fc.constantFrom(1, 8), interruptAfter }) },
    { weight: 2, arbitrary: step('apply a saved plan', { refresh: fc.boolean() }) },
    { weight: 1, arbitrary: step('delete an agent', { index: fc.nat(3) }) },
    { weight: 1, arbitrary: step('edit an agent', { index: fc.nat(3) }) },
    { weight: 1, arbitrary: step('register a number', { index: fc.nat(1) }) },
    { weight: 1, arbitrary: step('settle', {}) },
  ) as fc.Arbitrary<Step>,
  { minLength: 1, maxLength: 9 },
);

function step(name: Step['do'], rest: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<unknown> {
  return fc.record({ do: fc.constant(name), ...rest });
}

/** Renames every resource. Resources in lists are found by their natural keys, without their previous names. */
function renamed(manifests: readonly Manifest[]): Manifest[] {
  return manifests.map((each) => {
    const slash = each.address.indexOf('/');
    const spec = JSON.stringify(each.spec).replaceAll(/("\$ref":"Agent\/\w+)"/g, '$1-new"');
    return {
      ...each,
      address: `${each.address}-new`,
      spec: JSON.parse(spec),
      metadata: /^(Agent|Webhook)/.test(each.address) ? { previousNames: [each.address.slice(slash + 1)] } : {},
    };
  });
}

/** Changes the digits of every number, which requires another record. */
function renumbered(manifests: readonly Manifest[]): Manifest[] {
  return manifests.map((each) =>
    each.spec.number === undefined
      ? each
      : { ...each, spec: { ...each.spec, number: `${each.spec.number}9` }, metadata: { mayReplace: true } },
  );
}

const digitsOf = (text: unknown): string => String(text).replace(/\D/g, '').replace(/^0+/, '');

interface Project {
  readonly bench: Bench;
  readonly before: Workspace;
  readonly after: readonly Manifest[];
  desired: readonly Manifest[];
  /** Ids of the numbers that another person registered and that are not managed. */
  readonly others: Set<string>;
}

async function performStep(each: Step, project: Project): Promise<void> {
  const { bench, before, after, desired } = project;
  const { dashboard, faults, world } = bench.emulator;
  // A hidden record would be created twice, and users who allow this are warned.
  const allowRecreate = bench.emulator.behaviour.showsNewAfterReads > 0 ? [] : ['all'];
  const agentAt = (index: number) => [...world.agents.keys()][index];
  switch (each.do) {
    case 'declare': {
      const choices = {
        before: before.manifests,
        after,
        nothing: [],
        renamed: renamed(after),
        renumbered: renumbered(after),
      };
      project.desired = choices[each.which];
      return;
    }
    case 'fault':
      faults.add({ match: { method: each.method }, times: each.method === 'POST' ? 1 : 9, fault: each.fault });
      return;
    case 'answer with another agent': {
      const other = world.agents.get(agentAt(each.index) ?? '');
      if (other === undefined) return;
      const body = JSON.parse(JSON.stringify({ data: other }));
      const pattern = '^/api/v1/agents(/[^/]+)?$';
      faults.add({ match: { method: each.method, pattern }, fault: { status: 200, body, commit: true } });
      return;
    }
    case 'ignore updates':
      bench.emulator.setBehaviour({ ignoredByPut: { fields: [...each.fields], answer: each.answer } });
      return;
    case 'apply': {
      const stop = new AbortController();
      let finished = 0;
      const onEvent = ({ type }: { readonly type: string }): void => {
        if (type === 'finished' && ++finished === each.interruptAfter) stop.abort('SIGINT');
      };
      const { concurrency } = each;
      const options = { allowRecreate, evenIfAll: true, concurrency, stop: stop.signal, onEvent };
      await attempt(() => bench.apply(desired, options));
      faults.clear();
      return;
    }
    case 'apply a saved plan':
      await attempt(async () => {
        const saved = await bench.plan(desired, { allowRecreate, evenIfAll: true, refresh: each.refresh });
        return bench.applySaved(saved);
      });
      faults.clear();
      return;
    case 'delete an agent': {
      const id = agentAt(each.index);
      if (id !== undefined) dashboard.remove('agents', id);
      return;
    }
    case 'edit an agent': {
      const id = agentAt(each.index);
      if (id !== undefined) dashboard.edit('agents', id, { name: 'theirs' });
      return;
    }
    case 'register a number': {
      const text = after.flatMap(({ spec }) => spec.number ?? [])[each.index];
      const isThere = [...world.numbers.values()].some(({ number }) => digitsOf(number) === digitsOf(text));
      if (text === undefined || isThere) return;
      faults.clear();
      const { id } = await bench.client.numbers.create({ number: String(text) });
      while (world.isHidden(id));
      project.others.add(id);
      return;
    }
    case 'settle':
      return settle(project);
    default:
      each satisfies never;
  }
}

/** Runs may fail, but only with messages for people. */
async function attempt(run: () => ReturnType<Bench['apply']>): Promise<void> {
  try {
    const { results } = await run();
    for (const result of results.values()) {
      if (result.status === 'failed') {
        expect(result.error).toMatch(/^(GET|POST|PUT) \/api\/v1\/|changed since the plan was made/);
      }
    }
  } catch (error) {
    if (!(error instanceof UserError) && !(error instanceof PlatformError)) throw error;
  }
}

/** Returns the ids of records that are neither in the state nor in its orphans. */
async function unaccounted({ bench, others }: Project, kind: string): Promise<string[]> {
  const { resources, orphans } = await bench.state();
  for (const { id } of resources.values()) others.delete(id);
  const known = new Set([...[...resources.values()].map(({ id }) => id), ...orphans.map(({ id }) => id)]);
  const { agents, webhooks, numbers } = bench.emulator.world;
  const records = { Agent: agents, Webhook: webhooks, PhoneNumber: numbers }[kind];
  return [...(records?.keys() ?? [])].filter((id) => !known.has(id) && !others.has(id));
}

/** Returns the addresses of existing records that were released as missing. */
async function duplicatedAddresses(bench: Bench): Promise<string[]> {
  const { agents, webhooks, numbers } = bench.emulator.world;
  const isThere = (id: string) => [agents, webhooks, numbers].some((records) => records.has(id));
  const { orphans } = await bench.state();
  return orphans.filter(({ reason, id }) => reason === 'gone' && isThere(id)).map(({ address }) => address);
}

/** Makes the platform return all records. */
function showAll({ emulator }: Bench): void {
  const { world } = emulator;
  emulator.setBehaviour({ showsNewAfterReads: 0 });
  for (const id of [world.agents, world.webhooks, world.numbers].flatMap((records) => [...records.keys()])) {
    while (world.isHidden(id));
  }
}

async function pendingOf(bench: Bench, kind: string): Promise<string[]> {
  return [...(await bench.state()).pending.keys()].filter((address) => address.startsWith(`${kind}/`));
}

/** The number of reads that do not return a new record. */
const late = fc.constantFrom(0, 0, 1, 3);

const KINDS = ['Agent', 'Webhook', 'PhoneNumber'];

/** Checks that every record is in the state or its orphans, was created only once, and has only one address. */
async function checkNothingIsLost(project: Project): Promise<void> {
  const { bench } = project;
  for (const kind of KINDS) {
    const lost = await unaccounted(project, kind);
    expect(lost.length, kind).toBeLessThanOrEqual((await pendingOf(bench, kind)).length);
  }
  expect(await duplicatedAddresses(bench)).toEqual([]);
  const { resources, orphans } = await bench.state();
  const ids = [...resources].map(([address, { id }]) => `${address.split('/')[0]} ${id}`);
  expect(new Set(ids).size, 'a record has one address').toBe(ids.length);
  for (const { kind, id } of orphans) expect(ids, 'an orphan is not managed').not.toContain(`${kind} ${id}`);
}

/** Resolves unknown creates like a person. */
async function settle(project: Project): Promise<void> {
  const { bench } = project;
  const { pending } = await bench.state();
  for (const kind of KINDS) {
    for (const address of await pendingOf(bench, kind)) {
      const key = pending.get(address)?.natural_key;
      const isMeant = (id: string) =>
        key === undefined || digitsOf(bench.emulator.world.numbers.get(id)?.number) === digitsOf(key);
      const id = (await unaccounted(project, kind)).find(isMeant);
      if (id === undefined) await bench.record({ type: 'resolved', address });
      else {
        // A person waits until the platform returns the record.
        while (bench.emulator.world.isHidden(id));
        await bench.import(address, id);
      }
    }
  }
}

it('apply loses no record, creates none twice and converges with any faults', async () => {
  await fc.assert(
    fc.asyncProperty(
      editedWorkspaces,
      behaviours,
      late,
      steps,
      async ({ before, after }, behaviour, showsNewAfterReads, performedSteps) => {
        const workspace = { ...before, invited: before.invited.map((each) => ({ role: 'member' as const, ...each })) };
        await using bench = await started(workspace, { ...behaviour, showsNewAfterReads });
        const project: Project = { bench, before: workspace, after, desired: workspace.manifests, others: new Set() };
        for (const each of performedSteps) {
          await performStep(each, project);
          await checkNothingIsLost(project);
        }
        bench.emulator.faults.clear();
        showAll(bench);
        const options = { allowRecreate: ['all'], evenIfAll: true };
        bench.requests();
        const plan = await bench.plan(after, options);
        expect(await bench.plan(after, options)).toEqual(plan);
        expect(bench.writes).toEqual([]);
        await settle(project);
        await checkNothingIsLost(project);
        for (let run = 0; run < 3; run += 1) await bench.apply(after, options);
        const facts = { bench, workspace: { ...workspace, manifests: after }, state: await bench.state() };
        const expected = Object.fromEntries(after.map((each) => [each.address, restOf(each, facts)]));
        expect(actionsOf(await bench.plan(after, options))).toEqual(expected);
        for (const kind of KINDS) expect(await unaccounted(project, kind), kind).toEqual([]);
        const numbers = [...bench.emulator.world.numbers.values()].map(({ number }) => digitsOf(number));
        expect(new Set(numbers).size, 'no number is registered twice').toBe(numbers.length);
        bench.requests();
        await bench.apply(after, options);
        expect(bench.writes).toEqual([]);
      },
    ),
    { numRuns: 15 },
  );
});
