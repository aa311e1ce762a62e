import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { BehaviourPatch } from '../../../src/emulator/behaviour.ts';
import { microsecondTime } from '../../../src/emulator/ids-and-clock.ts';
import type { StoredVersion } from '../../../src/emulator/stored-records.ts';
import { kindNamed } from '../../../src/kinds/index.ts';
import type { Versions } from '../../../src/kinds/kind.ts';
import type { ImpactDocument } from '../../../src/runs/impact/impact-document.ts';
import { type ImpactSelection, measureImpact } from '../../../src/runs/impact/measure-impact.ts';
import { rounded, wilson } from '../../../src/runs/impact/tally.ts';
import '../../property-seed.ts';
import { impactText } from '../../../src/output/impact-text.ts';
import { Bench } from '../../engine/bench.ts';
import { callBehaviours } from '../../engine/properties/workspaces.ts';
import { plainStyle } from '../../output/sample-styles.ts';
import { schemaProblems } from '../../schema-problems.ts';
import { naiveQuantile, type SomeCall, START, someCalls } from './calls.ts';

const HOUR = 3_600_000;
const MINUTE = 60_000;

interface History {
  /** Milliseconds after the start at which each version was published, in order. */
  readonly published: readonly number[];
  readonly calls: readonly SomeCall[];
}

/** Starts an emulator with one agent, its versions and its calls, and a few calls of another agent. */
async function platform({ published, calls }: History, behaviour: BehaviourPatch = {}) {
  const bench = await Bench.start(behaviour);
  const { emulator } = bench;
  const { world, dashboard } = emulator;
  const id = await agentOf(bench);
  const agent = world.agents.get(id);
  if (agent === undefined) throw new Error('no agent');
  const { status: _, api_key: __, versions: ___, workspace_id: ____, id: _____, ...fields } = agent;
  const versions = published.map((after, index): StoredVersion => {
    const at = new Date(START + after).toISOString();
    return { ...fields, version: index + 1, published_at: at, updated_at: at };
  });
  world.agents.set(id, { ...agent, versions });
  for (const call of calls) {
    const start = call.start_time === null ? undefined : microsecondTime(Date.parse(call.start_time));
    const { id: made } = dashboard.recordCall({
      ...{ agent_id: id, end_reason: call.end_reason, session_status: call.session_status },
      ...{
        e2e_latency: call.e2e_latency,
        cost: call.cost,
        start_time: start ?? new Date(START + 99 * HOUR).toISOString(),
      },
      created_at: start ?? new Date(START + 99 * HOUR).toISOString(),
    });
    const stored = world.records.calls.get(made);
    // The emulator always sends complete responses; the platform's may have gaps.
    const { start_time, duration, session_outcome } = { ...call, start_time: start ?? null };
    if (stored !== undefined)
      world.records.calls.set(made, { ...stored, start_time, duration, session_outcome } as never);
  }
  const measure = async (options: ImpactSelection = {}): Promise<ImpactDocument> => {
    const versions = kindNamed('Agent').versions as Versions;
    const workspace = { name: 'test', workspaceId: emulator.workspaceId };
    const facts = { address: 'Agent/a', id, versions, client: bench.client, workspace };
    return (await measureImpact({ ...facts, ...options })).document;
  };
  return { emulator, id, measure, [Symbol.asyncDispose]: () => bench[Symbol.asyncDispose]() };
}

/** Returns the agent whose calls count. Another one has some too. */
async function agentOf({ client, emulator: { dashboard } }: Bench): Promise<string> {
  const [{ id }, other] = [await client.agents.create({ name: 'a' }), await client.agents.create({ name: 'b' })];
  for (let count = 0; count < 3; count++) dashboard.recordCall({ agent_id: other.id, session_outcome: 'foreign' });
  return id;
}

const histories = fc.record<History>({
  published: fc
    .uniqueArray(fc.integer({ min: 0, max: 40 * 60 }), { minLength: 1, maxLength: 5 })
    .map((minutes) => minutes.sort((a, b) => a - b).map((minute) => minute * MINUTE)),
  calls: someCalls,
});

