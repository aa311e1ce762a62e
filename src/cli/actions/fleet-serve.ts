import { once } from 'node:events';
import { fleetControl } from '../../fleet/control.ts';
import { listenForControl } from '../../fleet/control-socket.ts';
import type { FleetFile } from '../../fleet/fleet-file.ts';
import { createFleetMetrics } from '../../fleet/fleet-metrics.ts';
import { controlSocket, openFleetDatabase } from '../../fleet/open-fleet.ts';
import { fleetFigures } from '../../fleet/rows/status-rows.ts';
import { FleetServer } from '../../fleet/serve.ts';
import { openSources } from '../../fleet/sources/open-sources.ts';
import { tellReceivers } from '../../fleet/tell-receivers.ts';
import { systemClock } from '../../operator/clock.ts';
import { Guesses } from '../../operator/health/guesses.ts';
import { listen } from '../../operator/health/listener.ts';
import { messageOf } from '../../operator/messages.ts';
import { Deliveries } from '../../operator/notifications/deliveries.ts';
import { RunLogger } from '../../operator/run-logger.ts';
import type { WatchLog } from '../../operator/watch-log.ts';
import { JointLimit } from '../../platform/joint-limit.ts';
import { ExitCode } from '../../problems/user-error.ts';
import { refuseOverrides } from '../../project/select-workspace.ts';
import type { RunContext } from '../../runs/run-context.ts';
import { Secret } from '../../values/value.ts';
import { VERSION } from '../../version.ts';
import type { Context } from '../context.ts';
import { fleetPage } from '../fleet-page.ts';
import { LISTEN_TOKEN, listenToken, pageAddress } from '../page-address.ts';
import type { PageFlags } from '../page-flags.ts';
import { type FleetFlags, fleetFileOf } from './fleet.ts';

export interface ServeFlags extends FleetFlags, PageFlags {
  /** Seconds. */
  readonly grace: number;
}

/** Milliseconds: pauses after failed runs. */
const PAUSES = { firstRetry: 5000, longestRetry: 300_000 };

export async function serveFleet(context: Context, flags: ServeFlags): Promise<number> {
  const { cwd, env, log, redactor, terminal, interrupts, now, cacheFolder, failPoint } = context;
  const fleet = fleetFileOf(context, flags);
  refuseOverrides(env);
  const address = pageAddress(flags);
  const ofProjects = projectEnvironment(env, fleet);
  const sources = openSources({ fleet, home: cwd, env: ofProjects, redactor });
  await log.begin(terminal.isWatched ? 'text' : 'json');
  await using stack = new AsyncDisposableStack();
  const database = stack.adopt(await openFleetDatabase(fleet, cwd, 'serve'), (each) => each.close());
  const metrics = createFleetMetrics(VERSION, () => fleetFigures(database));
  const deliveries = new Deliveries({ clock: systemClock, random: Math.random });
  const loggers = new Map<string, RunLogger>();
  const grace = flags.grace * 1000;

  const server = await FleetServer.begin({
    database,
    sources,
    log,
    context: { cwd, env: ofProjects, now, cacheFolder, failPoint, log: quiet(log) },
    clock: systemClock,
    random: Math.random,
    slots: fleet.limits.runs,
    shared: new JointLimit(fleet.limits.concurrency),
    pauses: PAUSES,
    timeout: fleet.timeout,
    retention: fleet.retention,
    patterns: fleet.rules.map(({ pattern }) => pattern),
    grace,
    onRun({ address: workspace }, { report, error, lateness, redact }) {
      metrics.run(report, lateness);
      const own = logOf(log, workspace, redact);
      if (report === undefined) return own.entry('error', messageOf(error), { event: 'failed' });
      const logger = loggers.get(workspace) ?? new RunLogger();
      loggers.set(workspace, logger);
      logger.finished(report, own);
      const telling = { database, deliveries, log: own, redact, onResult: metrics.notification };
      tellReceivers(workspace, report, telling).catch((error: unknown) =>
        own.entry('warning', `notifications not sent: ${String(error)}`, { event: 'not-notified' }),
      );
    },
  });
  const guesses = new Guesses({ now: () => performance.now() });
  const control = fleetControl(database);
  const page =
    address &&
    stack.adopt(fleetPage(context, { address, fleet, database, control, guesses }), (each) => each.close());
  if (database.isEmbedded) stack.use(await listenForControl(control, controlSocket(cwd)));
  const listener =
    address &&
    stack.adopt(
      await listen({
        ...address,
        token: listenToken(context),
        isAlive: () => server.isAlive,
        isReady: () => server.isReady,
        status: async () => JSON.parse(JSON.stringify(await control.status({ limit: 0 }))),
        guesses,
        page: page?.listener,
        mayRead: page?.mayRead,
        metrics: async () => ({ contentType: metrics.contentType, text: await metrics.text() }),
        redact: (text) => redactor.redact(text),
      }),
      (each) => each.close(),
    );

  interrupts.patient = true;
  interrupts.onHangup = () => undefined;
  const shown = sources.all.map(({ name }) => name).join(', ');
  const at = listener === undefined ? '' : `; page at ${listener.url}/`;
  log.entry('info', `serving the fleet of ${shown} in ${database.location}${at}`, {
    event: 'serving',
    process: server.id,
    ...(listener !== undefined && { url: listener.url }),
  });
  const { stop } = interrupts;
  if (!stop.aborted) await once(stop, 'abort');
  const message = 'stopping: finishing requests in flight; press Ctrl-C again to stop now';
  log.entry('info', message, { event: 'ending' });
  await server.stop(String(stop.reason));
  await deliveries.flush(grace);
  log.entry('info', 'stopped', { event: 'ended' });
  return ExitCode.ok;
}

/** What projects may know of the environment: not what the fleet itself keeps secret. */
function projectEnvironment(env: Context['env'], { database, sources }: FleetFile): Context['env'] {
  const own = [database, ...sources.map((source) => ('git' in source ? source.git : undefined))];
  const names = new Set([
    LISTEN_TOKEN,
    ...own.flatMap((each) => (each instanceof Secret ? [each.name] : [])),
  ]);
  return Object.fromEntries(Object.entries(env).filter(([name]) => !names.has(name)));
}

/** What runs say is in their reports. */
function quiet(log: Context['log']): RunContext['log'] {
  const debug = (message: string): void => log.entry('debug', message);
  return { warn: debug, info: debug, debug };
}

function logOf(log: WatchLog, workspace: string, redact: (text: string) => string): WatchLog {
  return {
    entry: (level, message, fields = {}) =>
      log.entry(level, `${workspace}: ${redact(message)}`, { ...fields, workspace }),
  };
}
