import { z } from 'zod';

const SECONDS = { s: 1, m: 60, h: 3600, d: 86_400 } as const;
const DURATION = /^(\d{1,6}(?:\.\d{1,3})?)([smhd])$/;

/** Converts a duration such as `30m` or `6h` to seconds. */
export function durationSeconds(text: string): number {
  const [, number = '', unit = 's'] = DURATION.exec(text) ?? [];
  return Number(number) * SECONDS[unit as keyof typeof SECONDS];
}

/**
 * Returns the schema of a duration such as `30m` or `6h`.
 * @param min the minimum duration. By default, any duration above 0 is valid.
 */
export function durationSetting(min?: string, max?: string): z.ZodString {
  const isEnough = (seconds: number): boolean => (min === undefined ? seconds > 0 : seconds >= durationSeconds(min));
  return z
    .string()
    .regex(DURATION, { error: 'expected a duration such as 30m or 6h' })
    .refine((text) => !DURATION.test(text) || isEnough(durationSeconds(text)), {
      error: min === undefined ? 'expected more than 0' : `expected at least ${min}`,
    })
    .refine((text) => max === undefined || durationSeconds(text) <= durationSeconds(max), {
      error: `expected at most ${max}`,
    });
}
