import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { PlannedFault } from '../../../src/emulator/faults.ts';
import type { Resource } from '../../../src/manifests/resource.ts';
import type { State } from '../../../src/state/state.ts';
import { Bench } from '../bench.ts';
import { agent, number, ref, user, webhook } from '../resources.ts';

/*
 * Whatever goes wrong between voxform and the platform, whatever the manifests turn to meanwhile: no record that was created
 * drops out of the state's sight, none is created twice, and all ends as declared.
 */

const collections = { Agent: 'agents', PhoneNumber: 'numbers', Webhook: 'webhooks' } as const;
type Kind = keyof typeof collections;

interface Step {
  readonly desired: readonly Resource[];
  readonly faults: readonly PlannedFault[];
  readonly interruptAfter: number | undefined;
  readonly settles: boolean;
  readonly adds: readonly string[];
  readonly removes: readonly number[];
}

const digits = fc.constantFrom('+49301', '+49302', '+49303', '+49304');
const metadata = fc.record({ mayReplace: fc.boolean() });
const previousNames = fc.constantFrom<readonly string[]>([], ['x'], ['y']);

const agents = fc
  .uniqueArray(fc.tuple(fc.constantFrom('a', 'b', 'c', 'd'), fc.constantFrom('m', 'n'), previousNames), {
    selector: ([name]) => name,
    maxLength: 4,
  })
  .map((chosen) => {
    const claimed = new Set<string>();
    return chosen.map(([name, model, previous]) => {
      const free = previous.filter((each) => !claimed.has(each));
      for (const each of free) claimed.add(each);
      return agent(name, { llm_config: { model }, tts_config: { speed: model } }, { previousNames: free });
    });
  });
const renamedAgents = fc
  .uniqueArray(fc.constantFrom('x', 'y'), { maxLength: 2 })
  .map((names) => names.map((name) => agent(name)));

const numbers = fc
  .uniqueArray(fc.tuple(fc.constantFrom('k', 'l', 'm'), digits, metadata), {
    selector: ([name]) => name,
    maxLength: 3,
  })
  .map((chosen) => {
    const seen = new Set<string>();
    return chosen
      .filter(([, text]) => !seen.has(text) && seen.add(text))
      .map(([name, text, options]) => number(name, { number: text }, options));
  });

const webhooks = fc
  .uniqueArray(fc.tuple(fc.constantFrom('g', 'h'), fc.integer({ min: 1, max: 2 }), metadata), {
    selector: ([name]) => name,
    maxLength: 2,
  })
  .map((chosen) => chosen.map(([name, timeout, options]) => webhook(name, { timeout }, options)));

const desired = fc
  .tuple(fc.oneof(agents, renamedAgents), numbers, webhooks, fc.boolean())
  .map(([some, lines, hooks, hasUser]): readonly Resource[] => {
    const agentIds = some.map(({ address }) => ref(address));
    return [
      ...some,
      ...lines,
      ...hooks,
      ...(hasUser ? [user('ada', { role: 'member', agent_ids: agentIds })] : []),
    ];
  });

const fault = fc.record({
  match: fc.record({ method: fc.constantFrom('POST', 'POST', 'PUT') }),
  times: fc.integer({ min: 1, max: 2 }),
  fault: fc.constantFrom<PlannedFault['fault']>(
    { cut: 'after' },
    { cut: 'before' },
    { status: 500 },
    { status: 504, commit: true },
    { status: 422 },
    { emptyBody: true },
    { truncate: 10 },
  ),
});

const step: fc.Arbitrary<Step> = fc.record({
  desired,
  faults: fc.array(fault, { maxLength: 2 }),
  interruptAfter: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined, freq: 4 }),
  settles: fc.boolean(),
  adds: fc.array(digits, { maxLength: 1 }),
  removes: fc.array(fc.nat({ max: 5 }), { maxLength: 1 }),
});

/** Ids of records of a kind that neither the state nor `others` account for. */
function strays(
  w: Bench,
  state: State,
  { kind, others }: { kind: Kind; others: ReadonlySet<string> },
): string[] {
  const held = new Set(state.orphans.map(({ id }) => id));
  for (const { id } of state.resources.values()) held.add(id);
  return [...w.emulator.world.records[collections[kind]].keys()].filter(
    (id) => !held.has(id) && !others.has(id),
  );
}

