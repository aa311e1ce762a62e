import { z } from 'zod';
import { planDocument, plannedResource } from '../../engine/plan/plan-schema.ts';
import { pullResults } from '../../fleet/rows/pull-rows.ts';
import { workspaceStatuses } from '../../operator/workspace-status.ts';
import { orphan } from '../../state/state-document.ts';
import { described } from '../../values/described.ts';
import type { Immutable } from '../../values/json.ts';
import { lazily } from '../../values/lazily.ts';

const time = (description: string) => z.string().describe(`${description} ISO 8601.`);
const timeOrNull = (description: string) => time(description).nullable();

/** One page of a list. */
function listOf<Item extends z.ZodType, More extends z.ZodRawShape>(description: string, item: Item, more: More) {
  return described(description, {
    items: z.array(item).describe('Those of this page.'),
    found: z.int().describe('The number of matches on all pages.'),
    next: z.string().nullable().describe('Path of the next page; null on the last one.'),
    ...more,
  });
}

const workspaceRow = described('A workspace in a list.', {
  address: z.string().describe('Unique. Its path is /api/v1/workspaces/ADDRESS.'),
  status: z.enum(workspaceStatuses),
  since: timeOrNull('Since when it has this status.'),
  checked_at: timeOrNull('When the platform was last read; null if never.'),
  stale: z.boolean().describe('True if that is too long ago, whatever the status.'),
  summary: z.string().describe('What needs attention; empty if nothing does.'),
  source: z.string(),
  mode: z.string(),
});

const frozen = described('Who stopped all writes of the fleet; null while it is not frozen.', {
  at: time('Since when.'),
  by: z.string(),
  because: z.string(),
}).nullable();

const planState = z
  .enum(['waiting', 'approved', 'rejected', 'left'])
  .describe('left: not saved; the changes and manual steps that the last run left.');

const planRow = described('A plan in a list.', {
  id: z.string().describe('The prefix of its digest, or `left`.'),
  state: planState,
  made_at: timeOrNull('When it was made.'),
  decided_by: z.string().nullable().describe('Who approved or rejected it.'),
  summary: planDocument.shape.summary,
});

/** Of workspaces and of pull requests. Without the salt and fingerprints of secrets: readers could try values. */
const compactPlan = planDocument
  .omit({ digest: true, secrets: true })
  .extend({
    state: planDocument.shape.state.omit({ salt: true }),
    resources: z.array(plannedResource.omit({ desired: true, observed_digest: true })),
  })
  .describe('The plan of voxform plan --output json, without resources that need nothing. It cannot be applied.')
  .meta({ id: 'plan_document' });

const resourceRow = described('A resource as of the last run.', {
  address: z.string(),
  kind: z.string(),
  id: z.string().nullable().describe('Id of its record.'),
  status: z.string().describe('As in voxform status; also failed, skipped and recorded (no details are kept).'),
  details: z.array(z.string()).describe('What needs attention, and manual steps.'),
  url: z.string().nullable().describe('Address in the dashboard, if a person has something to do there.'),
});

const runRow = described('A run, or the decision of a person, in a list.', {
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

const pullRow = described('A pull request in a list, as in voxform fleet pulls --output json.', {
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
    described('The result for a workspace.', {
      address: z.string(),
      result: z.enum(pullResults),
      outcome: z.string().nullable().describe('What became of it after the merge.'),
    }),
  ),
});

/** All answers of the API, by name. */
const apiDocuments = {
  workspaces: listOf('GET /api/v1/workspaces', workspaceRow, { frozen }),
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
      paused: described('Who paused it.', {
        at: time('When.'),
        by: z.string(),
        because: z.string().nullable(),
      }).nullable(),
      vanished_at: timeOrNull('When it was first missing from its source.'),
      held: z.string().nullable().describe('Why its changes are not applied.'),
      problems: z.array(described('A problem with its lines.', { heading: z.string(), lines: z.array(z.string()) })),
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
  resource: resourceRow.describe('GET /api/v1/workspaces/ADDRESS/resources/KIND/NAME'),
  runs: listOf('GET /api/v1/workspaces/ADDRESS/runs', runRow, {}),
  run: runRow
    .extend({
      plan_state: z.string().nullable().describe('The outcome of its plan; `gone` if it is no longer kept.'),
      facts: z.array(described('As on the page.', { name: z.string(), value: z.string() })),
      problems: z.array(z.string()),
      resources: z.array(
        described('A resource that it changed or would change.', {
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
      described('Why the pull requests of a source cannot be read.', {
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
        described('The plan of a workspace at the head.', {
          address: z.string(),
          result: z.enum(pullResults),
          made_at: time('When it was made.'),
          outcome: z.string().nullable().describe('What became of it after the merge.'),
          digest: z.string().nullable(),
          notes: z.array(z.string()),
          problem: described('Why there is no plan.', { message: z.string(), places: z.array(z.string()) }).nullable(),
          plan: compactPlan.nullable(),
        }),
      ),
    })
    .describe('GET /api/v1/pulls/SOURCE/NUMBER'),
  error: described('An answer with a status of 400 or more.', { error: z.string() }),
} as const;

export type ApiName = keyof typeof apiDocuments;
export type ApiDocument<Name extends ApiName> = Immutable<z.infer<(typeof apiDocuments)[Name]>>;

/** The schema of all answers; each has its name in `$defs`. */
export const apiJsonSchema = lazily((): object => {
  const documents = Object.entries(apiDocuments).map(([id, document]) => document.meta({ id }));
  return z.toJSONSchema(z.union(documents).describe('An answer of the API of the page'));
});
