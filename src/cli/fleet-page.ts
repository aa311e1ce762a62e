import type { FleetControl } from '../fleet/control.ts';
import { type FleetDatabase, FleetStarting } from '../fleet/database/fleet-database.ts';
import type { FleetFile, SignInSettings } from '../fleet/fleet-file.ts';
import { addIdentitySession, identityOfSession, removeIdentitySession } from '../fleet/rows/identity-rows.ts';
import { addSession, formKey, personOfSession, removeSession } from '../fleet/rows/session-rows.ts';
import { personOfToken } from '../fleet/rows/token-rows.ts';
import { WrongTokens } from '../operator/health/admission.ts';
import { messageOf } from '../operator/messages.ts';
import type { Tokens } from '../page/access/access.ts';
import { OpenIdProvider } from '../page/access/openid-provider.ts';
import {
  digestOfId,
  MAX_SESSIONS_PER_PERSON,
  newSessionId,
  SESSION_MILLISECONDS,
  type Sessions,
} from '../page/access/sessions.ts';
import { SingleSignOn } from '../page/access/single-sign-on.ts';
import type { FleetComparisons } from '../page/fleet-comparisons.ts';
import { createOrphanCloser } from '../page/fleet-orphans.ts';
import { FleetSource } from '../page/fleet-source.ts';
import { createPage, type Page } from '../page/page-app.ts';
import { userName } from '../runs/local-user.ts';
import { requiredText } from '../state/backends/settings.ts';
import type { Context } from './context.ts';
import type { PageAddress } from './page-address.ts';

interface FleetPage {
  readonly fleet: FleetFile;
  readonly address: PageAddress;
  readonly database: FleetDatabase;
  readonly control: FleetControl;
  readonly comparisons: FleetComparisons;
  readonly wrongTokens: WrongTokens;
}

/** The time between two queries for changes while a page is open. */
const POLL_INTERVAL_MS = 3000;

/**
 * Creates the page of a fleet. Its tokens and sessions are in the database, so that any process can handle any request.
 * @throws UserError if the client secret of single sign-on is not set.
 */
export function fleetPage(
  context: Context,
  { address, fleet, database, control, comparisons, wrongTokens }: FleetPage,
): Page {
  const { log, now, redactor, env } = context;
  const logMessage = (message: string) => log.entry('info', message, { event: 'page' });
  return createPage({
    ...address,
    tokens: tokensOf(database),
    sessions: sessionsIn(database),
    signOn: fleet.signIn && singleSignOn(fleet.signIn, database, context),
    wrongTokens,
    reconciles: false,
    source: new FleetSource({
      database,
      hasPulls: fleet.sources.some((source) => 'git' in source && source.pullRequests !== undefined),
      control,
      comparisons,
      closeOrphan: createOrphanCloser({ fleet, user: userName(env), now, log: logMessage }),
      now,
      log: logMessage,
    }),
    now,
    redact: (text) => redactor.redact(text),
    onError(error) {
      const level = error instanceof FleetStarting ? 'info' : 'error';
      log.entry(level, messageOf(error), { event: 'page-failed' });
    },
    pollIntervalMs: POLL_INTERVAL_MS,
  });
}

export function tokensOf(database: FleetDatabase): Tokens {
  return {
    missing: undefined,
    origin: 'An administrator creates a token with: voxform fleet token add NAME --role viewer',
    person: (token) => personOfToken(database, token),
    known: (token) => personOfToken(database, token, true),
  };
}

export function sessionsIn(database: FleetDatabase): Sessions {
  return {
    async begin({ name }) {
      const id = newSessionId();
      await addSession(
        database,
        { digest: digestOfId(id), name, milliseconds: SESSION_MILLISECONDS },
        MAX_SESSIONS_PER_PERSON,
      );
      return id;
    },
    person: (id) => personOfSession(database, digestOfId(id)),
    end: (id) => removeSession(database, digestOfId(id)),
    formKey: () => formKey(database),
  };
}

/** @throws UserError if the client secret is not set. */
export function singleSignOn(
  settings: SignInSettings,
  database: FleetDatabase,
  { env, redactor }: Pick<Context, 'env' | 'redactor'>,
): SingleSignOn {
  const { issuer, clientId, clientSecret, address, session: milliseconds } = settings;
  if (clientSecret !== undefined) {
    const hintFor = (name: string) => `Set ${name} in the environment of voxform fleet serve.`;
    redactor.add(requiredText('sign_in', clientSecret, hintFor));
  }
  const redirectUri = `${address}/sign-in/callback`;
  const redact = (text: string) => redactor.redact(text);
  return new SingleSignOn({
    settings,
    provider: new OpenIdProvider({ issuer, clientId, clientSecret, redirect: redirectUri, env, redact }),
    sessions: {
      begin: (digest, identity, idToken) =>
        addIdentitySession(database, { ...identity, digest, issuer, idToken, milliseconds }, MAX_SESSIONS_PER_PERSON),
      identity: (digest) => identityOfSession(database, { digest, issuer }),
      end: (digest) => removeIdentitySession(database, digest),
    },
    wrongAnswers: new WrongTokens({ now: () => performance.now() }),
  });
}
