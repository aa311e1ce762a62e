import path from 'node:path';
import { systemClock } from '../../operator/clock.ts';
import { WatchedFiles } from '../../operator/file-watch.ts';
import { gitSource } from '../../operator/git/git-source.ts';
import { messageOf } from '../../operator/messages.ts';
import { Deliveries } from '../../operator/notifications/deliveries.ts';
import { Notifier, notifiedDriftIn } from '../../operator/notifications/notifier.ts';
import type { WatchPolicy } from '../../operator/reconciler.ts';
import type { RunObserver } from '../../operator/run-report.ts';
import { folderSource, type ManifestSource } from '../../operator/source.ts';
import { type FileWatch, Watch } from '../../operator/workspace-watch.ts';
import { MAX_CONCURRENCY } from '../../platform/concurrency-limit.ts';
import { JointLimit } from '../../platform/joint-limit.ts';
import { asDisposable } from '../../problems/as-disposable.ts';
import { ExitCode, usageError } from '../../problems/user-error.ts';
import type { LocalPaths } from '../../project/local-paths.ts';
import { openWorkspace } from '../../runs/open-workspace.ts';
import type { RunContext } from '../../runs/run-context.ts';
import type { Context } from '../context.ts';
import { type PageFlags, type PolicyFlags, withPolicyFiles } from '../flags.ts';
import type { Tracing } from '../open-telemetry.ts';
import { pageAddress } from '../page-address.ts';

interface WatchFlags extends WatchPolicy, PageFlags, PolicyFlags {
  readonly autoApprove?: boolean;
  /** All durations in these flags are in seconds. */
  readonly interval: number;
  readonly git?: string;
  readonly ref?: string;
  readonly path?: string;
  readonly allowDir?: readonly string[];
  readonly firstRetry: number;
  readonly longestRetry: number;
  readonly grace: number;
}

/** How long to wait for further changes before reading files, in milliseconds: since the last change, and in total. */
const SETTLING_MS = { quiet: 250, longest: 5000 };

/** A resource must be missing from the manifests of a folder for this time before it is released. */
const REMOVAL_DELAY_MS = 2000;

/** Watches a workspace until voxform receives a signal. */
export async function watch(given: Context, flags: WatchFlags): Promise<number> {
  const context = withPolicyFiles(given, flags);
  const { terminal, log, interrupts, cwd, projectFolder = cwd, redactor, tracing } = context;
  refuseContradictions(flags);
  const { interval, firstRetry, longestRetry, grace } = flags;
  const address = pageAddress(flags);
  const source = sourceOf(context, flags);
  if (flags.git === undefined) await refuseUnusableProject(context);
  await log.begin(terminal.isWatched ? 'text' : 'json');

  const page =
    address &&
    (await import('../watch-page.ts')).watchPage(context, {
      address,
      source: source.name,
      flags,
      watch: () => watch,
    });
  const deliveries = new Deliveries({ clock: systemClock, random: Math.random });
  const notifier = new Notifier({
    log,
    deliveries,
    redact: redactor.redact,
    onResult: (result) => page?.metrics.notification(result),
    store: notifiedDriftIn(path.join(flags.git === undefined ? projectFolder : cwd, '.voxform', 'cache')),
  });
  const onRequest: RunContext['onRequest'] = (event) => {
    tracing?.request(event);
    page?.metrics.request(event);
  };
  // The runs share their connections and one concurrency limit.
  const shared = new JointLimit(MAX_CONCURRENCY);
  await using _shared = asDisposable(shared);
  const watch: Watch = new Watch({
    context: { ...context, log: asEntries(log), onRequest, shared },
    log,
    source,
    local: localPaths(cwd, flags),
    policy: flags,
    clock: systemClock,
    timing: {
      pauses: { interval: interval * 1000, firstRetry: firstRetry * 1000, maxRetry: longestRetry * 1000 },
      settling: SETTLING_MS,
      random: Math.random,
      removalDelay: REMOVAL_DELAY_MS,
      grace: grace * 1000,
    },
    observers: [
      notifier,
      ...(page === undefined ? [] : [page.metrics, page.pages]),
      ...(tracing === undefined ? [] : [tracingObserver(tracing, redactor)]),
    ],
    watchFiles: (changed) => filesOf(context, source, changed),
  });
  const listener = await page?.listen();

  interrupts.finishesRequests = true;
  interrupts.onHangup = () => watch.trigger('hangup');
  let deadline = Number.POSITIVE_INFINITY;
  interrupts.stop.addEventListener('abort', () => {
    deadline = systemClock.now() + grace * 1000;
    const message = 'stopping: finishing requests in flight; press Ctrl-C again to stop now';
    log.entry('info', message, { event: 'ending' });
  });
  const verb = flags.mode === 'apply' ? 'applying' : 'reporting';
  const started = `watching ${source.name}, ${verb} differences${listener === undefined ? '' : `; page at ${listener.url}/`}`;
  log.entry('info', started, {
    event: 'watching',
    mode: flags.mode,
    source: source.name,
    ...(listener !== undefined && { url: listener.url }),
  });
  try {
    const isClean = await watch.untilStopped();
    await deliveries.flush(Math.max(0, deadline - systemClock.now()));
    if (isClean) log.entry('info', 'stopped', { event: 'ended' });
    else log.entry('warning', 'stopped before all requests in flight finished', { event: 'ended' });
    return isClean ? ExitCode.ok : ExitCode.error;
  } finally {
    await listener?.close();
  }
}

