import type { ApplyReport, ResourceResult } from '../engine/apply/apply-report.ts';
import type { Action } from '../engine/plan/plan-actions.ts';
import type { PlanDocument, PlannedResource } from '../engine/plan/plan-document.ts';
import type { WorkspaceSelection } from '../problems/workspace-command.ts';
import type { WorkspaceFailure } from '../runs/plans-document.ts';
import {
  actionWords,
  appliedActions,
  applySummary,
  byAction,
  countNotApplied,
  pendingActions,
  planSummary,
  remainingResources,
  shownActions,
} from './action-words.ts';
import { helpText } from './next-steps.ts';
import { plural } from './plural.ts';

/** The content of a plan, drift or apply, from which all formats are rendered. */
export interface Report {
  readonly type: 'plan' | 'drift' | 'apply';
  /** After an apply, the document contains the warnings from the responses, and no guards. */
  readonly document: PlanDocument;
  /** The closing sentences. */
  readonly summary: readonly string[];
  /** The groups in display order, with unchanged resources last. */
  readonly groups: readonly ReportGroup[];
  readonly pending: readonly PlannedResource[];
  readonly applied?: ApplyReport;
}

/** Options that the user chose. */
export interface ReportOptions {
  /** True to repeat shared statements for each resource. */
  readonly full?: boolean | undefined;
  /** True to omit notes on unchanged resources. */
  readonly quiet?: boolean | undefined;
  /** The selection of the workspace in printed commands. */
  readonly selection?: WorkspaceSelection;
  /** The project folder in the repository of the CI job, with a final slash; empty for its root. */
  readonly folder?: string | undefined;
}

export interface ResourceMark {
  readonly symbol: string;
  readonly colorOf: Action;
}

/** Resources under one heading. */
export interface ReportGroup extends ResourceMark {
  /** The name for filters. It is unique among the groups. */
  readonly key: string;
  readonly heading: string;
  readonly explanation?: string | undefined;
  readonly resources: readonly PlannedResource[];
  /** True if the reason of a resource is omitted, because the heading or the lines already contain it. */
  omitsReason(resource: PlannedResource): boolean;
}

/** The reports of several workspaces, and the failures of other workspaces. */
export interface ReportSet {
  readonly type: 'plan' | 'drift';
  readonly reports: readonly Report[];
  readonly failures: readonly WorkspaceFailure[];
  /** Workspaces that have no report but did not fail. */
  readonly remarks?: readonly { readonly workspace: string; readonly text: string }[];
}

/** Returns a selection by workspace name, for output about several workspaces. */
export function selectionOf({ document }: Report): WorkspaceSelection {
  return { workspace: document.workspace };
}

/** Returns all groups except the group of unchanged resources. */
export function changedGroups({ groups }: Report): readonly ReportGroup[] {
  return groups.filter(({ key }) => key !== 'noop');
}

export function planReport(plan: PlanDocument): Report {
  const of = byAction(plan.resources);
  return {
    type: 'plan',
    document: plan,
    summary: planSummary(plan),
    pending: shownActions.flatMap(of),
    groups: [...shownActions, 'noop' as const].map((action) => groupOf(action, of(action).map(withoutDuplicateNotice))),
  };
}

/** Removes the notices of a resource that was never published, because its step already contains this information. */
function withoutDuplicateNotice(resource: PlannedResource): PlannedResource {
  const { notices: _, ...rest } = resource;
  const isFirst = resource.steps?.some((step) => step.action === 'publish' && step.meanwhile === undefined);
  return isFirst ? rest : resource;
}

function groupOf(action: Action, resources: readonly PlannedResource[]): ReportGroup {
  const { heading, explanation, symbol } = actionWords[action];
  return { key: action, heading, explanation, symbol, colorOf: action, resources, omitsReason };
}

/** Each line of an update contains its cause, and the heading of released resources contains their reason. */
function omitsReason({ action, adopted }: PlannedResource): boolean {
  return action === 'forget' || (action === 'update' && !adopted);
}

