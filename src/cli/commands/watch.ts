import { type Command, Option } from 'commander';
import type { WatchFlags } from '../actions/watch.ts';
import type { Start } from '../context.ts';
import { collectText, duration, withGuards, withOlderState, withPlatform, withReplacing } from '../flags.ts';

export function defineWatch(program: Command, start: Start): void {
  const command = withPlatform(program.command('watch'))
    .summary('Plan or apply continuously')
    .description(
      'Plan whenever the manifests change and on an interval, report new differences, and with --mode apply fix them. Press Ctrl-C to stop it; SIGHUP starts a run at once.',
    )
    .addOption(
      new Option('--mode <mode>', 'Only report, or also apply')
        .choices(['report', 'apply'])
        .default('report'),
    )
    .option('--auto-approve', 'Required with --mode apply, which does not ask')
    .addOption(duration('--interval', 'Time between runs', { seconds: 300, as: '5m' }))
    .option('--git <url>', 'Git repository that holds the project')
    .option('--ref <ref>', 'Branch or tag (default: main)')
    .option('--path <dir>', 'Project folder in the repository (default: its root)')
    .option(
      '--allow-dir <dir>',
      'Folder outside the project that secrets_dir or state.path may use (repeatable)',
      collectText,
    )
    .option(
      '--listen <address>',
      'Serve /healthz, /readyz, /status, /metrics and POST /reconcile on HOST:PORT',
    )
    .option('--listen-host <name>', 'Additional host name to accept in requests (repeatable)', collectText);
  withOlderState(withGuards(withReplacing(command)))
    .addOption(
      duration('--lock-timeout', 'How long to wait for the lock', {
        seconds: 30,
        as: '30s',
      }),
    )
    .addOption(
      duration('--first-retry', 'Pause after a failed run; doubles with each failure', {
        seconds: 5,
        as: '5s',
      }),
    )
    .addOption(duration('--longest-retry', 'Longest pause after failed runs', { seconds: 300, as: '5m' }))
    .addOption(duration('--grace', 'Time to finish requests in flight on exit', { seconds: 25, as: '25s' }))
    .action((flags: WatchFlags) =>
      start(async (context) => (await import('../actions/watch.ts')).watch(context, flags), {
        ownRuns: true,
        // What comes from a repository must not change what the operator set.
        withoutProject: flags.git !== undefined,
      }),
    );
}
