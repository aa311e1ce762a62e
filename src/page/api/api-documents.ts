import { z } from 'zod';
import { planDocument, plannedResource } from '../../engine/plan/plan-schema.ts';
import { pullResults } from '../../fleet/rows/pull-rows.ts';
import { workspaceStatuses } from '../../operator/workspace-status.ts';
import { orphan } from '../../state/state-document.ts';
import { describedObject } from '../../values/described.ts';
import type { Immutable } from '../../values/json.ts';
import { lazy } from '../../values/lazy.ts';
import { trendNames } from '../page-data.ts';

const time = (description: string) => z.string().describe(`${description} ISO 8601.`);
const timeOrNull = (description: string) => time(description).nullable();

/** Returns the schema of one page of a list. */
function listOf<Item extends z.ZodType, More extends z.ZodRawShape>(description: string, item: Item, more: More) {
  return describedObject(description, {
    items: z.array(item).describe('Those of this page.'),
    found: z.int().describe('The number of matches on all pages.'),
    next: z.string().nullable().describe('Path of the next page; null on the last one.'),
    ...more,
  });
}

const workspaceRow = describedObject('A workspace in a list.', {
  address: z.string().describe('Unique. Its path is /api/v1/workspaces/ADDRESS.'),
  status: z.enum(workspaceStatuses),
  since: timeOrNull('Since when it has this status.'),
  checked_at: timeOrNull('When the platform was last read; null if never.'),
  stale: z.boolean().describe('True if that is too long ago, whatever the status.'),
  summary: z.string().describe('What needs attention; empty if nothing does.'),
  source: z.string(),
  mode: z.string(),
});

const frozen = describedObject('Who stopped all writes of the fleet; null while it is not frozen.', {
  at: time('Since when.'),
  by: z.string(),
  because: z.string(),
}).nullable();

const paused = describedObject('Who paused it.', {
  at: time('When.'),
  by: z.string(),
  because: z.string().nullable(),
}).nullable();

const seconds = z.number();

const planState = z
  .enum(['waiting', 'approved', 'rejected', 'left'])
  .describe('left: not saved; the changes and manual steps that the last run left.');

const planRow = describedObject('A plan in a list.', {
  id: z.string().describe('The prefix of its digest, or `left`.'),
  state: planState,
  made_at: timeOrNull('When it was made.'),
  decided_by: z.string().nullable().describe('Who approved or rejected it.'),
  summary: planDocument.shape.summary,
});

const compactResource = plannedResource.omit({ desired: true, observed_digest: true });

/** The plan of a workspace or a pull request, without salt and fingerprints, with which a reader could check guesses of secret values. */
const compactPlan = planDocument
  .omit({ digest: true, secrets: true })
  .extend({
    state: planDocument.shape.state.omit({ salt: true }),
    resources: z.array(compactResource),
  })
  .describe('The plan of voxform plan --output json, without resources that need nothing. It cannot be applied.')
  .meta({ id: 'plan_document' });

const resourceRow = describedObject('A resource as of the last run.', {
  address: z.string(),
  kind: z.string(),
  id: z.string().nullable().describe('Id of its record.'),
  status: z.string().describe('As in voxform status; also failed, skipped and recorded (no details are kept).'),
  details: z.array(z.string()).describe('What needs attention, and manual steps.'),
  url: z.string().nullable().describe('Address in the dashboard, if a person has something to do there.'),
});

const fieldSide = z.union([
  describedObject('A value; secrets are masked.', { value: z.json() }),
  describedObject('Words in place of a value, such as: not set.', { words: z.string() }),
]);

const resourceField = describedObject('A field of a resource.', {
  path: z.string(),
  declared: fieldSide,
  live: fieldSide.nullable().describe('Null if it equals the declared value.'),
  moved: z.enum(['manifest', 'drift', 'both']).nullable().describe('Who changed it since the last apply.'),
  notes: z.array(z.string()),
});

const runRow = describedObject('A run, or the decision of a person, in a list.', {
  id: z.string().describe('Unique in its workspace.'),
  began: time('When it began.'),
  seconds: z.number().nullable().describe('Null while it runs, and if its end was never reported.'),
  result: z.string(),
  command: z.string(),
  who: z.string().nullable(),
  asked_by: z.string().nullable(),
  summary: z.string(),
  plan: z.string().nullable().describe('Id of the saved plan that it made, decided or applied.'),
});

const pullRow = describedObject('A pull request in a list, as in voxform fleet pulls --output json.', {
  source: z.string(),
  number: z.int(),
  title: z.string(),
  author: z.string(),
  url: z.string().describe('On its host.'),
  state: z.enum(['open', 'merged', 'closed']),
  branch: z.string(),
  head: z.string().describe('The newest commit.'),
  since: time('When the fleet first saw its state.'),
  status: z.enum(['planning', 'planned', 'failed']),
  problem: z.string().nullable(),
  workspaces: z.array(
    describedObject('The result for a workspace.', {
      address: z.string(),
      result: z.enum(pullResults),
      outcome: z.string().nullable().describe('What became of it after the merge.'),
    }),
  ),
});

