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
    items: z.array(item).describe('The items of this page.'),
    found: z.int().describe('The number of matches on all pages.'),
    next: z.string().nullable().describe('The path of the next page; null on the last page.'),
    ...more,
  });
}

const workspaceRow = describedObject('A workspace in a list.', {
  address: z.string().describe('Unique. The path of the workspace is /api/v1/workspaces/ADDRESS.'),
  status: z.enum(workspaceStatuses),
  since: timeOrNull('The time when the workspace entered this status.'),
  checked_at: timeOrNull('The time of the last read of the platform; null if it was never read.'),
  stale: z.boolean().describe('True if the last read is too long ago, regardless of the status.'),
  summary: z.string().describe('The problem that needs attention; empty if there is none.'),
  source: z.string(),
  mode: z.string(),
});

const frozen = describedObject('The freeze that stops all writes of the fleet; null if the fleet is not frozen.', {
  at: time('The start of the freeze.'),
  by: z.string(),
  because: z.string(),
}).nullable();

const paused = describedObject('The pause; null if runs are not paused.', {
  at: time('The start of the pause.'),
  by: z.string(),
  because: z.string().nullable(),
}).nullable();

const seconds = z.number();

const planState = z
  .enum(['waiting', 'approved', 'rejected', 'remaining'])
  .describe('`remaining` is not a saved plan, but the changes and manual steps that remained after the last run.');

const planRow = describedObject('A plan in a list.', {
  id: z.string().describe('The prefix of the plan digest, or `remaining`.'),
  state: planState,
  made_at: timeOrNull('The time when the plan was made.'),
  decided_by: z.string().nullable().describe('The person who approved or rejected the plan.'),
  summary: planDocument.shape.summary,
});

const compactResource = plannedResource.omit({ desired: true, observed_digest: true });

/** The plan of a workspace or a pull request. Omits salt and fingerprints, which would allow readers to check guesses of secret values. */
const compactPlan = planDocument
  .omit({ digest: true, secrets: true })
  .extend({
    state: planDocument.shape.state.omit({ salt: true }),
    resources: z.array(compactResource),
  })
  .describe(
    'The plan of voxform plan --output json, without resources that need no change or manual step. It cannot be applied.',
  )
  .meta({ id: 'plan_document' });

const resourceRow = describedObject('A resource as of the last run.', {
  address: z.string(),
  kind: z.string(),
  id: z.string().nullable().describe('The id of the record.'),
  status: z
    .string()
    .describe('A status of voxform status, or failed, skipped or recorded (managed, without a stored plan).'),
  details: z.array(z.string()).describe('The problems that need attention, and manual steps.'),
  url: z.string().nullable().describe('The dashboard URL, if a manual step must be done there.'),
});

const fieldSide = z.union([
  describedObject('A value; secrets are masked.', { value: z.json() }),
  describedObject('An explanation instead of a value, such as: not set.', { words: z.string() }),
]);

const resourceField = describedObject('A field of a resource.', {
  path: z.string(),
  declared: fieldSide,
  live: fieldSide.nullable().describe('Null if it equals the declared value.'),
  moved: z.enum(['manifest', 'drift', 'both']).nullable().describe('The side that changed since the last apply.'),
  notes: z.array(z.string()),
});

const runRow = describedObject('A run or a decision of a person in a list.', {
  id: z.string().describe('Unique in its workspace.'),
  began: time('The start of the run.'),
  seconds: z.number().nullable().describe('Null while the run is in progress, and if its end was never reported.'),
  result: z.string(),
  command: z.string(),
  who: z.string().nullable(),
  asked_by: z.string().nullable(),
  summary: z.string(),
  plan: z.string().nullable().describe('The id of the saved plan that the run made, decided or applied.'),
});

