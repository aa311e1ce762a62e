import { writes } from '../../engine/plan/plan-actions.ts';
import type { PlanDocument } from '../../engine/plan/plan-document.ts';
import { counts, shownActions } from '../../output/action-words.ts';
import { type Advice, advice, command, ExitCode, UserError } from '../../problems/user-error.ts';
import type { StateSession } from '../../state/session.ts';
import type { Context } from '../context.ts';

export interface Approval {
  /** The question, without the line that asks for `yes`. */
  readonly question: string;
  /** The verb that completes the prompt "Type yes to". */
  readonly verb: string;
  /** Explains how to approve without a terminal. */
  readonly hint: Advice;
}

/**
 * Asks the user to approve.
 * @throws UserError if there is no terminal on which to ask.
 */
export async function approve({ terminal, interrupts }: Context, { question, verb, hint }: Approval): Promise<boolean> {
  if (!terminal.canAsk) throw new UserError('approval needs a terminal; nothing was written', { hint });
  const answer = await terminal.ask(`\n${question}\nType yes to ${verb}: `, interrupts.stop);
  return answer?.trim() === 'yes';
}

/**
 * Reports that the user did not approve, and returns the exit code.
 * @param what the action that was cancelled, such as `apply`.
 */
export function cancelled(
  { log, interrupts }: Context,
  { what, session }: { readonly what?: string; readonly session?: Pick<StateSession, 'note'> } = {},
): number {
  log.warn(`${what === undefined ? '' : `${what} `}cancelled: nothing was written`);
  session?.note({ result: 'refused', error: 'not approved' });
  return interrupts.exitCode ?? ExitCode.error;
}

/**
 * Asks the user to approve a plan.
 * @throws UserError if there is no terminal on which to ask.
 */
export async function confirm(context: Context, document: PlanDocument): Promise<boolean> {
  const changes = counts(
    document.summary,
    shownActions.filter((action) => writes.has(action)),
  );
  return approve(context, {
    question: `Apply to ${document.workspace} (${document.workspace_id}): ${changes}?`,
    verb: 'apply',
    hint: advice`Review with ${command('plan --out FILE')} and apply that file, or approve with --auto-approve.`,
  });
}
