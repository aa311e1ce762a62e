import type { PlanDocument } from '../../engine/plan-document.ts';
import { writes } from '../../engine/plan-document.ts';
import { counts, shownActions } from '../../output/action-words.ts';
import { UserError } from '../../problems/user-error.ts';
import type { Context } from '../context.ts';

/**
 * Asks whether to carry a plan out.
 * @throws UserError where nobody can be asked.
 */
export async function confirm({ terminal, interrupts }: Context, document: PlanDocument): Promise<boolean> {
  if (!terminal.canAsk) {
    throw new UserError('there is no terminal to ask for approval, so nothing was written', {
      hint: 'Approve on the command line: voxform apply --auto-approve. Or save a plan, look at it, and apply that.',
    });
  }
  const what = counts(
    document.summary,
    shownActions.filter((action) => writes.has(action)),
  );
  const question = `\nApply to ${document.workspace} (${document.workspace_id}): ${what}?\nOnly "yes" is taken for an answer: `;
  const answer = await terminal.ask(question, interrupts.stop);
  return answer?.trim() === 'yes';
}
