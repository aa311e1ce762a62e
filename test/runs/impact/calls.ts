import fc from 'fast-check';

/** The fields of a call that its impact needs. */
export interface SomeCall {
  readonly start_time: string | null;
  readonly duration: string | null;
  readonly session_outcome: string | null;
  readonly end_reason: string;
  readonly session_status: string;
  readonly e2e_latency: number;
  readonly cost: number;
}

export const START = Date.UTC(2026, 0, 1);
const HOUR = 3_600_000;

const two = (part: number): string => String(part).padStart(2, '0');

export function durationText(seconds: number): string {
  return [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60].map(two).join(':');
}

export const someCalls = fc.array(
  fc.record<SomeCall>({
    start_time: fc.option(
      fc.integer({ min: START - HOUR, max: START + 40 * HOUR }).map((at) => new Date(at).toISOString()),
      { freq: 20 },
    ),
    duration: fc.option(fc.integer({ min: 0, max: 9000 }).map(durationText), { freq: 10 }),
    session_outcome: fc.option(fc.constantFrom('escalated', 'resolved', '__proto__', ''), { freq: 10 }),
    end_reason: fc.constantFrom('hangup', 'transfer', 'timeout'),
    session_status: fc.constantFrom('active', 'abandoned'),
    e2e_latency: fc.integer({ min: 0, max: 5000 }),
    cost: fc.integer({ min: 0, max: 400 }).map((cents) => cents / 100),
  }),
  { maxLength: 120 },
);

/** Type 7, as in spreadsheets, over all values. */
export function naiveQuantile(values: readonly number[], part: number): number | null {
  if (values.length === 0) return null;
  const rising = [...values].sort((a, b) => a - b);
  const place = (rising.length - 1) * part;
  const [below = 0, above = 0] = [rising[Math.floor(place)], rising[Math.ceil(place)]];
  return below + (above - below) * (place % 1);
}