/** All responses of the API by name. */
const apiDocuments = {
  overview: describedObject('GET /api/v1/overview', {
    counts: z.record(z.string(), z.int()).describe('The number of workspaces by status.'),
    trends: z.array(
      describedObject('Ended runs of the last day; none without a fleet.', {
        name: z.enum(trendNames),
        counts: z.array(z.int()).describe('Per hour, the current one last.'),
      }),
    ),
    freezes: z.array(
      describedObject('A freeze of the fleet, newest first; shortened.', {
        at: time('When it began.'),
        by: z.string(),
        because: z.string(),
        ended_at: timeOrNull('When the fleet was resumed; null while it is frozen.'),
        ended_by: z.string().nullable(),
      }),
    ),
    frozen,
  }),
  search: listOf(
    'GET /api/v1/search',
    describedObject('A workspace, or a resource of it.', {
      workspace: z.string().describe('Its address.'),
      status: z.enum(workspaceStatuses).describe('Of the workspace.'),
      resource: z.string().nullable().describe('Null if the workspace itself was found.'),
      match: z.string().describe('The found name, number or id in lower case.'),
    }),
    { cut: z.boolean().describe('True if there may be more than `found`: use a longer text.') },
  ),
  workspaces: listOf('GET /api/v1/workspaces', workspaceRow, {
    cut: z
      .boolean()
      .describe('True if more than `found` match. In the order of addresses, `next` leads to all of them.'),
    frozen,
  }),
  workspace: workspaceRow
    .extend({
      workspace_id: z.string().nullable(),
      base_url: z.string().nullable(),
      commit: z.string().nullable().describe('The commit of its manifests.'),
      interval_seconds: z.number(),
      next_run: timeOrNull('When the next run is due; null if none is.'),
      running: z.boolean(),
      frozen,
      failures: z.int().describe('Failed runs in a row.'),
      paused,
      vanished_at: timeOrNull('When it was first missing from its source.'),
      held: z.string().nullable().describe('Why its changes are not applied.'),
      problems: z.array(
        describedObject('A problem with its lines.', { heading: z.string(), lines: z.array(z.string()) }),
      ),
      resources: z.record(z.string(), z.int()).describe('The number of resources by status.'),
      orphans: z.array(z.lazy(orphan)),
      state_location: z.string().nullable().describe('Of a state outside of the database of the fleet.'),
      state_problem: z.string().nullable().describe('Why runs and orphans are missing.'),
    })
    .describe('GET /api/v1/workspaces/ADDRESS'),
  resources: listOf('GET /api/v1/workspaces/ADDRESS/resources', resourceRow, {
    checked_at: workspaceRow.shape.checked_at,
    stale: workspaceRow.shape.stale,
  }),
  resource: resourceRow
    .extend({
      planned: compactResource.nullable().describe('Its part of the plan of the last run.'),
      fields: z.array(resourceField).describe('Those that differ come first.'),
      whole: z.boolean().describe('False if the state cannot be read: then only fields that differ are known.'),
      referred_by: z.array(z.string()).describe('Addresses of resources that refer to it.'),
      runs: z.array(runRow).describe('The latest runs that changed it or found drift.'),
    })
    .describe('GET /api/v1/workspaces/ADDRESS/resources/KIND/NAME'),
  runs: listOf('GET /api/v1/workspaces/ADDRESS/runs', runRow, {}),
  run: runRow
    .extend({
      plan_state: z.string().nullable().describe('The outcome of its plan; `gone` if it is no longer kept.'),
      facts: z.array(describedObject('As on the page.', { name: z.string(), value: z.string() })),
      problems: z.array(z.string()),
      resources: z.array(
        describedObject('A resource that it changed or would change.', {
          address: z.string(),
          action: z.string(),
          result: z.string(),
          id: z.string().nullable(),
          detail: z.string(),
        }),
      ),
      more: z.int().describe('The number of resources that are not listed.'),
    })
    .describe('GET /api/v1/workspaces/ADDRESS/runs/ID'),
  plans: listOf('GET /api/v1/workspaces/ADDRESS/plans', planRow, {}),
  plan: planRow.extend({ plan: compactPlan }).describe('GET /api/v1/workspaces/ADDRESS/plans/ID'),
  pulls: listOf('GET /api/v1/pulls', pullRow, {
    problems: z.array(
      describedObject('Why the pull requests of a source cannot be read.', {
        source: z.string(),
        message: z.string(),
        since: timeOrNull('Since when.'),
      }),
    ),
  }),
  pull: pullRow
    .omit({ workspaces: true })
    .extend({
      base: z.string(),
      fork: z.boolean(),
      merged_as: z.string().nullable().describe('The commit of the merge.'),
      planned_at: timeOrNull('When its plans were complete.'),
      plans: z.array(
        describedObject('The plan of a workspace at the head.', {
          address: z.string(),
          result: z.enum(pullResults),
          made_at: time('When it was made.'),
          outcome: z.string().nullable().describe('What became of it after the merge.'),
          digest: z.string().nullable(),
          notes: z.array(z.string()),
          problem: describedObject('Why there is no plan.', {
            message: z.string(),
            places: z.array(z.string()),
          }).nullable(),
          plan: compactPlan.nullable(),
        }),
      ),
    })
    .describe('GET /api/v1/pulls/SOURCE/NUMBER'),
  fleet_status: describedObject('The answer to /status of voxform fleet serve', {
    at: time('By the clock of the database.'),
    frozen,
    counts: z.record(z.enum(workspaceStatuses), z.int()).describe('The number of workspaces by status.'),
    lateness: seconds.describe('The longest time that a workspace has been waiting for its run. Seconds.'),
    oldest_check_age: seconds.nullable().describe('The age of the oldest check of an active workspace. Seconds.'),
    never_checked: z.int().describe('The number of active workspaces without a check.'),
    orphans: z.int(),
    violations: describedObject('Policy violations in the plans of the last runs.', { deny: z.int(), warn: z.int() }),
    requests: z.record(z.string(), z.int()).describe('The number of drift requests by status.'),
    sources: z.array(
      describedObject('A source of workspaces.', {
        name: z.string(),
        shown: z.string(),
        commit: z.string().nullable(),
        fetched_age: seconds.nullable().describe('Seconds since it was fetched.'),
        problem: z.string().nullable(),
        removed: z.boolean().describe('True if no process has it in its fleet file.'),
        warnings: z.array(z.string()),
        broken: z.array(
          describedObject('A project with unknown workspaces.', { project: z.string(), problem: z.string() }),
        ),
      }),
    ),
    processes: z.array(
      describedObject('A process that serves the fleet.', {
        id: z.string(),
        host: z.string(),
        pid: z.int(),
        version: z.string(),
        since: time('When it started.'),
        heard_age: seconds.describe('Seconds since its last heartbeat.'),
        status: z.enum(['alive', 'ending', 'dead']),
        runs: z.array(describedObject('A run in progress.', { address: z.string(), since: time('When it began.') })),
      }),
    ),
    workspaces: z.array(z.never()).describe('Empty: see /api/v1/workspaces.'),
  }),
  watch_status: describedObject('The answer to /status of voxform watch', {
    version: z.string(),
    workspace: z.string().nullable(),
    workspace_id: z.string().nullable(),
    source: z.string(),
    mode: z.string(),
    ready: z.boolean(),
    running: z.boolean(),
    ending: z.boolean(),
    runs: z.int(),
    failures: z.int().describe('Failed runs in a row.'),
    paused,
    next_run_in_seconds: seconds.nullable(),
    busy_seconds: seconds.nullable().describe('How long the state has been locked by another.'),
    commit: z.string().nullable(),
    last_success_at: timeOrNull('When the last successful run began.'),
    last_run: describedObject('The last run.', {
      number: z.int(),
      result: z.string(),
      triggers: z.array(z.string()),
      started_at: time('When it began.'),
      seconds,
      manifests_valid: z.boolean(),
      problems: z.array(z.string()).describe('Of invalid manifests.'),
      fetch_problem: z.string().nullable(),
      error: z.string().nullable(),
      resources: z.record(z.string(), z.int()).describe('The number of resources by action or status.'),
      drift: z.array(describedObject('A drifted resource.', { address: z.string(), fields: z.array(z.string()) })),
      missing: z.array(
        describedObject('A missing record.', {
          address: z.string(),
          id: z.string().nullable(),
          since: time('Since when.'),
        }),
      ),
      held: describedObject('Why changes are not applied.', { why: z.string(), message: z.string() }).nullable(),
      pull_request: describedObject('The drift request.', {
        status: z.string().nullable(),
        change: z.json(),
        url: z.string().nullable(),
        message: z.string().nullable(),
        problem: z.string().nullable(),
      }).nullable(),
      applied: z.array(
        describedObject('A written resource.', { address: z.string(), action: z.string(), result: z.string() }),
      ),
    }).nullable(),
  }),
  error: describedObject('An answer with a status of 400 or more.', { error: z.string() }),
} as const;

export type ApiName = keyof typeof apiDocuments;
export type ApiDocument<Name extends ApiName> = Immutable<z.infer<(typeof apiDocuments)[Name]>>;

/** The JSON Schema of all responses. Each is in `$defs` under its name. */
export const apiJsonSchema = lazy((): object => {
  const documents = Object.entries(apiDocuments).map(([id, document]) => document.meta({ id }));
  return z.toJSONSchema(z.union(documents).describe('An answer of the API of the page'));
});
