import { once } from 'node:events';
import { fleetControl } from '../../fleet/control.ts';
import { listenForControl } from '../../fleet/control-socket.ts';
import { withPageLimit, withStartingErrors } from '../../fleet/database/fleet-database.ts';
import { eventReceiver } from '../../fleet/events.ts';
import type { FleetFile } from '../../fleet/fleet-file.ts';
import { createFleetMetrics } from '../../fleet/fleet-metrics.ts';
import { FleetNotifications } from '../../fleet/notifications.ts';
import { controlSocket, openFleetDatabase } from '../../fleet/open-fleet.ts';
import { openPullHosts } from '../../fleet/pulls/pull-hosts.ts';
import { fleetFigures } from '../../fleet/rows/status-rows.ts';
import { FleetServer, type ServeOptions } from '../../fleet/serve.ts';
import { openSources } from '../../fleet/sources/open-sources.ts';
import { retryUntilReachable } from '../../fleet/when-reachable.ts';
import { systemClock } from '../../operator/clock.ts';
import { WrongTokens } from '../../operator/health/admission.ts';
import { listen } from '../../operator/health/listener.ts';
import { messageOf } from '../../operator/messages.ts';
import { Deliveries } from '../../operator/notifications/deliveries.ts';
import { serverOf } from '../../operator/notifications/receiver.ts';
import { RunLogger } from '../../operator/run-logger.ts';
import type { WatchLog } from '../../operator/watch-log.ts';
import { snakeCased } from '../../output/json-text.ts';
import { cacheSlowQuery } from '../../page/cache-slow-query.ts';
import { FleetComparisons } from '../../page/fleet-comparisons.ts';
import { pathOf } from '../../page/views/parts.ts';
import { JointLimit } from '../../platform/joint-limit.ts';
import { proxyFor } from '../../platform/proxy.ts';
import { checkedRules } from '../../policies/load-rules.ts';
import { asDisposable } from '../../problems/as-disposable.ts';
import { UserError } from '../../problems/user-error.ts';
import { InvalidProject } from '../../project/invalid-project.ts';
import type { RunContext } from '../../runs/run-context.ts';
import { requiredText } from '../../state/backends/settings.ts';
import type { Redactor } from '../../values/redactor.ts';
import { Secret } from '../../values/value.ts';
import { VERSION } from '../../version.ts';
import type { Context } from '../context.ts';
import type { PageFlags } from '../flags.ts';
import { fleetPage } from '../fleet-page.ts';
import { listenToken, pageAddress } from '../page-address.ts';
import { type FleetFlags, fleetFileOf, projectEnvironment } from './fleet.ts';

interface ServeFlags extends FleetFlags, PageFlags {
  /** The time to finish requests in flight on exit, in seconds. */
  readonly grace: number;
}

/** The pauses after failed runs, in milliseconds. */
const RETRY_PAUSES = { firstRetry: 5000, maxRetry: 300_000 };

