import { Guesses } from '../operator/health/guesses.ts';
import { type Listener, listen } from '../operator/health/listener.ts';
import type { Metrics } from '../operator/health/metrics.ts';
import { isReady, statusJson } from '../operator/health/status-json.ts';
import { messageOf } from '../operator/messages.ts';
import type { Watch } from '../operator/watch.ts';
import { oneToken } from '../page/access/access-tokens.ts';
import { sessionsInMemory } from '../page/access/sessions.ts';
import { createPage } from '../page/page-app.ts';
import type { WatchSource } from '../page/watch-source.ts';
import type { Context } from './context.ts';
import { LISTEN_TOKEN, listenToken, type PageAddress } from './page-address.ts';

interface WatchListening {
  readonly address: PageAddress;
  readonly watch: Watch;
  readonly mode: string;
  /** Of the manifests. */
  readonly source: string;
  readonly metrics: Metrics;
  readonly pages: WatchSource;
}

/** Milliseconds between two looks for what an open page does not show yet. */
const LOOK = 1000;

export async function listenForWatch(
  context: Context,
  { address, watch, mode, source, metrics, pages }: WatchListening,
): Promise<Listener> {
  const { redactor, log, now } = context;
  const token = listenToken(context);
  const guesses = new Guesses({ now: () => performance.now() });
  const redact = (text: string) => redactor.redact(text);
  const page = createPage({
    ...address,
    tokens: oneToken(token, LISTEN_TOKEN),
    sessions: sessionsInMemory(now),
    guesses,
    source: pages,
    now,
    redact,
    onError: (error) => log.entry('error', messageOf(error), { event: 'page-failed' }),
    every: LOOK,
  });
  const listener = await listen({
    ...address,
    token,
    isReady: () => isReady(watch.status),
    status: () => statusJson(watch.status, source, mode),
    metrics: async () => ({ contentType: metrics.contentType, text: await metrics.text() }),
    reconcile: () => watch.trigger('request'),
    redact,
    guesses,
    page: page.listener,
  });
  const close = (): Promise<void> => {
    page.close();
    return listener.close();
  };
  return { url: listener.url, close };
}