/** Returns the report for a result of `driftOf`. Its changes are from the manifest's value to the platform's value. */
export function driftReport(drift: PlanDocument): Report {
  const changed = drift.resources.filter(({ action }) => action !== 'noop').map(withoutProposal);
  const drifted = changed.filter(({ missing }) => missing === undefined);
  const missing = changed.filter((each) => each.missing === true);
  return {
    type: 'drift',
    document: drift,
    summary: driftSummary(drift, drifted.length, missing.length),
    pending: [],
    groups: [
      {
        ...{ key: 'drifted', heading: 'Drifted', symbol: '~', colorOf: 'update', omitsReason: () => true },
        explanation: 'from the manifest to the current value on the platform',
        resources: drifted,
      },
      {
        ...{ key: 'missing', heading: 'Missing', symbol: '-', colorOf: 'forget', omitsReason: () => true },
        explanation: 'the platform has no such record',
        resources: missing,
      },
      groupOf('noop', byAction(drift.resources)('noop')),
    ],
  };
}

function withoutProposal({ steps: _, adopted: __, ...resource }: PlannedResource): PlannedResource {
  return resource;
}

/** Returns the closing sentences of a drift, such as `Drift: 2 resources drifted, 1 missing.` */
function driftSummary({ resources, summary }: PlanDocument, drifted: number, missing: number): string[] {
  const found = [
    drifted ? `${plural(drifted, 'resource')} drifted` : '',
    missing ? `${drifted ? missing : plural(missing, 'resource')} missing` : '',
  ].filter((text) => text !== '');
  const unapplied = countNotApplied(resources);
  const inSync = summary.noop - unapplied;
  const notApplied = unapplied === 0 ? [] : [`${unapplied} not applied by the platform.`];
  if (found.length > 0)
    return [`Drift: ${found.join(', ')}.`, ...notApplied, ...(inSync === 0 ? [] : [`${inSync} in sync.`])];
  if (summary.noop === 0) return ['No drift.', 'No resources are declared.'];
  return ['No drift.', ...notApplied, ...(inSync === 0 ? [] : [`${plural(inSync, 'resource')} in sync.`])];
}

/** Returns the report of an apply, with the failures first. */
export function applyReport(report: ApplyReport): Report {
  const { plan, results, warnings } = report;
  const of = byAction(plan.resources);
  const written = appliedActions.flatMap(of);
  const resultGroup = (key: ResourceResult['status'], heading: string, mark: ResourceMark): ReportGroup => {
    const resources = written.filter(({ address }) => results.get(address)?.status === key).map(withoutDuplicateNotice);
    return { key, heading, ...mark, resources, omitsReason };
  };
  return {
    type: 'apply',
    document: { ...plan, guards: [], warnings },
    summary: applySummary(report),
    pending: remainingResources(report),
    groups: [
      resultGroup('failed', 'Failed', { symbol: 'x', colorOf: 'blocked' }),
      resultGroup('skipped', 'Skipped', { symbol: '-', colorOf: 'update' }),
      resultGroup('done', 'Done', { symbol: '+', colorOf: 'create' }),
      ...[...pendingActions, 'noop' as const].map((action) => groupOf(action, of(action))),
    ],
    applied: report,
  };
}

export interface Outcome {
  readonly word: string;
  /** Sentences, such as the error and its hint. */
  readonly details: readonly string[];
}

/** Returns the result of a resource, or undefined if no write was attempted. */
export function outcomeOf(
  { applied }: Report,
  { address, action, id }: PlannedResource,
  selection: WorkspaceSelection,
): Outcome | undefined {
  const result = applied?.results.get(address);
  if (result === undefined) return undefined;
  const { status } = result;
  switch (status) {
    case 'done': {
      const isKnown = result.id === null || result.id === id;
      return { word: actionWords[action].done, details: isKnown ? [] : [`Its id is ${result.id}.`] };
    }
    case 'failed': {
      const details = [result.error, helpText(result, selection)];
      return { word: status, details: details.filter((text) => text !== undefined) };
    }
    case 'skipped':
      return { word: status, details: [result.because] };
    default:
      return status satisfies never;
  }
}
