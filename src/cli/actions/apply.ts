import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { apply } from '../../engine/apply.ts';
import type { PlanDocument } from '../../engine/plan-document.ts';
import type { Planned } from '../../engine/reconcile.ts';
import type { ApplyReport, ResourceResult } from '../../engine/report.ts';
import { resume } from '../../engine/resume.ts';
import { parseSavedPlan } from '../../engine/saved-plan.ts';
import { kinds } from '../../kinds/index.ts';
import { verifyWorkspace } from '../../kinds/workspace-check.ts';
import { applyJson } from '../../output/apply-json.ts';
import { renderApply } from '../../output/apply-text.ts';
import { jsonText } from '../../output/json-text.ts';
import { renderPlanText } from '../../output/plan-text.ts';
import { ExitCode, UserError } from '../../problems/user-error.ts';
import type { StateSession } from '../../state/session.ts';
import { VERSION } from '../../version.ts';
import type { Context } from '../context.ts';
import type { LockFlags, PlanFlags } from '../flags.ts';
import { warnOfStateInGit } from '../git-state.ts';
import { type OpenWorkspace, openWorkspace } from '../open-workspace.ts';
import { withSession } from '../with-session.ts';
import { confirm } from './confirm.ts';
import {
  changesIn,
  commonInput,
  type PlanFormat,
  planAll,
  progressFor,
  rendered,
  strictCode,
} from './planning.ts';

export interface ApplyOptions extends PlanFlags, LockFlags {
  readonly output: PlanFormat;
  readonly autoApprove?: boolean;
  readonly allowLargeChange?: boolean;
  readonly allowOwnerChange?: boolean;
  readonly onError: 'continue' | 'stop';
}

export async function applyChanges(
  context: Context,
  file: string | undefined,
  options: ApplyOptions,
): Promise<number> {
  if (file !== undefined) refuseScopeOf(options);
  const saved = file === undefined ? undefined : await readSavedPlan(context, file);
  const opened = await openWorkspace(context, { requireKey: true });
  const resources = saved === undefined ? (await opened.desired()).resources : [];
  await warnOfStateInGit(context, opened.workspace.state.path);
  const wanted = { operation: 'apply', flags: options, fresh: saved?.state };
  return withSession(opened, wanted, async ({ session, client }) => {
    const progress = progressFor(context);
    const surroundings = { opened, state: session.state, client, progress, flags: options };
    const planned =
      saved === undefined
        ? await planAll(context, { ...surroundings, desired: resources })
        : await resume({ ...commonInput(context, surroundings), saved, secret: opened.secretNamed() });
    progress.clear();
    return carryOut(context, { opened, session, planned, options });
  });
}

interface Carrying {
  readonly opened: OpenWorkspace;
  readonly session: StateSession;
  readonly planned: Planned;
  readonly options: ApplyOptions;
}

async function carryOut(context: Context, { opened, session, planned, options }: Carrying): Promise<number> {
  const { document } = planned.plan;
  show(context, document, options);
  if (changesIn(document) > 0) {
    refuseTrippedGuards(document, options);
    const approved = options.autoApprove || (await confirm(context, document));
    if (!approved) {
      context.log.warn('not applied: nothing was written');
      return context.interrupts.exitCode ?? ExitCode.error;
    }
  }

  const { interrupts } = context;
  interrupts.patient = true;
  const onStop = () =>
    context.log.warn('interrupted: what is under way is finished first; once more ends the run at once');
  interrupts.stop.addEventListener('abort', onStop, { once: true });
  const progress = progressFor(context);
  const told = await apply({
    plan: planned.plan,
    observedAt: planned.observedAt,
    observing: planned.observing,
    fingerprints: planned.fingerprints,
    kinds,
    client: planned.observing.client,
    session,
    concurrency: planned.observing.concurrency,
    onError: options.onError,
    verifyWorkspace: () => verifyWorkspace(planned.observing.client, opened.workspace.workspaceId),
    stop: interrupts.stop,
    secret: opened.secretNamed(),
    now: context.now,
    onEvent: (event) =>
      progress.apply(
        event.type === 'finished' ? { ...event, result: withoutSecrets(event.result, context) } : event,
      ),
  });
  const results = new Map([...told.results].map(([at, result]) => [at, withoutSecrets(result, context)]));
  const report = { ...told, results };
  progress.clear();
  tell(context, report, options);
  if (interrupts.exitCode !== undefined) return interrupts.exitCode;
  const isWhole = [...report.results.values()].every(({ status }) => status === 'done');
  return isWhole ? strictCode(document, options) : ExitCode.error;
}

/** Strikes secrets out of what an error says while it is whole: later its lines are broken and its characters escaped. */
function withoutSecrets(result: ResourceResult, { redactor }: Context): ResourceResult {
  if (result.status !== 'failed') return result;
  const { error, hint } = result;
  return {
    ...result,
    error: redactor.redact(error),
    ...(hint !== undefined && { hint: redactor.redact(hint) }),
  };
}

/** The plan before it is carried out: the result itself where results are text, else only for who is asked about it. */
function show(context: Context, document: PlanDocument, { output, autoApprove }: ApplyOptions): void {
  const { terminal, verbose } = context;
  if (output === 'text') terminal.out(rendered(document, 'text', context));
  else if (!autoApprove && terminal.canAsk) {
    terminal.err(renderPlanText(document, terminal.errorStyle, { verbose }));
  }
}

function tell(context: Context, report: ApplyReport, { output }: ApplyOptions): void {
  const { terminal } = context;
  if (output === 'json') terminal.out(jsonText(applyJson(report)));
  else if (output !== 'text') terminal.out(rendered(report.plan, output, context));
  else if (report.results.size > 0) terminal.out(`\n${renderApply(report, terminal.style)}`);
}

function refuseTrippedGuards({ guards }: PlanDocument, options: ApplyOptions): void {
  const lifted = new Set([
    ...(options.allowLargeChange ? ['--allow-large-change'] : []),
    ...(options.allowOwnerChange ? ['--allow-owner-change'] : []),
  ]);
  const tripped = guards.filter(({ flag }) => !lifted.has(flag));
  if (tripped.length === 0) return;
  const flags = [...new Set(tripped.map(({ flag }) => flag))].join(' and ');
  throw new UserError(`nothing was written: ${tripped.map(({ message }) => message).join('; ')}`, {
    hint: `If that is what you want, apply with ${flags}: everything in the plan is then carried out.`,
  });
}

function refuseScopeOf({ target, selector, allowReplace }: ApplyOptions): void {
  if (target === undefined && selector === undefined && allowReplace === undefined) return;
  throw new UserError(
    'a saved plan is applied as it is: --target, --selector and --allow-replace belong to plan',
    {
      hint: 'Make the plan with them: voxform plan --target ADDRESS --out FILE',
      exitCode: ExitCode.usage,
    },
  );
}

async function readSavedPlan({ cwd }: Context, file: string): Promise<PlanDocument> {
  let text: string;
  try {
    text = await readFile(path.resolve(cwd, file), 'utf8');
  } catch (cause) {
    const reason =
      (cause as NodeJS.ErrnoException).code === 'ENOENT' ? 'there is no such file' : String(cause);
    throw new UserError(`the plan ${file} cannot be read: ${reason}`, {
      hint: 'Make one: voxform plan --out FILE. Without a file, apply plans by itself.',
      cause,
    });
  }
  return parseSavedPlan(text, { file, version: VERSION });
}