const pullRow = describedObject('A pull request in a list, as in voxform fleet pulls --output json.', {
  source: z.string(),
  number: z.int(),
  title: z.string(),
  author: z.string(),
  url: z.string().describe('The URL on the host of the repository.'),
  state: z.enum(['open', 'merged', 'closed']),
  branch: z.string(),
  head: z.string().describe('The newest commit.'),
  since: time('The time when the fleet first saw the current state.'),
  status: z.enum(['planning', 'planned', 'failed']),
  problem: z.string().nullable(),
  workspaces: z.array(
    describedObject('The result for a workspace.', {
      address: z.string(),
      result: z.enum(pullResults),
      outcome: z.string().nullable().describe('The result after the merge.'),
    }),
  ),
});

/** The schemas of all responses by name. */
const apiDocuments = {
  overview: describedObject('GET /api/v1/overview', {
    counts: z.record(z.string(), z.int()).describe('The number of workspaces by status.'),
    trends: z.array(
      describedObject('The number of finished runs in the last day; none outside of a fleet.', {
        name: z.enum(trendNames),
        counts: z.array(z.int()).describe('The number in each hour, the current hour last.'),
      }),
    ),
    freezes: z.array(
      describedObject('One of the latest freezes of the fleet, newest first.', {
        at: time('The start of the freeze.'),
        by: z.string(),
        because: z.string(),
        ended_at: timeOrNull('The time when the fleet was resumed; null while it is frozen.'),
        ended_by: z.string().nullable(),
      }),
    ),
    frozen,
  }),
  search: listOf(
    'GET /api/v1/search',
    describedObject('A workspace or one of its resources.', {
      workspace: z.string().describe('The address of the workspace.'),
      status: z.enum(workspaceStatuses).describe('The status of the workspace.'),
      resource: z.string().nullable().describe('The address of the resource; null if the workspace itself matches.'),
      match: z.string().describe('The matching name, number or id in lower case.'),
    }),
    { cut: z.boolean().describe('True if there may be more than `found` matches. Use a longer query.') },
  ),
  workspaces: listOf('GET /api/v1/workspaces', workspaceRow, {
    cut: z.boolean().describe('True if more than `found` match. To list all of them, sort by address.'),
    frozen,
  }),
  workspace: workspaceRow
    .extend({
      workspace_id: z.string().nullable(),
      base_url: z.string().nullable(),
      commit: z.string().nullable().describe('The commit of the manifests.'),
      interval_seconds: z.number(),
      next_run: timeOrNull('The time of the next run; null if none is planned.'),
      running: z.boolean(),
      frozen,
      failures: z.int().describe('Failed runs in a row.'),
      paused,
      vanished_at: timeOrNull('The time when the workspace was first missing from its source.'),
      held: z.string().nullable().describe('The reason why changes are not applied.'),
      problems: z.array(
        describedObject('A problem with a heading and its messages.', {
          heading: z.string(),
          lines: z.array(z.string()),
        }),
      ),
      resources: z.record(z.string(), z.int()).describe('The number of resources by status.'),
      orphans: z.array(z.lazy(orphan)),
      state_location: z
        .string()
        .nullable()
        .describe('The location of a state that is not in the database of the fleet.'),
      state_problem: z.string().nullable().describe('The reason why runs and orphans are missing.'),
    })
    .describe('GET /api/v1/workspaces/ADDRESS'),
  resources: listOf('GET /api/v1/workspaces/ADDRESS/resources', resourceRow, {
    checked_at: workspaceRow.shape.checked_at,
    stale: workspaceRow.shape.stale,
  }),
  resource: resourceRow
    .extend({
      planned: compactResource.nullable().describe('The resource in the plan of the last run.'),
      fields: z.array(resourceField).describe('All fields. Fields that differ come first.'),
      whole: z.boolean().describe('False if only fields that differ are known, because the state cannot be read.'),
      referred_by: z.array(z.string()).describe('The addresses of resources that refer to this resource.'),
      runs: z.array(runRow).describe('The latest runs that changed the resource or found drift in it.'),
    })
    .describe('GET /api/v1/workspaces/ADDRESS/resources/KIND/NAME'),
  runs: listOf('GET /api/v1/workspaces/ADDRESS/runs', runRow, {}),
  run: runRow
    .extend({
      plan_state: z.string().nullable().describe('The outcome of the plan; `gone` if the plan is no longer stored.'),
      facts: z.array(describedObject('A fact that the page shows.', { name: z.string(), value: z.string() })),
      problems: z.array(z.string()),
      resources: z.array(
        describedObject('A resource that the run changed or planned to change.', {
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
      describedObject('The reason why the pull requests of a source cannot be read.', {
        source: z.string(),
        message: z.string(),
        since: timeOrNull('The time of the first failure.'),
      }),
    ),
  }),
  pull: pullRow
    .omit({ workspaces: true })
    .extend({
      base: z.string(),
      fork: z.boolean(),
      merged_as: z.string().nullable().describe('The merge commit.'),
      planned_at: timeOrNull('The time when all plans were complete.'),
      plans: z.array(
        describedObject('The plan of a workspace at the newest commit.', {
          address: z.string(),
          result: z.enum(pullResults),
          made_at: time('The time when the plan was made.'),
          outcome: z.string().nullable().describe('The result after the merge.'),
          digest: z.string().nullable(),
          notes: z.array(z.string()),
          problem: describedObject('The reason why there is no plan.', {
            message: z.string(),
            places: z.array(z.string()),
          }).nullable(),
          plan: compactPlan.nullable(),
        }),
      ),
    })
    .describe('GET /api/v1/pulls/SOURCE/NUMBER'),
  fleet_status: describedObject('The response to /status of voxform fleet serve', {
    at: time('The time of the database.'),
    frozen,
    counts: z.record(z.enum(workspaceStatuses), z.int()).describe('The number of workspaces by status.'),
    lateness: seconds.describe('The maximum time for which a workspace has been waiting for a run. Seconds.'),
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
        fetched_age: seconds.nullable().describe('Seconds since the last fetch.'),
        problem: z.string().nullable(),
        removed: z.boolean().describe('True if no process has the source in its fleet file.'),
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
        since: time('The start of the process.'),
        heard_age: seconds.describe('Seconds since its last heartbeat.'),
        status: z.enum(['alive', 'ending', 'dead']),
        runs: z.array(
          describedObject('A run in progress.', { address: z.string(), since: time('The start of the run.') }),
        ),
      }),
    ),
    workspaces: z.array(z.never()).describe('Always empty. See /api/v1/workspaces.'),
  }),
  watch_status: describedObject('The response to /status of voxform watch', {
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
    busy_seconds: seconds.nullable().describe('Seconds for which another run has held the lock of the state.'),
    commit: z.string().nullable(),
    last_success_at: timeOrNull('The start of the last successful run.'),
    last_run: describedObject('The last run.', {
      number: z.int(),
      result: z.string(),
      triggers: z.array(z.string()),
      started_at: time('The start of the run.'),
      seconds,
      manifests_valid: z.boolean(),
      problems: z.array(z.string()).describe('The problems of invalid manifests.'),
      fetch_problem: z.string().nullable(),
      error: z.string().nullable(),
      resources: z.record(z.string(), z.int()).describe('The number of resources by action or status.'),
      drift: z.array(describedObject('A drifted resource.', { address: z.string(), fields: z.array(z.string()) })),
      missing: z.array(
        describedObject('A missing record.', {
          address: z.string(),
          id: z.string().nullable(),
          since: time('The time when the record was first missing.'),
        }),
      ),
      held: describedObject('The reason why changes are not applied.', {
        why: z.string(),
        message: z.string(),
      }).nullable(),
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
  error: describedObject('A response with a status of 400 or more.', { error: z.string() }),
} as const;

export type ApiName = keyof typeof apiDocuments;
export type ApiDocument<Name extends ApiName> = Immutable<z.infer<(typeof apiDocuments)[Name]>>;

/** Returns the JSON Schema of all responses. `$defs` contains each response under its name. */
export const apiJsonSchema = lazy((): object => {
  const documents = Object.entries(apiDocuments).map(([id, document]) => document.meta({ id }));
  return z.toJSONSchema(z.union(documents).describe('A response of the API of the page'));
});
