import { createRequire } from 'node:module';
import type { Cron } from 'croner';
import { z } from 'zod';
import { attempt } from '../problems/attempt.ts';
import { about, describedObject } from '../values/described.ts';
import { lazy } from '../values/lazy.ts';
import { durationSeconds, durationSetting } from './duration.ts';

const windowSchema = lazy(() =>
  describedObject('A window in which watch may apply changes.', {
    cron: z
      .string()
      .meta(about('When the window opens: minute, hour, day, month, weekday, such as "0 22 * * 1-5".', '0 22 * * 1-5'))
      .refine(isCron, { error: 'expected minute, hour, day, month and weekday, such as "0 22 * * 1-5"' })
      .refine((text) => !isCron(text) || cron(text).nextRun(new Date(0)) !== null, {
        error: 'the expression matches no date',
      }),
    time_zone: z
      .string()
      .meta(about('Time zone of the cron expression, such as Europe/Berlin; default: UTC.', 'Europe/Berlin'))
      .refine((name) => attempt(() => new Intl.DateTimeFormat('en', { timeZone: name })) !== undefined, {
        error: 'expected a time zone name, such as Europe/Berlin',
      })
      .optional(),
    duration: durationSetting().meta(about('Duration of the window, such as 30m or 6h.', '6h')),
  }),
);

export const watchSchema = lazy(() =>
  describedObject('Settings of watch.', {
    windows: z
      .array(windowSchema())
      .min(1)
      .describe('Windows in which watch may apply changes. Outside of them, it only reports. Default: always.')
      .optional(),
  }),
);

/** A recurring period in which changes may be applied. */
export interface ApplyWindow {
  readonly cron: string;
  /** The IANA name of the time zone. */
  readonly timeZone: string;
  readonly seconds: number;
}

/** Converts the apply windows of the project file. */
export function windowsFrom(watch: z.infer<ReturnType<typeof watchSchema>> | undefined): readonly ApplyWindow[] {
  return (watch?.windows ?? []).map(({ cron, time_zone, duration }) => ({
    cron,
    timeZone: time_zone ?? 'UTC',
    seconds: durationSeconds(duration),
  }));
}

/** Parses a cron expression. The library is loaded only for a project with windows. */
function cron(text: string): Cron {
  const croner = createRequire(import.meta.url)('croner') as typeof import('croner');
  // Only some dialects have fields for seconds and years, so such an expression would be ambiguous.
  return new croner.Cron(text, { mode: '5-part', paused: true });
}

function isCron(text: string): boolean {
  return attempt(() => cron(text)) !== undefined;
}
