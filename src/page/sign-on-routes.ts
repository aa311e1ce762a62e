import type { Hono } from 'hono';
import { UserError } from '../problems/user-error.ts';
import type { Access } from './access/access.ts';
import { ATTEMPT_SECONDS, MAX_ATTEMPTS, type SingleSignOn, stateIn } from './access/single-sign-on.ts';
import { type PageContext, type PageEnv, type PageResponses, returnPath, setCookie } from './page-responses.ts';

/** Shown if the provider redirects to the page without an open sign-in attempt. */
export const NO_ATTEMPT = {
  heading: 'Not signed in',
  text: 'This sign-in took too long, or was started in another browser.',
} as const;

interface SignOnRoutes {
  readonly signOn: SingleSignOn;
  readonly access: Access;
  readonly responses: PageResponses;
  onError(error: unknown): void;
}

/** Adds the route that redirects to the provider, and the callback route that the provider redirects to. */
export function addSignOnRoutes(app: Hono<PageEnv>, { signOn, access, responses, onError }: SignOnRoutes): void {
  app.get('/sign-in/provider', async (c) => {
    const to = returnPath(c.req.query('to'));
    const attempt = await signOn
      .begin(to, c.req.query('again') !== undefined)
      .catch((error) => showUnavailable(c, to, error));
    if (attempt instanceof Response) return attempt;
    const { incoming } = c.env;
    for (const name of access.attemptNames(incoming).slice(0, 1 - MAX_ATTEMPTS)) setAttemptCookie(c, name);
    setAttemptCookie(c, access.attemptName(incoming, attempt.state), attempt.cookie);
    return c.redirect(attempt.url.href, 302);
  });
  app.get('/sign-in/callback', async (c) => {
    const { search } = new URL(c.req.url);
    const result = await access
      .finishSignOn(signOn, c.env.incoming, { search, address: c.var.visitor.address })
      .catch((error) => showUnavailable(c, '/', error));
    if (result instanceof Response) return result;
    if (result.type === 'wait') {
      c.header('retry-after', String(result.seconds));
      const text = `Too many failed attempts. Try again in ${result.seconds} s.`;
      return responses.showNote(c, 429, { heading: 'Not signed in', text });
    }
    // Browsers omit the SameSite=Strict session cookie in this request, so the session is known only in the next request.
    if (result.type === 'unknown')
      return responses.showForwarding(c, { ...NO_ATTEMPT, to: '/sign-in?late', link: 'Continue', status: 403 });
    setAttemptCookie(c, access.attemptName(c.env.incoming, stateIn(search)));
    if (result.type === 'refused') {
      if (result.cause !== undefined) onError(result.cause);
      const { text } = result;
      return responses.showNote(c, 403, { heading: 'Not signed in', text, back: '/sign-in', link: 'Start again' });
    }
    const to = returnPath(result.to);
    if (result.type === 'no-role') {
      const text = `${result.name} has no role in this fleet. Ask an administrator for a role.`;
      const back = signOn.startUrl(to, true);
      return responses.showNote(c, 403, { heading: 'No access', text, back, link: 'Use another account' });
    }
    const { session, person } = result;
    const name = access.cookieName(c.env.incoming);
    setCookie(c, { name, value: session, maxAge: signOn.sessionSeconds, isSecure: isSecure(c) });
    c.set('visitor', access.signedIn(c.var.visitor, session, person));
    return responses.showForwarding(c, {
      heading: 'Signed in',
      text: `Signed in as ${person.name}.`,
      to,
      link: 'Continue',
    });
  });

  function isSecure(c: PageContext): boolean {
    return c.var.visitor.isSecure || signOn.isSecure;
  }

  /** Sets the cookie of an attempt, or removes it if the value is empty. */
  function setAttemptCookie(c: PageContext, name: string, value = ''): void {
    const maxAge = value === '' ? 0 : ATTEMPT_SECONDS;
    // Browsers would not send a SameSite=Strict cookie after the redirect from the provider.
    setCookie(c, { name, value, maxAge, isSecure: isSecure(c), sameSite: 'Lax' });
  }

  /** Logs the error, and tells the visitor only that the provider is unavailable. */
  function showUnavailable(c: PageContext, to: string, error: unknown): Promise<Response> {
    if (!(error instanceof UserError)) throw error;
    onError(error);
    return responses.showSignIn(
      c,
      to,
      503,
      `Signing in with ${signOn.host} is not possible at the moment. Try again in a minute.`,
    );
  }
}
