import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Immutable } from '../values/json.ts';
import { microsecondTime } from './ids-and-clock.ts';
import type { StoredAgent } from './stored-records.ts';
import type { World } from './world.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

const weights = z
  .record(z.string().min(1), z.number().min(0))
  .refine((each) => Object.values(each).some((weight) => weight > 0), {
    error: 'expected a weight above 0',
  });

/** The distribution of generated calls: a weight for each value of a field, or the median of a numeric field. */
const outcomes = z.strictObject({
  session_outcome: weights,
  end_reason: weights,
  session_status: weights,
  /** The median duration in seconds. */
  duration: z.number().positive(),
  e2e_latency: z.number().positive(),
  cost: z.number().positive(),
});

const defaultOutcomes: z.infer<typeof outcomes> = {
  session_outcome: { resolved: 0.7, unresolved: 0.15, escalated: 0.15 },
  end_reason: { hangup: 0.8, transfer: 0.15, timeout: 0.05 },
  session_status: { active: 0.95, abandoned: 0.05 },
  duration: 180,
  e2e_latency: 640,
  cost: 0.4,
};

/** The calls to generate for the days after each publication of an agent. The clock skips these days. */
export const generatedCalls = outcomes.partial().extend({
  perDay: z.number().positive().max(100_000),
  days: z.number().positive().max(3650).default(14),
  /** Overrides for single versions, by version number. */
  versions: z.record(z.string(), outcomes.partial()).default({}),
});

type MadeCalls = Immutable<z.output<typeof generatedCalls>>;

export const usualCall = {
  channel_type: 'voice',
  session_id: null,
  from: '+4930111111',
  to: '+4930222222',
  direction: 'inbound',
  analysis: null,
} as const;

/** Generates the calls for the days after a publication, and advances the clock by these days. */
export function generateCalls(world: World, agent: StoredAgent, { perDay, days, versions, ...given }: MadeCalls): void {
  const rates = { ...defaultOutcomes, ...given, ...versions[String(agent.version)] } as typeof defaultOutcomes;
  const { random, spread } = createRandom(world.sequence.randomText());
  const published = Date.parse(agent.published_at ?? '');
  const starts = Array.from({ length: Math.round(perDay * days) }, () => published + random() * days * DAY_MS);
  for (const start of starts.sort((a, b) => a - b)) {
    const seconds = Math.max(1, Math.round(rates.duration * spread()));
    const end = microsecondTime(start + seconds * 1000);
    const id = world.newId();
    world.records.calls.set(id, {
      ...usualCall,
      id,
      start_time: microsecondTime(start),
      end_time: end,
      duration: new Date(seconds * 1000).toISOString().slice(11, 19),
      cost: Number((rates.cost * spread()).toFixed(2)),
      end_reason: selectWeighted(rates.end_reason, random()),
      session_status: selectWeighted(rates.session_status, random()),
      session_outcome: selectWeighted(rates.session_outcome, random()),
      e2e_latency: Math.round(rates.e2e_latency * spread()),
      agent_id: agent.id,
      workspace_id: world.workspaceId,
      created_at: end,
      updated_at: end,
    });
  }
  world.sequence.skip(days * DAY_MS);
}

/** Selects a value by its weight. @param at a random number from 0 to below 1 */
function selectWeighted(weightOf: Readonly<Record<string, number>>, at: number): string {
  const entries = Object.entries(weightOf);
  let remaining = at * entries.reduce((sum, [, weight]) => sum + weight, 0);
  for (const [value, weight] of entries) {
    remaining -= weight;
    if (remaining < 0) return value;
  }
  return entries.at(-1)?.[0] ?? '';
}

/** Returns generators of reproducible random numbers: uniform from 0 to below 1, and log-normal with a median of 1. */
function createRandom(seed: string): { random(): number; spread(): number } {
  let state = createHash('sha256').update(seed).digest().readUInt32LE(0);
  // mulberry32
  const random = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const normal = (): number => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  return { random, spread: () => Math.exp(normal() / 2) };
}