/** Returns the folders outside a checkout that the state and the secrets of its project may use. */
function localPaths(cwd: string, { allowDir = [], git: source }: WatchFlags): LocalPaths | undefined {
  if (source === undefined) return undefined;
  return { root: cwd, allowed: allowDir.map((folder) => path.resolve(cwd, folder)), source };
}

function sourceOf(
  { cwd, projectFolder = cwd, env, workspace, redactor }: Context,
  { git, ref = 'main', path: subfolder = '.' }: WatchFlags,
): ManifestSource {
  if (git === undefined) return folderSource(projectFolder);
  return gitSource({
    url: git,
    ref,
    subfolder,
    cwd,
    workspace,
    env,
    redact: redactor.redact,
    keepSecret: (secret) => redactor.add(secret),
  });
}

/** Watches the files of the source. The files of a checkout never change, so only secrets are watched there. */
function filesOf(
  { cwd, projectFolder = cwd, log }: Context,
  { isAtomic }: ManifestSource,
  changed: () => void,
): FileWatch {
  const reported = new Set<string>();
  const files = new WatchedFiles({
    folder: projectFolder,
    changed,
    onError(error) {
      const message = `cannot watch all files, relying on --interval: ${messageOf(error)}`;
      if (!reported.has(message)) log.entry('warning', message, { event: 'files-unwatched' });
      reported.add(message);
    },
  });
  if (!isAtomic) return files;
  return {
    watch: ({ secretFolders }) => files.watch({ folders: [], files: [], secretFolders }),
    close: () => files.close(),
  };
}

/** Returns a log that writes the messages of a run as entries with a time, like the other messages of `watch`. */
function asEntries(log: Context['log']): RunContext['log'] {
  return {
    warn: (message) => log.entry('warning', message),
    info: (message) => log.entry('info', message),
    debug: (message) => log.entry('debug', message),
  };
}

function tracingObserver(tracing: Tracing, redactor: Context['redactor']): RunObserver {
  return {
    began: () => tracing.begin('voxform watch run'),
    finished({ number: run, result, triggers: triggerNames, workspace: opened, commit = null, error }) {
      const [triggers, workspace] = [triggerNames.join(','), opened?.name ?? null];
      const failure = result === 'ok' ? undefined : redactor.redact(error === undefined ? result : messageOf(error));
      tracing.end({ command: 'watch', run, result, triggers, workspace, commit }, failure);
    },
  };
}

function refuseContradictions({ mode, autoApprove, interval, git, ...gitFlags }: WatchFlags): void {
  if (mode === 'apply' && autoApprove !== true) {
    throw usageError('--mode apply needs --auto-approve: watch does not prompt', 'Try it with --mode report first.');
  }
  if (interval <= 0) throw usageError('--interval must be more than 0');
  if (git === undefined && (gitFlags.ref ?? gitFlags.path ?? gitFlags.allowDir) !== undefined) {
    throw usageError('--ref, --path and --allow-dir need --git', 'To watch another folder: voxform watch -C DIR');
  }
  if (git === '') throw usageError('--git needs the URL of a repository');
}

/** Throws if the project or the API key is missing. Ignores invalid files, because an edit can fix them later. */
async function refuseUnusableProject(context: Context): Promise<void> {
  try {
    await openWorkspace(context, { requireKey: true });
  } catch (error) {
    if (error instanceof Error && 'diagnostics' in error) return;
    throw error;
  }
}
