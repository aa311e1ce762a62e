import { type ApplyReport, type ResourceResult, renamedBy } from '../engine/apply/apply-report.ts';
import type { Action } from '../engine/plan/plan-actions.ts';
import { isNotApplied, type PlanDocument, type PlannedResource, renamedIn } from '../engine/plan/plan-document.ts';
import type { NextStep } from '../problems/next-step.ts';
import { plural } from './plural.ts';

/** The symbol and the words of an action, which are the same in all formats. */
interface WordsOfAction {
  /** For actions that Terraform has, this is the symbol that Terraform prints. */
  readonly symbol: string;
  readonly heading: string;
  /** An explanation after the heading, for actions that the reasons of the resources do not explain. */
  readonly explanation?: string;
  /** The words after the number in `Plan: 1 to create.` */
  readonly count: string;
  /** The word after the number in `Applied: 1 created.` */
  readonly done: string;
}

export const actionWords: Readonly<Record<Action, WordsOfAction>> = {
  create: { symbol: '+', heading: 'Create', count: 'to create', done: 'created' },
  adopt: { symbol: '=', heading: 'Import', count: 'to import', done: 'imported' },
  update: { symbol: '~', heading: 'Update', count: 'to update', done: 'updated' },
  replace: { symbol: '-/+', heading: 'Replace', count: 'to replace', done: 'replaced' },
  forget: {
    ...{ symbol: '.', heading: 'Forget', count: 'to forget', done: 'forgotten' },
    explanation: 'no longer declared; existing records stay as orphans',
  },
  manual: {
    ...{ symbol: '!', heading: 'Manual', count: 'manual', done: 'manual' },
    explanation: 'the API cannot do these; do them in the dashboard',
  },
  blocked: {
    ...{ symbol: 'x', heading: 'Blocked', count: 'blocked', done: 'blocked' },
    explanation: 'left unchanged until you decide',
  },
  unknown: { symbol: '?', heading: 'Unknown', count: 'unknown', done: 'unknown' },
  noop: { symbol: ' ', heading: 'Unchanged', count: 'unchanged', done: 'unchanged' },
};

/** The actions that an apply executes, in display order. */
export const appliedActions = ['create', 'adopt', 'update', 'replace', 'forget'] as const satisfies Action[];
/** The actions that an apply leaves to the user. */
export const pendingActions = ['manual', 'blocked', 'unknown'] as const satisfies Action[];
/** All actions except `noop`, in display order. */
export const shownActions: readonly Action[] = [...appliedActions, ...pendingActions];

/** Groups resources by action. Returns a function from an action to its resources, in the order of the plan. */
export function byAction(resources: readonly PlannedResource[]): (action: Action) => readonly PlannedResource[] {
  const groups = Map.groupBy(resources, (resource) => resource.action);
  return (action) => groups.get(action) ?? [];
}

/** Returns a string such as `1 to create, 2 to update`, or an empty string if there are none of these actions. */
export function counts(summary: PlanDocument['summary'], actions: readonly Action[]): string {
  return actions
    .filter((action) => summary[action] > 0)
    .map((action) => `${summary[action]} ${actionWords[action].count}`)
    .join(', ');
}

const wordsByName: Readonly<Record<string, WordsOfAction | undefined>> = actionWords;

/** Returns the counts of actions and statuses, such as `2 to create` and `1 not applied`. Omits resources in sync. */
export function countWords(countsByName: Readonly<Record<string, number>>): string[] {
  return Object.entries(countsByName)
    .filter(([name, count]) => count > 0 && name !== 'in_sync' && name !== 'noop')
    .map(([name, count]) => `${count} ${wordsByName[name]?.count ?? name.replaceAll('_', ' ')}`);
}

/** Returns the counts of executed actions, such as `2 created` and `1 closed`, including actions that never occur in a plan. */
export function doneWords(done: Readonly<Record<string, number>>): string[] {
  const past = (action: string) => `${action}${action.endsWith('e') ? 'd' : 'ed'}`;
  return Object.entries(done).map(([action, count]) => `${count} ${wordsByName[action]?.done ?? past(action)}`);
}

/** Returns the closing sentences of a plan, such as `Plan: 1 to create, 2 to update.` and `3 manual, 41 unchanged.` */
export function planSummary(plan: PlanDocument): string[] {
  const { summary, resources } = plan;
  const renames = renamedIn(resources).length;
  const applied = listOf(
    counts(summary, ['create', 'update', 'replace', 'adopt', 'forget']),
    renames > 0 && `${renames} to rename`,
  );
  const notApplied = countNotApplied(resources);
  const noop = summary.noop - notApplied - renames;
  const later = appliedActions.flatMap(byAction(resources)).filter(({ steps = [] }) => steps.length > 0).length;
  const rest = listOf(
    counts(summary, pendingActions),
    later > 0 && `${later} manual afterwards`,
    notApplied > 0 && `${notApplied} not applied by the platform`,
    counts({ ...summary, noop }, ['noop']),
  );
  if (applied !== '') return [`Plan: ${applied}.`, ...(rest === '' ? [] : [`${rest}.`])];
  if (counts(summary, pendingActions) !== '') return ['No changes to apply.', `${rest}.`];
  if (summary.noop === 0) return ['No changes.', 'No resources are declared.'];
  const unverified = resources.reduce((sum, { unverified = [] }) => sum + unverified.length, 0);
  const inSync = noop === 1 ? '1 resource is in sync' : `${noop} resources are in sync`;
  return [
    'No changes.',
    ...(notApplied === 0 ? [] : [`${notApplied} not applied by the platform.`]),
    ...(noop === 0 ? [] : [`${inSync}${unverified === 0 ? '' : ` (${plural(unverified, 'field')} unverified)`}.`]),
  ];
}

