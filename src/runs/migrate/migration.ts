import path from 'node:path';
import type { ApplyEvent, ApplyReport } from '../../engine/apply/apply-report.ts';
import { type PlanResult, planFor } from '../../engine/engine.ts';
import type { OnReadProgress } from '../../engine/observe/read-counter.ts';
import type { PlanDocument } from '../../engine/plan/plan-document.ts';
import type { Resource } from '../../manifests/resource.ts';
import type { PlatformClient } from '../../platform/client.ts';
import { writeFiles } from '../../project/write-back/write-files.ts';
import type { StateSession } from '../../state/session.ts';
import type { State } from '../../state/state.ts';
import { judged } from '../judged-plan.ts';
import { commonInput, stateToRead } from '../planning.ts';
import type { LockOptions, PlatformOptions, RunContext } from '../run-context.ts';
import { applyInBatches } from './apply-in-batches.ts';
import { type ChecklistItem, checkPlan, checkRest } from './checklist.ts';
import { IdMap, type MappedIds, mapPath } from './id-map.ts';
import type { NameMap } from './knowledge-map.ts';
import { adoptLive, type LiveExport } from './live-export.ts';
import { withLiveWaiting } from './live-last.ts';
import { checkRenderings } from './lost-renderings.ts';
import type { MigrationWorkspaces } from './migration-workspaces.ts';
import { type PreparedMigration, prepare } from './prepare.ts';
import type { AddressGlobs } from './selection.ts';

export interface MigrationOptions extends PlatformOptions, LockOptions {
  readonly onError: 'continue' | 'stop';
  /** Resources in one batch; all in one where absent. */
  readonly batch?: number;
  /** Failures up to which another batch is begun; none where absent. */
  readonly maxFailures?: number;
}

export interface Migrating {
  readonly context: RunContext;
  readonly ends: MigrationWorkspaces;
  /** Undefined where the project's manifests say what there is. */
  readonly live: LiveExport | undefined;
  readonly globs: AddressGlobs;
  readonly names: NameMap;
  readonly options: MigrationOptions;
  /** Of the workspace that is filled. */
  readonly client: PlatformClient;
  readonly state: State;
  readonly onRead?: OnReadProgress;
}

/** What a migration would do, and what stands in its way. */
export interface MigrationPreview {
  readonly prepared: PreparedMigration;
  /** Undefined where something must be mended before a plan can be made. */
  readonly planned: PlanResult | undefined;
  /** What must be done, waits, or should be known before anything is written. */
  readonly before: readonly ChecklistItem[];
  /** Files of the project that are written first, relative to it. */
  readonly files: readonly string[];
}

/** Reads the manifests and both states, and compares with the workspace that is filled. Writes nothing. */
export async function previewMigration(migrating: Migrating): Promise<MigrationPreview> {
  const { context, ends, live, state } = migrating;
  const fromState = await stateToRead(context, ends.from);
  const prepared = await prepare({ ...migrating, fromState, toState: state });
  const { list, edits, selected } = prepared;
  const obstructed = new Set(list.of('must').flatMap(({ addresses }) => addresses));
  const clear = selected.filter(({ address }) => !obstructed.has(address));
  // Also where some must be mended first: the list is to have all that is in the way of the others.
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
  const { context, ends, options, client, state, onRead } = migrating;
  const planned = await planFor({
    ...commonInput({ opened: ends.to, state, client, options, now: context.now, onProgress: onRead }),
    desired: resources,
    // What nothing declares any more is not the business of a migration: it would be forgotten.
    selection: { targets: selected.map(({ address }) => address), labels: {}, alone: true },
    refresh: true,
    allowRecreate: [],
    evenIfAll: false,
    allowReplace: [],
    guards: ends.to.project.guards,
  });
  await ends.to.loadRules();
  return judged(withLiveWaiting(planned), { opened: ends.to, desired: resources, now: context.now() });
}

interface MigrationRun {
  readonly session: StateSession;
  readonly prepared: PreparedMigration;
  readonly planned: PlanResult;
  onEvent?(event: ApplyEvent): void;
}

/** Carries out what was agreed to: first the project's files and the state of the workspace that is left, then batch after batch. */
export async function runMigration(
  { context, ends, live, options }: Migrating,
  { session, prepared, planned, onEvent }: MigrationRun,
): Promise<ApplyReport> {
  const { root } = ends.to.project;
  // First: a later run sees by it that this one was agreed to.
  const map = await IdMap.begin(
    path.join(root, mapPath({ from: ends.from.workspace.name, to: ends.to.workspace.name })),
    rowsOf(prepared, session.state),
  );
  if (live !== undefined) await adoptLive(ends.from, live, { options, now: context.now });
  if (prepared.edits.length > 0) await writeFiles(root, prepared.edits);
  const report = await applyInBatches(context, {
    opened: ends.to,
    session,
    planned,
    onError: options.onError,
    batch: options.batch,
    maxFailures: options.maxFailures ?? 0,
    onEvent: (event) => {
      onEvent?.(event);
      if (event.type === 'finished' && event.result.status === 'done' && event.result.id !== null)
        map.add(event.address, event.result.id);
    },
  });
  await map.write(rowsOf(prepared, session.state));
  return report;
}

function rowsOf({ selected, oldIds }: PreparedMigration, { resources }: State): MappedIds[] {
  return selected.map(({ address }) => ({
    address,
    from: oldIds.get(address) ?? null,
    to: resources.get(address)?.id ?? null,
  }));
}

/** What is left to people after a run, or would be after one in which all goes well. */
export function remainingManualSteps(
  prepared: PreparedMigration,
  {
    document,
    ends,
    report,
  }: { document: PlanDocument; ends: MigrationWorkspaces; report: ApplyReport | undefined },
): readonly ChecklistItem[] {
  return checkRest({ ...checkable(prepared, document, ends), results: report?.results });
}

function checkable(
  { selected, oldIds }: PreparedMigration,
  document: PlanDocument,
  ends: MigrationWorkspaces,
) {
  return { document, resources: selected, oldIds, from: ends.from.workspace.name };
}
