import { z } from 'zod';
import { lazyObject } from '../values/described.ts';
import { type Immutable, isObject, tryParseJson } from '../values/json.ts';
import { lazy } from '../values/lazy.ts';
import { ciJob, type LockInfo } from './lock-info.ts';

/* Each run that takes the lock writes one line when it starts and another when it ends. The lines contain no field values. */

export const runResults = ['done', 'failed', 'refused', 'interrupted', 'died'] as const;

const beginning = lazyObject(() => ({
  run: z.string().min(1),
  command: z.string(),
  who: z.string().describe('user@host'),
  host: z.string(),
  job: ciJob().optional(),
  commit: z
    .string()
    .optional()
    .describe('Commit of the manifests, with the suffix -dirty if tracked files were modified.'),
  voxform_version: z.string(),
  began: z.string().describe('ISO 8601.'),
}));

const outcome = lazyObject(() => ({
  result: z.enum(runResults),
  error: z.string().optional(),
  asked_by: z.string().optional().describe('The person who requested the run on the page.'),
  plan: z
    .object({
      digest: z.string().optional().describe('Digest of the saved plan, or of the writes if the plan was not saved.'),
      summary: z.record(z.string(), z.int()),
    })
    .optional()
    .describe('The plan that was applied or refused.'),
  resources: z
    .array(
      z.object({
        address: z.string(),
        action: z.string(),
        from: z.string().optional().describe('The previous address of a renamed resource.'),
        id: z.string().nullable(),
        paths: z.array(z.string()).describe('Changed fields.'),
        result: z
          .enum(['done', 'failed', 'skipped', 'unknown'])
          .describe('unknown: the run died before it received the response.'),
        error: z.string().optional(),
      }),
    )
    .optional(),
  moved_from: z
    .string()
    .optional()
    .describe('Location that the state was moved from. The history there contains the earlier runs.'),
  moved_to: z
    .string()
    .optional()
    .describe('Location that the state was moved to. The history there contains the later runs.'),
  more: z.int().optional().describe('Number of resources that are not listed.'),
  approved_by: z.string().optional().describe('The person who approved the plan.'),
  lifted: z.array(z.string()).optional().describe('Guards that were lifted with options.'),
  waived: z
    .array(
      z.object({
        rule: z.string(),
        policy_file: z.string().optional().describe('The file that contains the rule.'),
        because: z.string(),
        addresses: z.array(z.string()).optional(),
      }),
    )
    .optional()
    .describe('Policies that were waived with options.'),
}));

const unlocking = lazyObject(() => ({
  run: z.string().min(1),
  unlocked_by: z.string().describe('user@host of the person who removed the lock with state unlock.'),
}));

/** A run in the history. A run without a result is in progress or has died. */
export const runRecord = lazy(() =>
  beginning().extend({
    ...outcome().partial().shape,
    unlocked_by: unlocking().shape.unlocked_by.optional(),
    ended: z
      .string()
      .optional()
      .describe('The end of the run in ISO 8601; if the run died, the time of its last write.'),
  }),
);

const ending = lazy(() => outcome().extend({ run: z.string().min(1), ended: z.string().describe('ISO 8601.') }));

const later = lazy(() => z.union([ending(), unlocking()]));

export type RunEnding = Immutable<z.infer<ReturnType<typeof outcome>>>;
export type RunResources = NonNullable<RunEnding['resources']>;
export type RunRecord = Immutable<z.infer<ReturnType<typeof runRecord>>>;

/** A run that died, according to its journal. */
export interface DeadRun {
  readonly id: string;
  /** The time of the last journal entry. */
  readonly ended: Date;
  readonly outcome: RunEnding;
}

export function beginningLine(lock: Omit<LockInfo, 'pid'>, commit: string | undefined): string {
  const { id: run, operation: command, who, host, job, voxform_version, since: began } = lock;
  const line: z.infer<ReturnType<typeof beginning>> = {
    run,
    command,
    who,
    host,
    job,
    commit,
    voxform_version,
    began,
  };
  return JSON.stringify(line);
}

export function unlockLine({ id }: Pick<LockInfo, 'id'>, who: string): string {
  return JSON.stringify({ run: id, unlocked_by: who } satisfies z.infer<ReturnType<typeof unlocking>>);
}

interface EndingOptions {
  readonly outcome: RunEnding;
  readonly redact: ((text: string) => string) | undefined;
}

export function endingLine(
  { id }: Pick<LockInfo, 'id'>,
  ended: Date,
  { outcome: { resources, ...outcome }, redact = (text) => text }: EndingOptions,
): string {
  const listed = resources && withinBound(resources);
  const more = (resources?.length ?? 0) - (listed?.length ?? 0);
  const line = {
    run: id,
    ended: ended.toISOString(),
    ...outcome,
    ...(listed !== undefined && { resources: listed }),
    ...(more > 0 && { more }),
  };
  return JSON.stringify(line, (key, value) =>
    key === 'error' && typeof value === 'string' ? redact(value).slice(0, MAX_ERROR_LENGTH) : value,
  );
}

const MAX_ERROR_LENGTH = 2_000;
/** The maximum length of one run's resources in JSON. The limit keeps a run with many resources from displacing other runs. */
const MAX_RESOURCES_LENGTH = 100_000;

/** Returns the resources that fit into the maximum length. If some do not fit, unknown resources have priority, then failed ones. */
function withinBound(resources: RunResources): RunResources {
  const order = { unknown: 0, failed: 1, skipped: 2, done: 3 } as const;
  let remaining = MAX_RESOURCES_LENGTH;
  const isWithin = (each: RunResources[number]): boolean => {
    remaining -= JSON.stringify(each).length;
    return remaining >= 0;
  };
  return JSON.stringify(resources).length <= MAX_RESOURCES_LENGTH
    ? resources
    : resources.toSorted((a, b) => order[a.result] - order[b.result]).filter(isWithin);
}

/** Returns the run id of a line; empty if the line cannot be parsed. */
export function runIdOf(line: string): string {
  const value = tryParseJson(line);
  return isObject(value) && typeof value.run === 'string' ? value.run : '';
}

/** Returns the runs, oldest first. Skips lines that cannot be parsed. */
export function parseRuns(lines: Iterable<string>): RunRecord[] {
  const runs = new Map<string, RunRecord>();
  for (const line of lines) {
    const value = tryParseJson(line);
    const begun = beginning().safeParse(value);
    if (begun.success) runs.set(begun.data.run, begun.data);
    const more = later().safeParse(value);
    const run = more.success ? runs.get(more.data.run) : undefined;
    if (more.success && run !== undefined) runs.set(run.run, { ...run, ...more.data });
  }
  return [...runs.values()];
}

/** The maximum size of the history in characters; for a local file, in bytes. Beyond this size, the older half is dropped. */
export const MAX_HISTORY = 1_000_000;

/** Returns the newest complete lines, up to half of `MAX_HISTORY`. */
export function newestLines(text: string): string {
  return text.length <= MAX_HISTORY / 2 ? text : text.slice(text.indexOf('\n', text.length - MAX_HISTORY / 2) + 1);
}

export function withLine(text: string, line: string): string {
  const all = `${text}${line}\n`;
  return all.length <= MAX_HISTORY ? all : newestLines(all);
}
