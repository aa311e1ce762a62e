import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Immutable } from '../values/json.ts';
import { microsecondTime } from './ids-and-clock.ts';
import type { StoredAgent } from './stored-records.ts';
import type { World } from './world.ts';

const DAY = 24 * 60 * 60 * 1000;

const weights = z
  .record(z.string().min(1), z.number().min(0))
  .refine((each) => Object.values(each).some((weight) => weight > 0), {
    error: 'expected a weight above 0',
  });

/** The distribution of calls: weights of the values of a field, and medians. */
const outcomes = z.strictObject({
  session_outcome: weights,
  end_reason: weights,
  session_status: weights,
  /** Seconds. */
  duration: z.number().positive(),
  e2e_latency: z.number().positive(),
  cost: z.number().positive(),
});

const usual: z.infer<typeof outcomes> = {
  session_outcome: { resolved: 0.7, unresolved: 0.15, escalated: 0.15 },
  end_reason: { hangup: 0.8, transfer: 0.15, timeout: 0.05 },
  session_status: { active: 0.95, abandoned: 0.05 },
  duration: 180,
  e2e_latency: 640,
  cost: 0.4,
};

/** Calls in the days after each publication of an agent. The clock skips these days. */
export const madeCalls = outcomes.partial().extend({
  perDay: z.number().positive().max(100_000),
  days: z.number().positive().max(3650).default(14),
  /** Overrides by version number. */
  versions: z.record(z.string(), outcomes.partial()).default({}),
});

type MadeCalls = Immutable<z.output<typeof madeCalls>>;

export const usualCall = {
  channel_type: 'voice',
  session_id: null,
  from: '+4930111111',
  to: '+4930222222',
  direction: 'inbound',
  analysis: null,
} as const;

/** Makes the calls of the days after a publication, and moves the clock to their end. */
export function makeCalls(world: World, agent: StoredAgent, { perDay, days, versions, ...given }: MadeCalls): void {
  const rates = { ...usual, ...given, ...versions[String(agent.version)] } as typeof usual;
  const { random, spread } = randomFrom(world.sequence.randomText());
  const published = Date.parse(agent.published_at ?? '');
  const starts = Array.from({ length: Math.round(perDay * days) }, () => published + random() * days * DAY);
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
      end_reason: chosen(rates.end_reason, random()),
      session_status: chosen(rates.session_status, random()),
      session_outcome: chosen(rates.session_outcome, random()),
      e2e_latency: Math.round(rates.e2e_latency * spread()),
      agent_id: agent.id,
      workspace_id: world.workspaceId,
      created_at: end,
      updated_at: end,
    });
  }
  world.sequence.skip(days * DAY);
}

/** @param at from 0 to below 1 */
function chosen(values: Readonly<Record<string, number>>, at: number): string {
  const all = Object.entries(values);
  let left = at * all.reduce((sum, [, weight]) => sum + weight, 0);
  for (const [value, weight] of all) {
    left -= weight;
    if (left < 0) return value;
  }
  return all.at(-1)?.[0] ?? '';
}

/** Reproducible random numbers: uniform from 0 to below 1, and log-normal factors with a median of 1. */
function randomFrom(text: string): { random(): number; spread(): number } {
  let state = createHash('sha256').update(text).digest().readUInt32LE(0);
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
