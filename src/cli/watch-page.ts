import { isSame, WrongTokens } from '../operator/health/admission.ts';
import { type Listener, listen } from '../operator/health/listener.ts';
import { createMetrics } from '../operator/health/metrics.ts';
import { messageOf } from '../operator/messages.ts';
import type { WatchPolicy } from '../operator/reconciler.ts';
import { isReady, statusJson } from '../operator/run-summary.ts';
import type { Watch } from '../operator/workspace-watch.ts';
import type { Tokens } from '../page/access/access.ts';
import { sessionsInMemory } from '../page/access/sessions.ts';
import { createPage } from '../page/page-app.ts';
import { WatchSource } from '../page/watch-source.ts';
import { VERSION } from '../version.ts';
import type { Context } from './context.ts';
import { listenToken, type PageAddress, TOKEN_VARIABLE } from './page-address.ts';

interface WatchPageOptions {
  readonly address: PageAddress;
  readonly source: string;
  /** The flags of the watch. The interval is in seconds. */
  readonly flags: Pick<WatchPolicy, 'mode' | 'lockTimeout'> & { readonly interval: number };
  watch(): Watch;
}

/** The time between two queries for changes while a page is open. */
const POLL_INTERVAL_MS = 1000;

/** Creates the metrics and the page of a watch. Both observe its runs. Call `listen` to serve them. */
export function watchPage(context: Context, { address, source, flags, watch }: WatchPageOptions) {
  const { redactor, log, now } = context;
  const { redact } = redactor;
  const metrics = createMetrics(VERSION);
  const pages = new WatchSource({
    watch,
    source,
    mode: flags.mode,
    intervalSeconds: flags.interval,
    lockTimeout: flags.lockTimeout,
    now,
    redact,
    log: (message) => log.entry('info', message, { event: 'page' }),
  });
  const token = listenToken(context);
  const wrongTokens = new WrongTokens({ now: () => performance.now() });
  const page = createPage({
    ...address,
    tokens: singleToken(token, TOKEN_VARIABLE),
    sessions: sessionsInMemory(now),
    wrongTokens,
    source: pages,
    reconciles: true,
    now,
    redact,
    onError: (error) => log.entry('error', messageOf(error), { event: 'page-failed' }),
    pollIntervalMs: POLL_INTERVAL_MS,
  });
  return {
    metrics,
    pages,
    async listen(): Promise<Listener> {
      const { url, close } = await listen({
        ...address,
        token,
        isReady: () => isReady(watch().status),
        status: () => statusJson(watch().status, source, flags.mode),
        metrics: async () => ({ contentType: metrics.contentType, text: await metrics.text() }),
        reconcile: () => watch().trigger('request'),
        redact,
        wrongTokens,
        page,
      });
      return {
        url,
        close() {
          page.close();
          return close();
        },
      };
    },
  };
}

/** Accepts only the token of the environment variable. Its owner has the role admin. */
function singleToken(token: string | undefined, variable: string): Tokens {
  return {
    missing: token === undefined ? `To sign in and start runs here, set ${variable}.` : undefined,
    origin: `The token is the value of ${variable}.`,
    person: async (given) =>
      token !== undefined && isSame(given, token) ? { name: 'admin', role: 'admin' } : undefined,
  };
}
