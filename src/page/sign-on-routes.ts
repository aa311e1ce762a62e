import type { Hono } from 'hono';
import { UserError } from '../problems/user-error.ts';
import type { Access } from './access/access.ts';
import { ATTEMPT_SECONDS, MOST_ATTEMPTS, type SingleSignOn, stateIn } from './access/single-sign-on.ts';
import { ownPath, type PageAnswers, type PageContext, type PageEnv, setCookie } from './page-answers.ts';

/** Shown if the provider redirects to the page without an open sign-in attempt. */
export const LATE = {
  heading: 'Not signed in',
  text: 'This sign-in took too long, or was started in another browser.',
} as const;

interface SignOnRoutes {
  readonly signOn: SingleSignOn;
  readonly access: Access;
  readonly answers: PageAnswers;
  onError(error: unknown): void;
}

/** Adds the redirect to the provider, and the callback that the provider redirects to. */
export function addSignOnRoutes(app: Hono<PageEnv>, { signOn, access, answers, onError }: SignOnRoutes): void {
  app.get('/sign-in/provider', async (c) => {
    const to = ownPath(c.req.query('to'));
    const begun = await signOn.begin(to, c.req.query('again') !== undefined).catch((error) => away(c, to, error));
    if (begun instanceof Response) return begun;
    const { incoming } = c.env;
    for (const name of access.attemptNames(incoming).slice(0, 1 - MOST_ATTEMPTS)) setAttempt(c, name);
    setAttempt(c, access.attemptName(incoming, begun.state), begun.cookie);
    return c.redirect(begun.url.href, 302);
  });
  app.get('/sign-in/callback', async (c) => {
    const { search } = new URL(c.req.url);
    const result = await access
      .finishSignOn(signOn, c.env.incoming, { search, address: c.var.visitor.address })
      .catch((error) => away(c, '/', error));
    if (result instanceof Response) return result;
    if (result.type === 'wait') {
      c.header('retry-after', String(result.seconds));
      const text = `Too many failed attempts. Try again in ${result.seconds} s.`;
      return answers.note(c, 429, { heading: 'Not signed in', text });
    }
    // Any site can send a browser here, without the strict session cookie. Only the next page knows who is signed in.
    if (result.type === 'unknown')
      return answers.landing(c, { ...LATE, to: '/sign-in?late', link: 'Continue', status: 403 });
    setAttempt(c, access.attemptName(c.env.incoming, stateIn(search)));
    if (result.type === 'refused') {
      if (result.cause !== undefined) onError(result.cause);
      const { text } = result;
      return answers.note(c, 403, { heading: 'Not signed in', text, back: '/sign-in', link: 'Start again' });
    }
    const to = ownPath(result.to);
    if (result.type === 'no-role') {
      const text = `${result.name} has no role on this page. Ask an administrator for one.`;
      const back = signOn.startUrl(to, true);
      return answers.note(c, 403, { heading: 'No access', text, back, link: 'Use another account' });
    }
    const { session, person } = result;
    const name = access.cookieName(c.env.incoming);
    setCookie(c, { name, value: session, maxAge: signOn.sessionSeconds, isSecure: isSecure(c) });
    c.set('visitor', access.signedIn(c.var.visitor, session, person));
    return answers.landing(c, { heading: 'Signed in', text: `Signed in as ${person.name}.`, to, link: 'Continue' });
  });

  function isSecure(c: PageContext): boolean {
    return c.var.visitor.isSecure || signOn.isSecure;
  }

  /** Sets the cookie of an attempt, or removes it if the value is empty. */
  function setAttempt(c: PageContext, name: string, value = ''): void {
    const maxAge = value === '' ? 0 : ATTEMPT_SECONDS;
    // Browsers would not send a strict cookie after the redirect from the provider.
    setCookie(c, { name, value, maxAge, isSecure: isSecure(c), sameSite: 'Lax' });
  }

  /** Logs the error, and tells the visitor only that the provider is unavailable. */
  function away(c: PageContext, to: string, error: unknown): Promise<Response> {
    if (!(error instanceof UserError)) throw error;
    onError(error);
    return answers.signIn(
      c,
      to,
      503,
      `Signing in with ${signOn.host} does not work at the moment. Try again in a minute.`,
    );
  }
}
