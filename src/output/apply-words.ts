import type { ApplyReport, ResourceResult } from '../engine/apply/apply-report.ts';
import { isNotApplied, type PlannedResource } from '../engine/plan/plan-document.ts';
import { actionWords, appliedActions, byAction, counts, pendingActions } from './action-words.ts';

/** A resource that the apply was to write, with what became of it. */
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

function interruption(signal: string): string {
  return `Interrupted by ${signal}. Requests in flight were finished; run apply again for the rest.`;
}

/** Why an apply ended before its end, as a sentence or two; undefined where it did not. */
export function earlyEnd(report: ApplyReport): string | undefined {
  if (report.interrupted !== undefined) return interruption(report.interrupted);
  const halted = haltOf(report);
  if (halted === undefined) return undefined;
  return `Stopped early: ${halted}. Run plan before you apply again.`;
}

/** Why something was left out, as a clause. What halted a run that had nothing left to start changed nothing. */
export function haltOf({ halted, results }: ApplyReport): string | undefined {
  return [...results.values()].some((result) => result.status === 'skipped' && result.because === halted)
    ? halted
    : undefined;
}

/** The resources of which the platform keeps its own value of something. */
export function notAppliedAfter({ plan, results }: ApplyReport): number {
  return plan.resources.filter((resource) => {
    const result = results.get(resource.address);
    return result?.status === 'done' ? result.notApplied !== undefined : isNotApplied(resource);
  }).length;
}

/** The closing sentences of an apply, e.g. `Applied: 2 created, 1 failed.` and `1 manual.` */
export function applySummary(report: ApplyReport): string[] {
  const applied = appliedIn(report);
  const number = (holds: (entry: AppliedWrite) => boolean) => applied.filter(holds).length;
  const done = appliedActions.map(
    (action) =>
      [
        number(({ resource, result }) => resource.action === action && result.status === 'done'),
        actionWords[action].done,
      ] as const,
  );
  const said = [
    ...done,
    [number(({ result }) => result.status === 'failed'), 'failed'] as const,
    [number(({ result }) => result.status === 'skipped'), 'skipped'] as const,
  ]
    .filter(([count]) => count > 0)
    .map(([count, word]) => `${count} ${word}`)
    .join(', ');
  const { summary } = report.plan;
  const left = counts({ ...summary, manual: summary.manual + number(isHalfDone) }, pendingActions);
  const kept = notAppliedAfter(report);
  return [
    said === '' ? 'Nothing to apply.' : `Applied: ${said}.`,
    ...(kept === 0 ? [] : [`${kept} not applied by the platform.`]),
    ...(left === '' ? [] : [`${left}.`]),
  ];
}
