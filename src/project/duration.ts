import { z } from 'zod';

const SECONDS = { s: 1, m: 60, h: 3600, d: 86_400 } as const;
const DURATION = /^(\d{1,6}(?:\.\d{1,3})?)([smhd])$/;

/** Seconds of `30m` or `6h`. */
export function durationSeconds(text: string): number {
  const [, number = '', unit = 's'] = DURATION.exec(text) ?? [];
  return Number(number) * SECONDS[unit as keyof typeof SECONDS];
}

/**
 * A setting such as `30m` or `6h`.
 * @param least the minimum; by default anything above 0.
 * @param most the maximum.
 */
export function durationSetting(least?: string, most?: string): z.ZodString {
  const isEnough = (seconds: number): boolean =>
    least === undefined ? seconds > 0 : seconds >= durationSeconds(least);
  return z
    .string()
    .regex(DURATION, { error: 'expected a duration such as 30m or 6h' })
    .refine((text) => !DURATION.test(text) || isEnough(durationSeconds(text)), {
      error: least === undefined ? 'expected more than 0' : `expected at least ${least}`,
    })
    .refine((text) => most === undefined || durationSeconds(text) <= durationSeconds(most), {
      error: `expected at most ${most}`,
    });
}
