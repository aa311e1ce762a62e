import { z } from 'zod';
import { describedObject } from '../../values/described.ts';
import type { Immutable } from '../../values/json.ts';
import { measures, shareFields } from './tally.ts';

/* The effect of an agent's versions on its calls, as plain data. The data is printed unchanged. */

export const IMPACT_FORMAT_VERSION = 1;

/** With fewer calls, an interval that contains zero is too wide for any conclusion. */
export const MIN_CALLS = 30;

const limits = {
  low: z.number().describe('Lower end of the 95 % interval.'),
  high: z.number().describe('Upper end of the 95 % interval.'),
};

const perField = <T extends z.ZodType>(each: T) =>
  z.strictObject(
    Object.fromEntries(shareFields.map((field) => [field, each])) as Record<(typeof shareFields)[number], T>,
  );
const perMeasure = <T extends z.ZodType>(each: T) =>
  Object.fromEntries(measures.map((measure) => [measure, each])) as Record<(typeof measures)[number], T>;

const share = z.strictObject({
  count: z.int(),
  share: z.number().describe('Share of all calls of the version, from 0 to 1.'),
  ...limits,
});

const quantiles = z
  .strictObject({ median: z.number().nullable(), p95: z.number().nullable() })
  .describe(
    'Null if no call has the field as a number. `duration` is in seconds; the units of `e2e_latency` and `cost` are not documented.',
  );

const version = describedObject('A published version and its calls.', {
  version: z.int(),
  published_at: z.string(),
  until: z.string().nullable().describe('When the next version was published; null for the latest.'),
  calls: z.int().describe('Calls that began while it was the latest version.'),
  shares: perField(z.record(z.string(), share)).describe(
    'Shares by value; `(not shown)` counts calls without a value.',
  ),
  ...perMeasure(quantiles),
  unreadable: describedObject('Calls with a value that is not a number.', perMeasure(z.int())),
});

const verdict = z
  .enum(['higher', 'lower', 'no_clear_difference', 'too_few_calls'])
  .describe(
    `\`no_clear_difference\` and \`too_few_calls\` apply if the interval contains zero or is missing. \`too_few_calls\`: a version has fewer than ${MIN_CALLS} calls with the field.`,
  );

const difference = describedObject('A difference with its 95 % interval.', {
  difference: z.number().nullable().describe('Value of `to` minus value of `from`; null if one of them has no value.'),
  low: z.number().nullable(),
  high: z.number().nullable(),
  verdict,
});

export const impactDocument = describedObject('Effect of the published versions of an agent on its calls', {
  format_version: z.literal(IMPACT_FORMAT_VERSION),
  voxform_version: z.string(),
  workspace: z.string(),
  workspace_id: z.string(),
  address: z.string(),
  id: z.string(),
  since: z.string().nullable().describe('Earlier calls are not counted; null for all calls.'),
  direction: z.string().nullable().describe('Only calls with this direction are counted.'),
  channel: z.string().nullable().describe('Only calls with this `channel_type` are counted.'),
  versions: z.array(version).describe('Oldest first.'),
  compared: z
    .strictObject({
      from: z.int().describe('Number of the version.'),
      to: z.int(),
      shares: perField(z.record(z.string(), difference)),
      ...perMeasure(difference.describe('Difference of the medians.')),
    })
    .nullable()
    .describe('Comparison of two versions; null if there is only one.'),
  left_out: describedObject('Calls of the agent that are not counted for any version.', {
    near_publication: z.int().describe('Calls that began within a minute of a publication.'),
    without_start: z.int().describe('Calls without a start time.'),
  }),
  notes: z.array(z.string()).describe('Limits of the data, one sentence each.'),
});

export type ImpactDocument = Immutable<z.infer<typeof impactDocument>>;
export type ImpactVersion = ImpactDocument['versions'][number];
export type Difference = Immutable<z.infer<typeof difference>>;
export type Compared = NonNullable<ImpactDocument['compared']>;