function listOf(...parts: readonly (string | false)[]): string {
  return parts.filter(Boolean).join(', ');
}

/** Returns the number of unchanged resources with a field that the platform did not apply. */
export function countNotApplied(resources: readonly PlannedResource[]): number {
  return resources.filter((each) => each.action === 'noop' && each.previous_address === undefined && isNotApplied(each))
    .length;
}

export interface AppliedWrite {
  readonly resource: PlannedResource;
  readonly result: ResourceResult;
}

/** Returns the planned writes of an apply with their results, in display order. */
export function appliedWrites({ plan, results }: ApplyReport): AppliedWrite[] {
  return appliedActions.flatMap(byAction(plan.resources)).flatMap((resource): AppliedWrite[] => {
    const result = results.get(resource.address);
    return result === undefined ? [] : [{ resource, result }];
  });
}

export function skippedGroups(writes: readonly AppliedWrite[]) {
  const skipped = writes.flatMap(({ resource: { address }, result }) =>
    result.status === 'skipped' ? [{ address, because: result.because }] : [],
  );
  return [...Map.groupBy(skipped, ({ because }) => because)].map(([because, members]) => ({
    because,
    addresses: members.map(({ address }) => address),
  }));
}

/** Returns the resources with remaining steps for the user, including resources that were written. */
export function remainingResources(report: ApplyReport): PlannedResource[] {
  const withManualSteps = appliedWrites(report).filter(needsManualStep);
  return [
    ...pendingActions.flatMap(byAction(report.plan.resources)),
    ...withManualSteps.map(({ resource }) => resource),
  ];
}

/** True if the resource was written, but has a remaining step that the API cannot do. */
function needsManualStep({ resource: { steps = [] }, result }: AppliedWrite): boolean {
  return result.status === 'done' && steps.length > 0;
}

/** Returns the reason why an apply ended early as one or two sentences, or undefined if the apply did not end early. */
export function earlyEnd(report: ApplyReport): string | undefined {
  const { interrupted, results } = report;
  if (interrupted !== undefined) {
    const isComplete = [...results.values()].every(({ status }) => status === 'done');
    return isComplete
      ? `Interrupted by ${interrupted}. All changes were already applied.`
      : `Interrupted by ${interrupted}. Requests in flight were finished; run apply again for the rest.`;
  }
  const halted = haltOf(report);
  return halted && `Stopped early: ${halted}. Run plan before you apply again.`;
}

/** Returns the reason why an apply stopped early as a clause, or undefined if no resource was affected. */
export function haltOf({ halted, results, stateError }: ApplyReport): string | undefined {
  if (halted !== undefined && stateError !== undefined) return `${halted}: ${stateError}`;
  return [...results.values()].some((result) => result.status === 'skipped' && result.because === halted)
    ? halted
    : undefined;
}

/** Returns the import step of a record that was created but not saved to the state, or undefined for any other result. */
export function unrecordedStep({ result }: AppliedWrite): NextStep | undefined {
  if (result.status !== 'failed') return undefined;
  return result.next?.find((step) => step.action === 'import' && step.reason === 'unsaved');
}

/** Returns the number of resources with a field for which the platform kept its own value. */
export function notAppliedAfter({ plan, results }: ApplyReport): number {
  return plan.resources.filter((resource) => {
    const result = results.get(resource.address);
    return result?.status === 'done' ? result.notApplied !== undefined : isNotApplied(resource);
  }).length;
}

/** Returns a string such as `2 created, 1 failed`, or an empty string if there were no writes. */
export function appliedCounts(report: ApplyReport): string {
  const words = appliedWrites(report).map((entry) => {
    const { done } = actionWords[entry.resource.action];
    if (unrecordedStep(entry) !== undefined) return `${done} but not recorded`;
    return entry.result.status === 'done' ? done : entry.result.status;
  });
  const order = (word: string) => (word === 'skipped' ? 3 : word === 'failed' ? 2 : word.includes(' ') ? 1 : 0);
  return [...Map.groupBy(words, (word) => word)]
    .sort(([a], [b]) => order(a) - order(b))
    .map(([word, { length }]) => `${length} ${word}`)
    .join(', ');
}

/** Returns the closing sentences of an apply, such as `Applied: 2 created, 1 failed.` and `1 manual.` */
export function applySummary(report: ApplyReport): string[] {
  const { summary } = report.plan;
  const renames = renamedBy(report).length;
  const applied = listOf(renames > 0 && `${renames} renamed`, appliedCounts(report));
  const withManualSteps = appliedWrites(report).filter(needsManualStep).length;
  const remaining = counts({ ...summary, manual: summary.manual + withManualSteps }, pendingActions);
  const notApplied = notAppliedAfter(report);
  return [
    applied === '' ? 'Nothing to apply.' : `Applied: ${applied}.`,
    ...(notApplied === 0 ? [] : [`${notApplied} not applied by the platform.`]),
    ...(remaining === '' ? [] : [`${remaining}.`]),
  ];
}