/** Counts as a person with all calls in a spreadsheet would. */
function naive({ published, calls }: History) {
  const starts = published.map((after) => START + after);
  const timed = calls.flatMap((call) =>
    call.start_time === null ? [] : [{ ...call, at: Date.parse(call.start_time) }],
  );
  const counted = timed.filter(
    ({ at }) => at >= (starts[0] ?? 0) && starts.every((start) => Math.abs(at - start) > MINUTE),
  );
  return {
    versions: starts.map((start, index) => {
      const own = counted.filter(({ at }) => at > start && at < (starts[index + 1] ?? Number.POSITIVE_INFINITY));
      const seconds = own.flatMap(({ duration }) => {
        const [hours = 0, minutes = 0, rest = 0] = duration?.split(':').map(Number) ?? [];
        return duration === null ? [] : [hours * 3600 + minutes * 60 + rest];
      });
      return { calls: own.length, own, seconds };
    }),
    near: timed.filter(({ at }) => at >= (starts[0] ?? 0) && starts.some((start) => Math.abs(at - start) <= MINUTE))
      .length,
    withoutStart: calls.length - timed.length,
  };
}

describe('impact of versions', () => {
  it('matches a manual count', { tags: ['long'] }, async () => {
    await fc.assert(
      fc.asyncProperty(histories, callBehaviours, async (history, behaviour) => {
        await using made = await platform(history, behaviour);
        const document = await made.measure();
        const expected = naive(history);
        expect(schemaProblems('impact', document)).toEqual([]);
        expect(document.left_out).toEqual({ near_publication: expected.near, without_start: expected.withoutStart });
        for (const [index, { calls, own, seconds }] of expected.versions.entries()) {
          const version = document.versions[index];
          expect(version?.calls).toBe(calls);
          for (const field of ['session_outcome', 'end_reason', 'session_status'] as const) {
            const groups = Map.groupBy(own, (call) => call[field] || '(not shown)');
            expect(Object.keys(version?.shares[field] ?? {}).sort()).toEqual([...groups.keys()].sort());
            for (const [value, { length }] of groups) {
              const { low, high } = wilson(length, calls);
              const found = Object.entries(version?.shares[field] ?? {}).find(([name]) => name === value)?.[1];
              expect(found).toEqual({ count: length, share: length / calls, low, high });
            }
          }
          const quantiles = (values: readonly number[]) => ({
            median: rounded(naiveQuantile(values, 0.5) ?? undefined),
            p95: rounded(naiveQuantile(values, 0.95) ?? undefined),
          });
          expect(version?.duration).toEqual(quantiles(seconds));
          expect(version?.e2e_latency).toEqual(quantiles(own.map(({ e2e_latency }) => e2e_latency)));
          expect(version?.cost).toEqual(quantiles(own.map(({ cost }) => cost)));
        }
      }),
      { numRuns: 25 },
    );
  });

  const call = (hours: number, outcome: string): SomeCall => ({
    start_time: new Date(START + hours * HOUR).toISOString(),
    duration: '00:01:00',
    session_outcome: outcome,
    end_reason: 'hangup',
    session_status: 'active',
    e2e_latency: 500,
    cost: 0.1,
  });
  const spread = (from: number, outcomes: readonly string[]) =>
    outcomes.map((outcome, index) => call(from + 1 + index / outcomes.length, outcome));
  const outcomes = (escalated: number, resolved: number) => [
    ...Array<string>(escalated).fill('escalated'),
    ...Array<string>(resolved).fill('resolved'),
  ];
  const three: History = {
    published: [0, 10 * HOUR, 20 * HOUR],
    calls: [...spread(0, outcomes(48, 32)), ...spread(10, outcomes(56, 14)), ...spread(20, outcomes(3, 2))],
  };

  it('compares the two newest versions, or two named ones', async () => {
    await using made = await platform(three);
    const newest = (await made.measure()).compared;
    expect(newest).toMatchObject({ from: 2, to: 3, duration: { verdict: 'too_few_calls', low: null } });
    expect(newest?.shares.session_outcome.escalated?.verdict).toBe('too_few_calls');
    const { compared } = await made.measure({ compare: [1, 2] });
    expect(compared?.duration, 'the same in 150 calls').toMatchObject({
      verdict: 'no_clear_difference',
      low: 0,
      high: 0,
    });
    // Newcombe 1998, table II.
    expect(compared?.shares.session_outcome.escalated?.low).toBeCloseTo(0.0524, 4);
    expect(compared?.shares.session_outcome.escalated?.high).toBeCloseTo(0.3339, 4);
    expect(compared?.shares.session_outcome).toMatchObject({
      escalated: { verdict: 'higher' },
      resolved: { verdict: 'lower' },
    });
    await expect(made.measure({ compare: [1, 7] })).rejects.toThrow('Agent/a has no published version 7');
  });

  it('has no rounding errors of sums', async () => {
    const ten = (from: number, cost: number) =>
      spread(from, outcomes(10, 0)).map((each, index) => ({ ...each, cost, e2e_latency: 100 * index }));
    await using made = await platform({ published: [0, 10 * HOUR], calls: [...ten(0, 0.1), ...ten(10, 0.3)] });
    const { versions, compared } = await made.measure();
    expect(versions[0]?.e2e_latency).toEqual({ median: 450, p95: 855 });
    expect(compared?.cost).toEqual({ difference: 0.2, low: 0.2, high: 0.2, verdict: 'higher' });
  });

  it('counts calls since a time, for the versions that were the latest since then', async () => {
    await using made = await platform(three);
    const { versions, since } = await made.measure({ since: new Date(START + 11.5 * HOUR).toISOString() });
    expect(versions.map(({ version, calls }) => [version, calls])).toEqual([
      [2, 35],
      [3, 5],
    ]);
    expect(since).toBe('2026-01-01T11:30:00.000Z');
  });

  it.each([
    { reason: 'filters in the query', behaviour: { callFilters: 'query' } },
    { reason: 'cursors that are positions', behaviour: { callFilters: 'query', cursors: 'position' } },
    { reason: 'bodies that are refused', behaviour: { callFilters: 'query', refusesGetBody: 501 } },
    { reason: 'small pages with repeated records', behaviour: { pages: { most: 7, overlap: 2 } } },
    { reason: 'an unusual meta', behaviour: { meta: 'odd' } },
    { reason: 'calls of another workspace', behaviour: { seesOtherWorkspace: true } },
  ] as const)('is the same with $reason', async ({ behaviour }) => {
    await using usual = await platform(three);
    await using odd = await platform(three, behaviour);
    const [{ versions: expected }, { versions }] = [await usual.measure(), await odd.measure()];
    expect(versions).toEqual(expected);
  });

  it('counts the same values separately in all versions', async () => {
    const late = Array.from({ length: 150 }, () => 'reason-10');
    const many = Array.from({ length: 150 }, (_, index) => `reason-${index}`);
    const calls = [...spread(0, late), ...spread(10, many)];
    await using made = await platform({ published: [0, 10 * HOUR, 20 * HOUR], calls });
    const { versions } = await made.measure();
    const counted = versions.map(({ shares }) => shares.session_outcome);
    expect(counted.map((values) => values['reason-10'])).toEqual([undefined, undefined, undefined]);
    expect(counted.map((values) => values['(others)']?.count)).toEqual([150, 50, undefined]);
  });

  it('counts many values separately in JSON, up to a hundred per field, and shows the most frequent ones', async () => {
    const many = Array.from({ length: 300 }, (_, index) => `reason-${index % 2 ? 0 : index}`);
    await using made = await platform({ published: [0, 10 * HOUR], calls: spread(0, many) });
    const document = await made.measure();
    const counted = document.versions[0]?.shares.session_outcome ?? {};
    expect(Object.keys(counted)).toHaveLength(101);
    expect(counted['(others)']?.count).toBe(50);
    expect(document.notes).toContain(
      'session_outcome has more than 100 values: later ones are counted together as (others).',
    );
    const text = impactText(document, plainStyle());
    expect(new Set(text.match(/reason-\d+/g)).size).toBe(7);
    expect(text).toContain('(others)');
  });

  it('names the fields that the data lack', async () => {
    await using made = await platform(three);
    const { world } = made.emulator;
    const agent = world.agents.get(made.id);
    const undated =
      agent?.versions.map((each) => (each.version === 2 ? { ...each, published_at: 'never' } : each)) ?? [];
    if (agent !== undefined) world.agents.set(made.id, { ...agent, versions: undated });
    made.emulator.faults.add({
      match: { path: `/api/v1/agents/${made.id}/versions?` },
      fault: {
        status: 200,
        body: {
          data: [
            { version: 3, published_at: three3() },
            { version: 2, published_at: null },
            { version: 1, published_at: new Date(START).toISOString() },
          ],
          meta: { next_cursor: null },
        },
      },
    });
    const { versions, notes } = await made.measure();
    expect(versions.map(({ version, calls }) => [version, calls])).toEqual([
      [1, 150],
      [3, 5],
    ]);
    expect(notes).toContain(
      'The platform does not show when version 2 was published: its calls count for the version before it.',
    );
    expect(notes[0]).toContain('does not show which version a call used');
  });

  const three3 = () => new Date(START + 20 * HOUR).toISOString();
});
