import { existsSync } from 'node:fs';
import { systemClock } from '../../operator/clock.ts';
import { watchFiles } from '../../operator/file-watch.ts';
import { gitSource } from '../../operator/git/git-source.ts';
import type { InputFiles } from '../../operator/load-version.ts';
import { messageOf } from '../../operator/messages.ts';
import type { WatchPolicy } from '../../operator/reconciler.ts';
import { folderSource, type Source } from '../../operator/source.ts';
import { Watch } from '../../operator/watch.ts';
import { ExitCode, UserError } from '../../problems/user-error.ts';
import { openWorkspace } from '../../workspaces/open-workspace.ts';
import type { Context } from '../context.ts';

export interface WatchFlags extends WatchPolicy {
  readonly autoApprove?: boolean;
  /** Seconds. */
  readonly interval: number;
  readonly git?: string;
  readonly ref: string;
  readonly path: string;
  readonly listen?: string;
  /** Seconds. */
  readonly firstRetry: number;
  /** Seconds. */
  readonly longestRetry: number;
  /** Seconds. */
  readonly grace: number;
}

/** Milliseconds: how long files must have been left alone before they are read. */
const SETTLING = { quiet: 250, longest: 5000 };

/** Milliseconds for which a resource must have been missing from the manifests of a folder before it is released. */
const LEAVING_FOR = 2000;

/** Runs until a signal ends it. */
export async function watch(context: Context, flags: WatchFlags): Promise<number> {
  const { terminal, log, interrupts, cwd } = context;
  refuseContradictions(flags);
  await log.begin(terminal.isWatched ? 'text' : 'json');
  const source = sourceOf(context, flags);
  if (flags.git === undefined) await refuseNothing(context);
  const watch = new Watch({
    context,
    log,
    source,
    localRoot: flags.git === undefined ? undefined : cwd,
    policy: flags,
    clock: systemClock,
    timing: {
      pauses: {
        interval: flags.interval * 1000,
        firstRetry: flags.firstRetry * 1000,
        longestRetry: flags.longestRetry * 1000,
      },
      settling: SETTLING,
      random: Math.random,
      leavingFor: LEAVING_FOR,
      grace: flags.grace * 1000,
    },
    observers: [],
    watchFiles: (changed) => {
      const files = watchFiles({
        folder: cwd,
        changed,
        onError: (error) =>
          log.entry('warning', `not all files can be watched; the interval remains: ${messageOf(error)}`, {
            event: 'files-unwatched',
          }),
      });
      if (!source.isAtomic) return files;
      return { watch: (inputs) => files.watch(onlySecrets(inputs)), close: () => files.close() };
    },
  });
  interrupts.patient = true;
  interrupts.onHangup = () => watch.trigger('hangup');
  interrupts.stop.addEventListener('abort', () =>
    log.entry('info', 'ending: what is under way is finished first; once more ends it at once', {
      event: 'ending',
    }),
  );
  log.entry('info', `watching ${source.name}, ${flags.mode === 'apply' ? 'to apply' : 'to report'}`, {
    event: 'watching',
    mode: flags.mode,
    source: source.name,
  });
  const isClean = await watch.untilStopped();
  log.entry(isClean ? 'info' : 'warning', isClean ? 'ended' : 'ended before what was under way was done', {
    event: 'ended',
  });
  return isClean ? ExitCode.ok : ExitCode.error;
}

function sourceOf({ cwd, env, workspace, redactor }: Context, { git, ref, path }: WatchFlags): Source {
  if (git === undefined) return folderSource(cwd);
  return gitSource({
    url: git,
    ref,
    subfolder: path,
    cwd,
    workspace,
    env,
    redact: (text) => redactor.redact(text),
    keepSecret: (secret) => redactor.add(secret),
  });
}

/** A checkout is never written to again. */
function onlySecrets({ secretsDir }: InputFiles): InputFiles {
  return { folders: [], files: [], secretsDir };
}

function refuseContradictions({ mode, autoApprove, git, interval }: WatchFlags): void {
  if (mode === 'apply' && autoApprove !== true) {
    throw new UserError('--mode apply needs --auto-approve: nobody is asked before a watch applies', {
      hint: 'Watch with --mode report first to see what it would do.',
      exitCode: ExitCode.usage,
    });
  }
  if (interval <= 0) {
    throw new UserError('--interval must be more than no time', { exitCode: ExitCode.usage });
  }
  if (git === '') throw new UserError('--git needs the URL of a repository', { exitCode: ExitCode.usage });
}

/** What an edit can mend is waited for; a folder without a project, or a key that is not set, is not. */
async function refuseNothing(context: Context): Promise<void> {
  try {
    await openWorkspace(context, { requireKey: true });
  } catch (error) {
    const isMendable = error instanceof Error && 'diagnostics' in error && existsSync(context.cwd);
    if (!isMendable) throw error;
  }
}
