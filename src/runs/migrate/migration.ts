import path from 'node:path';
import type { ApplyReport } from '../../engine/apply/apply-report.ts';
import { type PlanResult, planFor } from '../../engine/engine.ts';
import type { OnReadProgress } from '../../engine/observe/read-records.ts';
import type { PlanDocument } from '../../engine/plan/plan-document.ts';
import type { Resource } from '../../manifests/resource.ts';
import { writeFiles } from '../../project/write-back/write-files.ts';
import type { State } from '../../state/state.ts';
import type { ApplyPlanInput } from '../apply-plan.ts';
import { judged } from '../judged-plan.ts';
import { commonInput, stateToRead } from '../planning.ts';
import type { LockOptions, PlatformOptions } from '../run-context.ts';
import { applyInBatches, withLiveWaiting } from './apply-in-batches.ts';
import { checkRenderings } from './blockers.ts';
import { type ChecklistItem, checkPlan, checkRest } from './checklist.ts';
import { addToMap, type MappedIds, mapPath, writeMap } from './id-map.ts';
import { importLive } from './live-export.ts';
import type { MigrationWorkspaces } from './migration-workspaces.ts';
import { type PreparedMigration, type Preparing, prepare } from './prepare.ts';

export interface MigrationOptions extends PlatformOptions, LockOptions {
  readonly onError: 'continue' | 'stop';
  /** Resources per batch; absent for one batch. */
  readonly batch?: number;
  /** The most failures after which the next batch is started; default: 0. */
  readonly maxFailures?: number;
}

export interface Migrating extends Omit<Preparing, 'fromState' | 'toState'> {
  readonly options: MigrationOptions;
  readonly state: State;
  readonly onRead?: OnReadProgress;
}

/** The plan of a migration, and its obstacles. */
export interface MigrationPreview {
  readonly prepared: PreparedMigration;
  /** Undefined if something must be fixed first. */
  readonly planned: PlanResult | undefined;
  /** Tasks and notes for the time before any write. */
  readonly before: readonly ChecklistItem[];
  /** Files that are written first, relative to the project. */
  readonly files: readonly string[];
}

/** Reads the manifests and both states, and compares them with the target workspace. Writes nothing. */
export async function previewMigration(migrating: Migrating): Promise<MigrationPreview> {
  const { ends, live, state } = migrating;
  const fromState = await stateToRead(ends.from);
  const prepared = await prepare({ ...migrating, fromState, toState: state });
  const { list, edits, selected } = prepared;
  const obstructed = new Set(list.of('must').flatMap(({ addresses }) => addresses));
  const clear = selected.filter(({ address }) => !obstructed.has(address));
  // Also if some resources are blocked: the list must have the obstacles of all others.
  const planned = clear.length === 0 ? undefined : await planMigration(prepared, clear, migrating);
  if (planned !== undefined) {
    const { document } = planned.plan;
    checkPlan(list, checkable(prepared, document, ends));
    await checkRenderings(list, document, { resources: clear, ends, options: migrating.options });
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
  migrating: Migrating,
): Promise<PlanResult> {
  const { ends, options, client, state, onRead } = migrating;
  const planned = await planFor({
    ...commonInput({ opened: ends.to, state, client, options, onProgress: onRead }),
    desired: resources,
    // Only migrated resources: a plan of all would also forget records.
    selection: { targets: selected.map(({ address }) => address), labels: {}, alone: true },
    refresh: true,
    allowRecreate: [],
    evenIfAll: false,
    allowReplace: [],
    guards: ends.to.project.guards,
  });
  await ends.to.loadRules();
  return judged(withLiveWaiting(planned), { opened: ends.to, desired: resources });
}

interface MigrationRun extends Pick<ApplyPlanInput, 'session' | 'planned' | 'onEvent'> {
  readonly prepared: PreparedMigration;
}

/** Writes the project's files and the state of the source workspace, then applies the plan in batches. */
export async function runMigration(
  { ends, live, options }: Migrating,
  { session, prepared, planned, onEvent }: MigrationRun,
): Promise<ApplyReport> {
  const { root } = ends.to.project;
  // First, because a later run continues this migration if the file exists.
  const map = path.join(root, mapPath({ from: ends.from.workspace.name, to: ends.to.workspace.name }));
  await writeMap(map, rowsOf(prepared, session.state));
  if (live !== undefined) await importLive(ends.from, live, options);
  if (prepared.edits.length > 0) await writeFiles(root, prepared.edits);
  const report = await applyInBatches({
    opened: ends.to,
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

/** The manual steps after a run, or after a run without failures. */
export function remainingManualSteps(
  prepared: PreparedMigration,
  { document, ends, report }: { document: PlanDocument; ends: MigrationWorkspaces; report: ApplyReport | undefined },
): readonly ChecklistItem[] {
  return checkRest({ ...checkable(prepared, document, ends), results: report?.results });
}

function checkable({ selected, oldIds }: PreparedMigration, document: PlanDocument, ends: MigrationWorkspaces) {
  return { document, resources: selected, oldIds, from: ends.from.workspace.name };
}
