import { type ApplyReport, renamedBy } from '../../engine/apply/apply-report.ts';
import type { PlanResult } from '../../engine/engine.ts';
import type { PlanDocument } from '../../engine/plan/plan-document.ts';
import { notAppliedAfter } from '../../output/action-words.ts';
import { reportText } from '../../output/formats/text-format.ts';
import { applyReport, planReport } from '../../output/report.ts';
import { refuseInvalidWaivers } from '../../policies/waivers.ts';
import { advice, command, ExitCode, usageError } from '../../problems/user-error.ts';
import type { WorkspaceSelection } from '../../problems/workspace-command.ts';
import {
  type ApplyPlanInput,
  applyPlan,
  planInHistory,
  refuseTrippedGuards,
  unliftedGuards,
} from '../../runs/apply-plan.ts';
import { checkStateInCi, refuseFirstState } from '../../runs/first-state.ts';
import { planWithViolations, refuseDenied, revalidatedPlan } from '../../runs/judged-plan.ts';
import { openWorkspace, type SessionRequest, withSession } from '../../runs/open-workspace.ts';
import { changesIn, type PlanContext, readAheadIfCurrent, withManifests } from '../../runs/planning.ts';
import type { GuardOptions, LockOptions } from '../../runs/run-context.ts';
import type { Context } from '../context.ts';
import {
  type PlanFlags,
  type PolicyFlags,
  type WaiverFlags,
  type WorkspacesFlags,
  waiverOf,
  withPolicyFiles,
} from '../flags.ts';
import { cancelled, confirm } from './confirm.ts';
import {
  beginWriting,
  progressFor,
  type ReportFlags,
  report,
  requireAllowRecreateAll,
  requireOneWorkspace,
  strictCode,
} from './report.ts';
import { readSavedPlan } from './show.ts';

interface ApplyFlags
  extends PlanFlags,
    LockOptions,
    GuardOptions,
    WorkspacesFlags,
    ReportFlags,
    PolicyFlags,
    WaiverFlags {
  readonly 'plan-file'?: string;
  readonly autoApprove?: boolean;
  readonly onError: 'continue' | 'stop';
}

export async function applyChanges(given: Context, flags: ApplyFlags): Promise<number> {
  const context = withPolicyFiles(given, flags);
  const options = { ...flags, waiver: waiverOf(flags) };
  const file = options['plan-file'];
  requireOneWorkspace(context, options);
  requireAllowRecreateAll(options);
  if (file !== undefined) refusePlanFlags(options);
  const saved = file === undefined ? undefined : await readSavedPlan(context, file);
  const opened = await openWorkspace(context, { requireKey: true });
  // This starts git early, so that git runs while the manifests are read.
  void opened.commit();
  let isStateErrorShown = false;
  const onReported = ({ stateError }: ApplyReport): void => {
    isStateErrorShown = stateError !== undefined;
  };
  const planAndApply = (
    sources: Pick<SessionRequest, 'fresh' | 'client'>,
    plan: (surroundings: PlanContext) => Promise<PlanResult>,
  ): Promise<number> =>
    withSession(opened, { operation: 'apply', options, ...sources }, async ({ session, client }) => {
      if (saved !== undefined) session.note(planInHistory(saved));
      const progress = progressFor(context);
      const { state } = session;
      const planned = await plan({ opened, state, client, options, onProgress: progress.read });
      progress.clear();
      const isReviewed = saved !== undefined;
      return approveAndApply(context, { opened, session, planned, options, isReviewed, onReported });
    }).catch((error: unknown) => {
      // If the state cannot be stored, closing the session fails too. The report has already shown the error.
      if (!isStateErrorShown) throw error;
      return context.interrupts.exitCode ?? ExitCode.error;
    });
  await checkStateInCi(opened);
  if (saved !== undefined) {
    return planAndApply({ fresh: saved.state }, (surroundings) => revalidatedPlan(surroundings, saved));
  }
  return withManifests(opened, options, async ({ desired, early }) => {
    refuseInvalidWaivers(options.waiver?.rules ?? [], opened.ruleSet.rules);
    return planAndApply({ fresh: early?.state, client: early?.client }, (surroundings) =>
      planWithViolations({
        ...surroundings,
        desired,
        options,
        ahead: readAheadIfCurrent(early, surroundings.state),
      }),
    );
  });
}

interface ApprovedApply extends Pick<ApplyPlanInput, 'opened' | 'session' | 'planned'> {
  readonly options: ApplyFlags;
  /** True for a saved plan, which has been reviewed and therefore needs no approval. */
  readonly isReviewed: boolean;
  /** Called after the report has been printed. */
  onReported(report: ApplyReport): void;
}

async function approveAndApply(
  context: Context,
  { opened, session, planned, options, isReviewed, onReported }: ApprovedApply,
): Promise<number> {
  const { document } = planned.plan;
  const { selection } = opened;
  session.note(planInHistory(document));
  const isApproved = isReviewed || options.autoApprove === true;
  const isAsked = !isApproved && context.terminal.canAsk;
  const shownPlan = { ...document, guards: unliftedGuards(document.guards, options) };
  await printPlan(context, shownPlan, { ...options, isAsked, selection });
  refuseDenied(document);
  if (changesIn(document) > 0) {
    refuseTrippedGuards(document, { ...options, allowOlderCommit: options.allowOlderCommit || isAsked });
    refuseFirstState(opened, { session, document, needsApproval: isAsked });
    if (!isApproved && !(await confirm(context, document))) return cancelled(context, { what: 'apply', session });
  }

  const { interrupts } = context;
  const progress = beginWriting(context, changesIn(document));
  const applied = await applyPlan({
    opened,
    session,
    planned,
    onError: options.onError,
    onEvent: progress.apply,
  });
  progress.clear();
  if (options.output !== 'text' || applied.results.size + renamedBy(applied).length > 0) {
    const { full = context.verbose } = options;
    await report(context, { ...options, full, selection }, applyReport(applied));
    onReported(applied);
  }
  if (interrupts.exitCode !== undefined) return interrupts.exitCode;
  const isComplete = [...applied.results.values()].every(({ status }) => status === 'done');
  if (!isComplete || (options.strict && notAppliedAfter(applied) > 0)) return ExitCode.error;
  return strictCode(document, options);
}

/** Prints the plan before it is applied. If the output format is not text, prints to stderr, and only if approval is needed. */
async function printPlan(
  context: Context,
  document: PlanDocument,
  options: ApplyFlags & { readonly isAsked: boolean; readonly selection: WorkspaceSelection },
): Promise<void> {
  const { terminal, verbose } = context;
  const { output, full, isAsked, selection } = options;
  if (output === 'text') {
    await report(context, options, planReport(document));
  } else if (isAsked) {
    terminal.err(reportText(planReport(document), terminal.errorStyle, { verbose, full, selection }));
  }
}

/** @throws UserError if a flag that belongs to `plan` is given together with a saved plan. */
function refusePlanFlags(options: ApplyFlags): void {
  const { target, selector, allowReplace, allowRecreate, retryIgnored, waive } = options;
  const planFlags = [target, selector, allowReplace, allowRecreate, retryIgnored, waive];
  if (planFlags.every((flag) => flag === undefined)) return;
  throw usageError(
    'a saved plan does not take --target, --selector, --allow-replace, --allow-recreate, --retry-ignored or --waive',
    advice`Pass them to plan: ${command('plan --target ADDRESS --out FILE')}`,
  );
}
