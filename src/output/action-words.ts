import { type ApplyReport, type ResourceResult, renamedBy } from '../engine/apply/apply-report.ts';
import type { Action } from '../engine/plan/plan-actions.ts';
import { isNotApplied, type PlanDocument, type PlannedResource, renamedIn } from '../engine/plan/plan-document.ts';
import type { NextStep } from '../problems/next-step.ts';
import { plural } from './plural.ts';

/** The words and symbol of an action, the same in all formats. */
interface WordsOfAction {
  /** Terraform's symbol, where Terraform has the action. */
  readonly symbol: string;
  readonly heading: string;
  /** Added to the heading if the reasons of the resources do not explain it. */
  readonly explanation?: string;
  /** In `Plan: 1 to create.` */
  readonly count: string;
  /** In `Applied: 1 created.` */
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

/** The actions of an apply, in display order. */
export const appliedActions = ['create', 'adopt', 'update', 'replace', 'forget'] as const satisfies Action[];
/** The actions that an apply leaves to a person. */
export const pendingActions = ['manual', 'blocked', 'unknown'] as const satisfies Action[];
/** The order of the groups. */
export const shownActions: readonly Action[] = [...appliedActions, ...pendingActions];

/** The resources of each action, in the plan's order. */
export function byAction(resources: readonly PlannedResource[]): (action: Action) => readonly PlannedResource[] {
  const groups = Map.groupBy(resources, (resource) => resource.action);
  return (action) => groups.get(action) ?? [];
}

/** `1 to create, 2 to update`; empty without these actions. */
export function counts(summary: PlanDocument['summary'], actions: readonly Action[]): string {
  return actions
    .filter((action) => summary[action] > 0)
    .map((action) => `${summary[action]} ${actionWords[action].count}`)
    .join(', ');
}

const wordsByName: Readonly<Record<string, WordsOfAction | undefined>> = actionWords;

/** `2 to create, 1 not applied`: actions and statuses, without resources in sync. */
export function countWords(found: Readonly<Record<string, number>>): string[] {
  return Object.entries(found)
    .filter(([name, count]) => count > 0 && name !== 'in_sync' && name !== 'noop')
    .map(([name, count]) => `${count} ${wordsByName[name]?.count ?? name.replaceAll('_', ' ')}`);
}

/** `2 created, 1 closed`: executed actions, including those that never occur in a plan. */
export function doneWords(done: Readonly<Record<string, number>>): string[] {
  const past = (action: string) => `${action}${action.endsWith('e') ? 'd' : 'ed'}`;
  return Object.entries(done).map(([action, count]) => `${count} ${wordsByName[action]?.done ?? past(action)}`);
}

/** The closing sentences of a plan, such as `Plan: 1 to create, 2 to update.` and `3 manual, 41 unchanged.` */
export function planSummary(plan: PlanDocument): string[] {
  const { summary, resources } = plan;
  const renames = renamedIn(resources).length;
  const applied = listOf(
    counts(summary, ['create', 'update', 'replace', 'adopt', 'forget']),
    renames > 0 && `${renames} to rename`,
  );
  const kept = notAppliedIn(resources);
  const noop = summary.noop - kept - renames;
  const later = appliedActions.flatMap(byAction(resources)).filter(({ steps = [] }) => steps.length > 0).length;
  const rest = listOf(
    counts(summary, pendingActions),
    later > 0 && `${later} manual afterwards`,
    kept > 0 && `${kept} not applied by the platform`,
    counts({ ...summary, noop }, ['noop']),
  );
  if (applied !== '') return [`Plan: ${applied}.`, ...(rest === '' ? [] : [`${rest}.`])];
  if (counts(summary, pendingActions) !== '') return ['No changes to apply.', `${rest}.`];
  if (summary.noop === 0) return ['No changes.', 'No resources are declared.'];
  const unverified = resources.reduce((sum, { unverified = [] }) => sum + unverified.length, 0);
  const inSync = noop === 1 ? '1 resource is in sync' : `${noop} resources are in sync`;
  return [
    'No changes.',
    ...(kept === 0 ? [] : [`${kept} not applied by the platform.`]),
    ...(noop === 0 ? [] : [`${inSync}${unverified === 0 ? '' : ` (${plural(unverified, 'field')} unverified)`}.`]),
  ];
}

function listOf(...parts: readonly (string | false)[]): string {
  return parts.filter(Boolean).join(', ');
}

/** The number of unchanged resources with a field that the platform did not apply. */
export function notAppliedIn(resources: readonly PlannedResource[]): number {
  return resources.filter((each) => each.action === 'noop' && each.previous_address === undefined && isNotApplied(each))
    .length;
}

export interface AppliedWrite {
  readonly resource: PlannedResource;
  readonly result: ResourceResult;
}

/** The planned writes of an apply, in display order. */
export function appliedIn({ plan, results }: ApplyReport): AppliedWrite[] {
  return appliedActions.flatMap(byAction(plan.resources)).flatMap((resource): AppliedWrite[] => {
    const result = results.get(resource.address);
    return result === undefined ? [] : [{ resource, result }];
  });
}

export function skippedIn(writes: readonly AppliedWrite[]) {
  const skipped = writes.flatMap(({ resource: { address }, result }) =>
    result.status === 'skipped' ? [{ address, because: result.because }] : [],
  );
  return [...Map.groupBy(skipped, ({ because }) => because)].map(([because, members]) => ({
    because,
    addresses: members.map(({ address }) => address),
  }));
}

/** The remaining steps for a person, also for written resources. */
export function leftIn(report: ApplyReport): PlannedResource[] {
  const halfDone = appliedIn(report).filter(isHalfDone);
  return [...pendingActions.flatMap(byAction(report.plan.resources)), ...halfDone.map(({ resource }) => resource)];
}

/** Written, with a remaining step that the API cannot do. */
function isHalfDone({ resource: { steps = [] }, result }: AppliedWrite): boolean {
  return result.status === 'done' && steps.length > 0;
}

/** Why an apply ended early, as a sentence or two, if it did. */
export function earlyEnd(report: ApplyReport): string | undefined {
  const { interrupted, results } = report;
  if (interrupted !== undefined) {
    const isWhole = [...results.values()].every(({ status }) => status === 'done');
    return isWhole
      ? `Interrupted by ${interrupted}. Nothing was left to do.`
      : `Interrupted by ${interrupted}. Requests in flight were finished; run apply again for the rest.`;
  }
  const halted = haltOf(report);
  return halted && `Stopped early: ${halted}. Run plan before you apply again.`;
}

/** Why something was skipped or not recorded, as a clause. A halt that skipped nothing is left out. */
export function haltOf({ halted, results, stateError }: ApplyReport): string | undefined {
  if (halted !== undefined && stateError !== undefined) return `${halted}: ${stateError}`;
  return [...results.values()].some((result) => result.status === 'skipped' && result.because === halted)
    ? halted
    : undefined;
}

/** The import step of a record that was created but not saved to the state; undefined for any other result. */
export function unrecordedStep({ result }: AppliedWrite): NextStep | undefined {
  if (result.status !== 'failed') return undefined;
  return result.next?.find((step) => step.action === 'import' && step.reason === 'unsaved');
}

/** Resources with a field for which the platform kept its own value. */
export function notAppliedAfter({ plan, results }: ApplyReport): number {
  return plan.resources.filter((resource) => {
    const result = results.get(resource.address);
    return result?.status === 'done' ? result.notApplied !== undefined : isNotApplied(resource);
  }).length;
}

/** `2 created, 1 failed`; empty without writes. */
export function appliedCounts(report: ApplyReport): string {
  const words = appliedIn(report).map((entry) => {
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

/** The closing sentences of an apply, such as `Applied: 2 created, 1 failed.` and `1 manual.` */
export function applySummary(report: ApplyReport): string[] {
  const { summary } = report.plan;
  const renames = renamedBy(report).length;
  const said = listOf(renames > 0 && `${renames} renamed`, appliedCounts(report));
  const halfDone = appliedIn(report).filter(isHalfDone).length;
  const left = counts({ ...summary, manual: summary.manual + halfDone }, pendingActions);
  const kept = notAppliedAfter(report);
  return [
    said === '' ? 'Nothing to apply.' : `Applied: ${said}.`,
    ...(kept === 0 ? [] : [`${kept} not applied by the platform.`]),
    ...(left === '' ? [] : [`${left}.`]),
  ];
}