async function checkNothingIsLost(w: Bench, others: ReadonlySet<string>): Promise<void> {
  const state = await w.state();
  for (const kind of Object.keys(collections) as Kind[]) {
    const open = [...state.pending.keys()].filter((address) => address.startsWith(`${kind}/`));
    const lost = strays(w, state, { kind, others });
    expect(lost.length, `${kind}: ${lost.join()} with ${open.length} unknown`).toBeLessThanOrEqual(
      open.length,
    );
  }
  const ids = [...state.resources].map(([address, { id }]) => `${address.split('/')[0]} ${id}`);
  expect(new Set(ids).size, 'a record has one address').toBe(ids.length);
  for (const { kind, id } of state.orphans)
    expect(ids, 'an orphan is not managed').not.toContain(`${kind} ${id}`);
}

/** Does for every unknown what a person would who looks in the dashboard. */
async function settle(w: Bench, others: ReadonlySet<string>): Promise<void> {
  for (const [address, pending] of (await w.state()).pending) {
    const kind = address.split('/')[0] as Kind;
    const records: ReadonlyMap<string, { readonly id: string }> = w.emulator.world.records[collections[kind]];
    const found = strays(w, await w.state(), { kind, others }).find((id) =>
      isOf(pending.recorded, records.get(id)),
    );
    if (found !== undefined) await w.import(address, found);
    else await w.record({ type: 'resolved', address });
  }
}

function isOf(recorded: Readonly<Record<string, unknown>>, record: object | undefined): boolean {
  const text = JSON.stringify(record);
  return ['name', 'number', 'url', 'timeout'].every(
    (field) => recorded[field] === undefined || text.includes(JSON.stringify(recorded[field])),
  );
}

async function run(w: Bench, steps: readonly Step[]): Promise<void> {
  w.emulator.dashboard.inviteUser({ email: 'ada@example.com', role: 'admin' });
  const others = new Set<string>();
  for (const { desired, faults, interruptAfter, settles, adds, removes } of steps) {
    const present = new Set([...w.emulator.world.numbers.values()].map((each) => each.number));
    for (const text of adds) {
      if (!present.has(text)) others.add((await w.client.numbers.create({ number: text })).id);
    }
    for (const index of removes) {
      const [id] = [...w.emulator.world.agents.keys()].slice(index);
      if (id !== undefined) w.emulator.dashboard.remove('agents', id);
    }
    w.requests();
    const plan = await w.plan(desired, { allowRecreate: ['all'], evenIfAll: true });
    expect(await w.plan(desired, { allowRecreate: ['all'], evenIfAll: true })).toEqual(plan);
    expect(w.writes).toEqual([]);

    for (const each of faults) w.emulator.faults.add(each);
    const stop = new AbortController();
    let finished = 0;
    await w.apply(desired, {
      allowRecreate: ['all'],
      evenIfAll: true,
      stop: stop.signal,
      onEvent: ({ type }) => {
        if (type === 'finished' && ++finished === interruptAfter) stop.abort('SIGINT');
      },
    });
    w.emulator.faults.clear();
    for (const { id } of (await w.state()).resources.values()) others.delete(id);
    await checkNothingIsLost(w, others);
    if (settles) await settle(w, others);
    await checkNothingIsLost(w, others);
  }
  await settle(w, others);
  const last = steps.at(-1)?.desired ?? [];
  // A second time for what had to wait for the first.
  for (let times = 0; times < 2; times++) await w.apply(last, { allowRecreate: ['all'], evenIfAll: true });
  await checkNothingIsLost(w, others);
  const rest = (await w.plan(last)).resources.filter(({ action }) => action !== 'noop');
  expect(rest.filter(({ action }) => action !== 'blocked')).toEqual([]);
  w.requests();
  await w.apply(last);
  expect(w.writes).toEqual([]);
  const texts = [...w.emulator.world.numbers.values()].map((each) => each.number);
  expect(new Set(texts).size, 'no number is registered twice').toBe(texts.length);
}

it('loses no record and creates none twice, whatever fails and whatever changes', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 4 }),
      fc.constantFrom('merge', 'replace'),
      async (steps, put) => {
        await using w = await Bench.start({ put: put as 'merge' });
        await run(w, steps);
      },
    ),
    { numRuns: 20, endOnFailure: true },
  );
});