export async function serveFleet(context: Context, flags: ServeFlags): Promise<void> {
  const { cwd, env, log, redactor, terminal, interrupts, now, cacheFolder, failPoint } = context;
  await log.begin(terminal.isWatched ? 'text' : 'json');
  const fleet = fleetFileOf(context, flags);
  const { diagnostics } = await checkedRules([fleet.policies]);
  if (diagnostics.length > 0) throw new InvalidProject(diagnostics);
  const address = pageAddress(flags, [fleet.address, fleet.signIn?.address]);
  const projectEnv = projectEnvironment(env, fleet);
  const sources = openSources({ fleet, home: cwd, env: projectEnv, redactor });
  const database = await openFleetDatabase(fleet, cwd, 'serve');
  await using _database = asDisposable(database);
  let server: FleetServer | undefined;
  const readable = withStartingErrors(database, () => server !== undefined);
  const metrics = createFleetMetrics(
    VERSION,
    cacheSlowQuery(
      () => fleetFigures(readable),
      () => performance.now(),
    ),
  );
  const notifications = new FleetNotifications({
    database,
    deliveries: new Deliveries({ clock: systemClock, random: Math.random }),
    onResult: metrics.notification,
  });
  const receivers = freezeReceivers(fleet, redactor);
  const loggers = new Map<string, RunLogger>();
  const grace = flags.grace * 1000;

  const shared = new JointLimit(fleet.limits.concurrency);
  await using _shared = asDisposable(shared);
  await using pulls = openPullHosts({ fleet, env, redactor, log, signal: interrupts.requests });
  const options: ServeOptions = {
    database,
    sources,
    log,
    context: {
      cwd,
      env: projectEnv,
      now,
      cacheFolder,
      failPoint,
      log: debugOnly(log),
      policies: { files: [], fleet: fleet.policies },
    },
    clock: systemClock,
    random: Math.random,
    slots: fleet.limits.runs,
    shared,
    pauses: RETRY_PAUSES,
    timeout: fleet.timeout,
    retention: fleet.retention,
    rules: fleet.rules,
    pullHosts: pulls.hosts,
    address: fleet.address,
    grace,
    notifyFreezes: (process) =>
      notifications.notifyFreezes(process, {
        receivers,
        network: (target) => ({ proxy: proxyFor(target, env), ca: undefined }),
        link: fleet.address,
        log,
      }),
    onRun({ address: workspace }, { report, error, lateness, redact }) {
      metrics.run(report, lateness);
      const runLog = logOfRun(log, { workspace, redact, id: report?.id });
      if (report === undefined) return runLog.entry('error', messageOf(error), { event: 'failed' });
      const logger = loggers.get(workspace) ?? new RunLogger();
      loggers.set(workspace, logger);
      logger.finished(report, runLog);
      const url = fleet.address && fleet.address + pathOf(workspace);
      notifications.finished(workspace, { report: { ...report, url }, log: runLog, redact });
    },
  };
  const wrongTokens = new WrongTokens({ now: () => performance.now() });
  const forPage = withPageLimit(readable);
  const control = fleetControl(forPage);
  const comparisons = new FleetComparisons({
    ...options,
    database: forPage,
    control,
    timeoutMs: fleet.timeout,
    onError: (error) => log.entry('error', messageOf(error), { event: 'page-failed' }),
  });
  await using _comparisons = asDisposable(comparisons);
  const events = eventReceiver(fleet, readable);
  if (events !== undefined && address === undefined) {
    const message = 'sources have a webhook, but voxform receives their events only with --listen';
    log.entry('warning', message, { event: 'no-listener' });
  }
  const page = address && fleetPage(context, { address, fleet, database: forPage, control, comparisons, wrongTokens });
  await using _page = asDisposable(page);
  const listener =
    address &&
    page &&
    (await listen({
      ...address,
      token: listenToken(context),
      isAlive: () => server?.isAlive ?? true,
      isReady: () => server?.isReady ?? false,
      status: async () => snakeCased(await control.status({ limit: 0 })),
      wrongTokens,
      page,
      events,
      metrics: async () => ({ contentType: metrics.contentType, text: await metrics.text() }),
      redact: (text) => redactor.redact(text),
    }));
  await using _listener = asDisposable(listener);

  interrupts.finishesRequests = true;
  interrupts.onHangup = () => undefined;
  const { stop } = interrupts;
  server = await retryUntilReachable(() => FleetServer.begin(options), log, stop);
  if (server === undefined) return;
  await using _control = database.isEmbedded
    ? await listenForControl(database, control, controlSocket(cwd))
    : undefined;
  const shown = sources.all.map(({ name }) => name).join(', ');
  const at = listener === undefined ? '' : `; page at ${listener.url}/`;
  log.entry('info', `serving the fleet of ${shown} in ${database.location}${at}`, {
    event: 'serving',
    process: server.id,
    ...(listener !== undefined && { url: listener.url }),
  });
  if (!stop.aborted) await once(stop, 'abort');
  const message = 'stopping: finishing requests in flight; press Ctrl-C again to stop now';
  log.entry('info', message, { event: 'ending' });
  await server.stop(String(stop.reason));
  await notifications.end(grace);
  log.entry('info', 'stopped', { event: 'ended' });
}

/**
 * Returns the receivers of notifications about a freeze.
 * @throws UserError if a secret is not set or is not an http or https URL.
 */
function freezeReceivers({ notify }: FleetFile, redactor: Redactor) {
  return notify.map((given) => {
    const text = requiredText('notify', given);
    const url = given instanceof Secret ? given : new Secret('url', text);
    if (given instanceof Secret) redactor.add(text);
    const shown = serverOf(url);
    if (shown === undefined) throw new UserError(`${url.name} is not an http or https URL`);
    return { url, shown };
  });
}

/** Returns a log that demotes all messages of a run to debug, because the report of the run contains them. */
function debugOnly(log: Context['log']): RunContext['log'] {
  const debug = (message: string): void => log.entry('debug', message);
  return { warn: debug, info: debug, debug };
}

interface LoggedRun {
  readonly workspace: string;
  /** The id of the run in the history. */
  readonly id: string | undefined;
  redact(text: string): string;
}

/** Returns a log that adds the workspace and the run to each entry, and redacts its message. */
function logOfRun(log: WatchLog, { workspace, id, redact }: LoggedRun): WatchLog {
  return {
    entry(level, message, { run: _, ...fields } = {}) {
      const run = id === undefined ? {} : { run: id };
      log.entry(level, `${workspace}: ${redact(message)}`, { ...fields, ...run, workspace });
    },
  };
}
