import type { PlanDocument } from '../../engine/plan/plan-document.ts';
import { writes } from '../../engine/plan/plan-document.ts';
import { counts, shownActions } from '../../output/action-words.ts';
import { UserError } from '../../problems/user-error.ts';
import type { Context } from '../context.ts';

export interface Approval {
  /** Without the line that says what an answer is. */
  readonly question: string;
  /** What else a person can do where nobody can be asked. */
  readonly hint: string;
}

/**
 * Asks whether to go on.
 * @throws UserError where nobody can be asked.
 */
export async function approve(
  { terminal, interrupts }: Context,
  { question, hint }: Approval,
): Promise<boolean> {
  if (!terminal.canAsk) {
    throw new UserError('there is no terminal to ask for approval, so nothing was written', { hint });
  }
  const answer = await terminal.ask(`\n${question}\nOnly "yes" is taken for an answer: `, interrupts.stop);
  return answer?.trim() === 'yes';
}

/**
 * Asks whether to carry a plan out.
 * @throws UserError where nobody can be asked.
 */
export async function confirm(context: Context, document: PlanDocument): Promise<boolean> {
  const what = counts(
    document.summary,
    shownActions.filter((action) => writes.has(action)),
  );
  return approve(context, {
    question: `Apply to ${document.workspace} (${document.workspace_id}): ${what}?`,
    hint: 'Approve on the command line, with --auto-approve, once you have seen the plan: voxform plan --out FILE saves what you saw.',
  });
}
