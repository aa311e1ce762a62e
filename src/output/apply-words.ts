import type { ApplyReport, ResourceResult } from '../engine/apply/apply-report.ts';
import { isNotApplied, type PlannedResource } from '../engine/plan/plan-document.ts';
import type { NextStep } from '../problems/next-step.ts';
import { actionWords, appliedActions, byAction, counts, pendingActions } from './action-words.ts';

export interface AppliedWrite {
  readonly resource: PlannedResource;
  readonly result: ResourceResult;
}

/** What an apply was to write, in the order in which it is shown. */
export function appliedIn({ plan, results }: ApplyReport): AppliedWrite[] {
  return appliedActions.flatMap(byAction(plan.resources)).flatMap((resource): AppliedWrite[] => {
    const result = results.get(resource.address);
    return result === undefined ? [] : [{ resource, result }];
  });
}

/** What was not reached, by the reason for it. */
export function skippedIn(
  writes: readonly AppliedWrite[],
): { readonly because: string; readonly addresses: readonly string[] }[] {
  const skipped = writes.flatMap(({ resource: { address }, result }) =>
    result.status === 'skipped' ? [{ address, because: result.because }] : [],
  );
  return [...Map.groupBy(skipped, ({ because }) => because)].map(([because, members]) => ({
    because,
    addresses: members.map(({ address }) => address),
  }));
}

/** What is still to be done by a person, also of what was written. */
export function leftIn(report: ApplyReport): PlannedResource[] {
  const halfDone = appliedIn(report).filter(isHalfDone);
  return [
    ...pendingActions.flatMap(byAction(report.plan.resources)),
    ...halfDone.map(({ resource }) => resource),
  ];
}

/** Written, with something left that no endpoint writes. */
function isHalfDone({ resource: { steps = [] }, result }: AppliedWrite): boolean {
  return result.status === 'done' && steps.length > 0;
}

/** Why an apply ended before its end, as a sentence or two; undefined where it did not. */
export function earlyEnd(report: ApplyReport): string | undefined {
  if (report.interrupted !== undefined)
    return `Interrupted by ${report.interrupted}. Requests in flight were finished; run apply again for the rest.`;
  const halted = haltOf(report);
  if (halted === undefined) return undefined;
  return `Stopped early: ${halted}. Run plan before you apply again.`;
}

/** Why something was left out or not recorded, as a clause. What halted a run that had nothing left to start changed nothing. */
export function haltOf({ halted, results, stateError }: ApplyReport): string | undefined {
  if (halted !== undefined && stateError !== undefined) return `${halted}: ${stateError}`;
  return [...results.values()].some((result) => result.status === 'skipped' && result.because === halted)
    ? halted
    : undefined;
}

/** How to record what the platform has and the state does not; undefined for any other result. */
export function unrecordedStep({ result }: AppliedWrite): NextStep | undefined {
  if (result.status !== 'failed') return undefined;
  return result.next?.find((step) => step.action === 'import' && step.reason === 'unsaved');
}

/** The resources of which the platform keeps its own value of something. */
export function notAppliedAfter({ plan, results }: ApplyReport): number {
  return plan.resources.filter((resource) => {
    const result = results.get(resource.address);
    return result?.status === 'done' ? result.notApplied !== undefined : isNotApplied(resource);
  }).length;
}

/** `2 created, 1 failed`; empty where nothing was to be written. */
export function appliedCounts(report: ApplyReport): string {
  const words = appliedIn(report).map((entry) => {
    const { done } = actionWords[entry.resource.action];
    if (unrecordedStep(entry) !== undefined) return `${done} but not recorded`;
    return entry.result.status === 'done' ? done : entry.result.status;
  });
  const order = (word: string) =>
    word === 'skipped' ? 3 : word === 'failed' ? 2 : word.includes(' ') ? 1 : 0;
  return [...Map.groupBy(words, (word) => word)]
    .sort(([a], [b]) => order(a) - order(b))
    .map(([word, { length }]) => `${length} ${word}`)
    .join(', ');
}

/** The closing sentences of an apply, e.g. `Applied: 2 created, 1 failed.` and `1 manual.` */
export function applySummary(report: ApplyReport): string[] {
  const said = appliedCounts(report);
  const { summary } = report.plan;
  const halfDone = appliedIn(report).filter(isHalfDone).length;
  const left = counts({ ...summary, manual: summary.manual + halfDone }, pendingActions);
  const kept = notAppliedAfter(report);
  return [
    said === '' ? 'Nothing to apply.' : `Applied: ${said}.`,
    ...(kept === 0 ? [] : [`${kept} not applied by the platform.`]),
    ...(left === '' ? [] : [`${left}.`]),
  ];
}
