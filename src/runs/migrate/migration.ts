import path from 'node:path';
import type { ApplyReport } from '../../engine/apply/apply-report.ts';
import { type PlanResult, planFor } from '../../engine/engine.ts';
import type { OnReadProgress } from '../../engine/observe/read-records.ts';
import type { PlanDocument } from '../../engine/plan/plan-document.ts';
import type { Resource } from '../../manifests/resource.ts';
import { writeFiles } from '../../project/write-back/write-files.ts';
import type { State } from '../../state/state.ts';
import type { ApplyPlanInput } from '../apply-plan.ts';
import { withViolations } from '../judged-plan.ts';
import { commonPlanInput, readStateWithoutLock } from '../planning.ts';
import type { LockOptions, PlatformOptions } from '../run-context.ts';
import { applyInBatches, withLiveDeferred } from './apply-in-batches.ts';
import { checkNumberLoss } from './blockers.ts';
import { type ChecklistItem, checkPlan, manualStepsAfter } from './checklist.ts';
import { addToMap, type MappedIds, mapPath, writeMap } from './id-map.ts';
import { importLive } from './live-export.ts';
import type { MigrationWorkspaces } from './migration-workspaces.ts';
import { type PreparationInput, type PreparedMigration, prepare } from './prepare.ts';

export interface MigrationOptions extends PlatformOptions, LockOptions {
  readonly onError: 'continue' | 'stop';
  /** The number of resources per batch; undefined for a single batch. */
  readonly batch?: number;
  /** The next batch is started if at most this many resources have failed. Default: 0. */
  readonly maxFailures?: number;
}

export interface MigrationInput extends Omit<PreparationInput, 'fromState' | 'toState'> {
  readonly options: MigrationOptions;
  readonly state: State;
  readonly onRead?: OnReadProgress;
}

/** The plan of a migration, and the tasks before it. */
export interface MigrationPreview {
  readonly prepared: PreparedMigration;
  /** Undefined if the checklist has tasks that must be done first. */
  readonly planned: PlanResult | undefined;
  /** The tasks and notes before any write. */
  readonly before: readonly ChecklistItem[];
  /** Files that are written before the apply, relative to the project folder. */
  readonly files: readonly string[];
}

/** Reads the manifests and both states, and compares them with the target workspace. Writes nothing. */
export async function previewMigration(input: MigrationInput): Promise<MigrationPreview> {
  const { workspaces, live, state } = input;
  const fromState = await readStateWithoutLock(workspaces.from);
  const prepared = await prepare({ ...input, fromState, toState: state });
  const { list, edits, selected } = prepared;
  const blocked = new Set(list.of('must').flatMap(({ addresses }) => addresses));
  const unblocked = selected.filter(({ address }) => !blocked.has(address));
  // Plan even if some resources are blocked, so that the checklist also has the tasks of the others.
  const planned = unblocked.length === 0 ? undefined : await planMigration(prepared, unblocked, input);
  if (planned !== undefined) {
    const { document } = planned.plan;
    checkPlan(list, migrationPlan(prepared, document, workspaces));
    await checkNumberLoss(list, document, { resources: unblocked, workspaces, options: input.options });
  }
  return {
    prepared,
    planned: list.of('must').length === 0 ? planned : undefined,
    before: list.of('must', 'waits', 'know'),
    files: [...(live?.files ?? []), ...edits.map(({ file }) => file)],
  };
}

async function planMigration(
  { resources }: PreparedMigration,
  selected: readonly Resource[],
  input: MigrationInput,
): Promise<PlanResult> {
  const { workspaces, options, client, state, onRead } = input;
  const planned = await planFor({
    ...commonPlanInput({ opened: workspaces.to, state, client, options, onProgress: onRead }),
    desired: resources,
    // Only migrated resources are selected, because a plan of all resources would also release records.
    selection: { targets: selected.map(({ address }) => address), labels: {}, alone: true },
    refresh: true,
    allowRecreate: [],
    evenIfAll: false,
    allowReplace: [],
    guards: workspaces.to.project.guards,
  });
  await workspaces.to.loadRules();
  return withViolations(withLiveDeferred(planned), { opened: workspaces.to, desired: resources });
}

interface MigrationRun extends Pick<ApplyPlanInput, 'session' | 'planned' | 'onEvent'> {
  readonly prepared: PreparedMigration;
}

/** Writes the project's files and the state of the source workspace, then applies the plan in batches. */
export async function runMigration(
  { workspaces, live, options }: MigrationInput,
  { session, prepared, planned, onEvent }: MigrationRun,
): Promise<ApplyReport> {
  const { root } = workspaces.to.project;
  // The map is written first, because a later run continues this migration if the file exists.
  const map = path.join(root, mapPath({ from: workspaces.from.workspace.name, to: workspaces.to.workspace.name }));
  await writeMap(map, rowsOf(prepared, session.state));
  if (live !== undefined) await importLive(workspaces.from, live, options);
  if (prepared.edits.length > 0) await writeFiles(root, prepared.edits);
  const report = await applyInBatches({
    opened: workspaces.to,
    session,
    planned,
    onError: options.onError,
    batch: options.batch,
    maxFailures: options.maxFailures ?? 0,
    onEvent: (event) => {
      onEvent?.(event);
      if (event.type !== 'finished' || event.result.status !== 'done' || event.result.id === null) return;
      const { address, result } = event;
      addToMap(map, { address, from: prepared.oldIds.get(address) ?? null, to: result.id });
    },
  });
  await writeMap(map, rowsOf(prepared, session.state));
  return report;
}

function rowsOf({ selected, oldIds }: PreparedMigration, { resources }: State): MappedIds[] {
  return selected.map(({ address }) => ({
    address,
    from: oldIds.get(address) ?? null,
    to: resources.get(address)?.id ?? null,
  }));
}

/** Returns the manual steps after a run. Without a report, the run is assumed to succeed. */
export function remainingManualSteps(
  prepared: PreparedMigration,
  {
    document,
    workspaces,
    report,
  }: { document: PlanDocument; workspaces: MigrationWorkspaces; report: ApplyReport | undefined },
): readonly ChecklistItem[] {
  return manualStepsAfter({ ...migrationPlan(prepared, document, workspaces), results: report?.results });
}

function migrationPlan(
  { selected, oldIds }: PreparedMigration,
  document: PlanDocument,
  workspaces: MigrationWorkspaces,
) {
  return { document, resources: selected, oldIds, from: workspaces.from.workspace.name };
}
