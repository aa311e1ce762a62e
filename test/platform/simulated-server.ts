import type { ConcurrencyLimit } from '../../src/platform/concurrency-limit.ts';
import { type Flight, InFlight } from '../../src/platform/in-flight.ts';

/** The behavior of a server, by the milliseconds since the start. */
export interface SimulatedServer {
  /** Returns the milliseconds that a single request takes. */
  latency(time: number): number;
  /** Returns the number of requests that the server handles at once. Others wait. */
  worksAt?(time: number): number;
  /** Returns the number of concurrent requests above which the server refuses. */
  refusesPast?(time: number): number;
  /** Standard deviation of the logarithm of a latency. */
  readonly noise?: number;
  /** Noise that all requests share and that changes slowly: standard deviation, and its duration in milliseconds. */
  readonly slowNoise?: { readonly deviation: number; readonly memory: number };
  /** Share of the requests that never get a response, and time out after 2 s. */
  readonly hangs?: number;
  /** Factor by which requests of a second type are slower. */
  readonly slowSort?: number;
}

export interface Answer {
  readonly time: number;
  readonly isRefused: boolean;
  /** The limit when the response arrived. */
  readonly limit: number;
}

interface Sending {
  readonly requests: number;
  readonly seed?: number;
  /** Milliseconds between the moments at which requests are sent, because their intents are stored together. */
  readonly every?: number;
}

interface Running {
  readonly end: number;
  readonly start: number;
  readonly stamp: number;
  readonly flight: Flight;
  readonly burst: number;
  readonly type: string;
  readonly isRefused: boolean;
  readonly lapse: number;
  readonly hangs: boolean;
}

/**
 * Simulates a client with this number of ready requests that applies the limit against a server, with a clock of its
 * own, event by event. Like the transport, it counts one refusal per burst, pauses after it and resends refused
 * requests.
 */
export function simulate(
  limit: ConcurrencyLimit,
  server: SimulatedServer,
  { requests, seed = 1, every = 0 }: Sending,
): Answer[] {
  const random = randomFrom(seed);
  const answers: Answer[] = [];
  const running: Running[] = [];
  let lines: number[] = [];
  let left = requests;
  let time = 0;
  const inFlight = new InFlight(() => time);
  let pausedUntil = 0;
  let burst = 0;
  let refusals = 0;
  let lapse = 0;
  let slow = { noise: 0, time: 0 };

  const slowNoise = (): number => {
    if (server.slowNoise === undefined) return 1;
    const { deviation, memory } = server.slowNoise;
    const kept = Math.exp((slow.time - time) / memory);
    slow = { time, noise: kept * slow.noise + deviation * Math.sqrt(1 - kept ** 2) * normal(random) };
    return Math.exp(slow.noise);
  };

  const start = (): void => {
    left--;
    const held = running.filter(({ isRefused }) => !isRefused).length;
    const isRefused = held >= (server.refusesPast?.(time) ?? Number.POSITIVE_INFINITY);
    const isSlow = server.slowSort !== undefined && random() < 0.5;
    const noise = Math.exp((server.noise ?? 0) * normal(random));
    const work = server.latency(time) * slowNoise() * noise * (isSlow ? (server.slowSort ?? 1) : 1);
    lines = lines.filter((free) => free > time).sort((a, b) => a - b);
    const atOnce = server.worksAt?.(time) ?? Number.POSITIVE_INFINITY;
    const begin = lines.length < atOnce ? time : (lines[lines.length - atOnce] ?? time);
    if (!isRefused) lines.push(begin + work);
    const hangs = server.hangs !== undefined && random() < server.hangs;
    const answered = hangs ? time + 2000 : begin + work;
    const end = isRefused ? time + server.latency(time) / 4 : answered;
    const stamp = limit.stamp(time);
    const flight = inFlight.begin();
    running.push({ start: time, end, stamp, flight, burst, type: isSlow ? 'slow' : 'quick', isRefused, lapse, hangs });
  };

  while (left > 0 || running.length > 0) {
    if (every > 0) pausedUntil = Math.max(pausedUntil, Math.ceil(time / every) * every);
    while (left > 0 && running.length < limit.now && time >= pausedUntil) start();
    const next = running.reduce<Running | undefined>(
      (first, each) => (first === undefined || each.end < first.end ? each : first),
      undefined,
    );
    const canStart = left > 0 && running.length < limit.now;
    if (next === undefined || (canStart && pausedUntil < next.end)) {
      time = pausedUntil;
      continue;
    }
    time = next.end;
    running.splice(running.indexOf(next), 1);
    const mean = inFlight.end(next.flight);
    answers.push({ time, isRefused: next.isRefused, limit: limit.now });
    if (next.hangs) {
      if (next.lapse === lapse) {
        lapse++;
        limit.onTimeout();
      }
      continue;
    }
    if (!next.isRefused) {
      refusals = 0;
      limit.onResponse(next.stamp, { type: next.type, milliseconds: time - next.start, at: time, inFlight: mean });
      continue;
    }
    left++;
    if (next.burst !== burst) continue;
    burst++;
    limit.onRefusal();
    pausedUntil = time + 250 * 2 ** refusals++ * (1 + random());
  }
  return answers;
}

/** Mulberry32: repeatable numbers from 0 to 1 for a seed. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function normal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}
