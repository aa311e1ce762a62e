import type { Hono } from 'hono';
import { UserError } from '../problems/user-error.ts';
import { mayPerform } from './access/person.ts';
import { typedText } from './list-query.ts';
import { type FreezeAction, freezeActions, freezeConflicts, type PageSource } from './page-data.ts';
import { type PageEnv, type PageResponses, readForm } from './page-responses.ts';
import { freezeView, pageActionWords } from './views/small-views.ts';

/** Adds the pages that freeze and resume a fleet. */
export function addFreezeRoutes(app: Hono<PageEnv>, source: PageSource, responses: PageResponses): void {
  const { freezing } = source;
  if (freezing === undefined) return;
  for (const action of freezeActions) {
    const { heading } = pageActionWords[action];
    const path = `/${action}`;
    app.get(path, (c) => {
      const { person } = c.var.visitor;
      if (person === undefined) return responses.showSignIn(c, path, 401);
      if (!mayPerform(person, action)) return responses.showForbidden(c, action, '/');
      if ((action === 'freeze') === (c.var.freeze !== undefined))
        return responses.showNote(c, 409, { heading: 'Not possible', text: freezeConflicts[action] });
      return responses.show(c, freezeView(action, responses.context(c)), {
        title: heading,
        live: responses.liveSubject(),
      });
    });
    app.post(path, async (c) => {
      const form = await readForm(c);
      const by = await responses.checkSender(c, { action, form, to: path, back: '/' });
      if (by instanceof Response) return by;
      const reason = typedText(form.get('because'));
      if (action === 'freeze' && reason === undefined)
        return responses.showNote(c, 400, { heading: 'Action refused', text: 'Give a reason.', back: path });
      try {
        await freezing.act(action, { by, because: reason ?? '' });
        return c.redirect('/', 303);
      } catch (error) {
        if (!(error instanceof UserError)) throw error;
        return responses.showFailure(c, 409, error);
      }
    });
  }
}

export function freezeActionAt(path: string): FreezeAction | undefined {
  return freezeActions.find((action) => path === `/${action}`);
}
