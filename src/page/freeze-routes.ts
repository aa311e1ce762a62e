import type { Hono } from 'hono';
import { UserError } from '../problems/user-error.ts';
import { may } from './access/person.ts';
import { typedText } from './list-query.ts';
import { formOf, type PageAnswers, type PageEnv } from './page-answers.ts';
import { type FreezeAction, freezeActions, needless, type PageSource } from './page-data.ts';
import { freezeView, pageActionWords } from './views/small-views.ts';

interface FreezeRoutes {
  readonly source: PageSource;
  readonly answers: PageAnswers;
}

/** Adds the pages that freeze and resume a fleet. */
export function addFreezeRoutes(app: Hono<PageEnv>, { source, answers }: FreezeRoutes): void {
  const { freezing } = source;
  if (freezing === undefined) return;
  for (const action of freezeActions) {
    const { heading } = pageActionWords[action];
    const path = `/${action}`;
    app.get(path, (c) => {
      const { person } = c.var.visitor;
      if (person === undefined) return answers.signIn(c, path, 401);
      if (!may(person, action)) return answers.forbidden(c, action, '/');
      if ((action === 'freeze') === (c.var.freeze !== undefined))
        return answers.note(c, 409, { heading: 'Not possible', text: needless[action] });
      return answers.show(c, freezeView(action, answers.context(c)), { title: heading, follows: answers.follow() });
    });
    app.post(path, async (c) => {
      const form = await formOf(c);
      const by = await answers.sender(c, { action, form, to: path, back: '/' });
      if (by instanceof Response) return by;
      const because = typedText(form.get('because'));
      if (action === 'freeze' && because === undefined)
        return answers.note(c, 400, { heading: 'Not done', text: 'Give a reason.', back: path });
      try {
        await freezing.act(action, { by, because: because ?? '' });
        return c.redirect('/', 303);
      } catch (error) {
        if (!(error instanceof UserError)) throw error;
        return answers.failed(c, 409, error);
      }
    });
  }
}

export function freezeActionAt(path: string): FreezeAction | undefined {
  return freezeActions.find((action) => path === `/${action}`);
}
