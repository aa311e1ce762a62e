import { type Command, Option } from 'commander';
import type { WatchFlags } from '../actions/watch.ts';
import type { Start } from '../context.ts';
import { parseSeconds, withGuards, withOlderState, withPlatform, withReplacing } from '../flags.ts';

export function defineWatch(program: Command, start: Start): void {
  const command = withPlatform(program.command('watch'))
    .summary('keep the workspace as the manifests say, or tell how it differs')
    .description(
      'Compares the manifests with the platform whenever they change and on an interval, says what is new, and with --mode apply puts it right. Runs until a signal ends it; SIGHUP makes it look at once.',
    )
    .addOption(
      new Option('--mode <mode>', 'only report, or apply as well')
        .choices(['report', 'apply'])
        .default('report'),
    )
    .option('--auto-approve', 'needed for --mode apply: nobody is asked')
    .addOption(duration('--interval', 'time between runs', { seconds: 300, as: '5m' }))
    .option('--git <url>', 'take the project from this Git repository')
    .option('--ref <ref>', 'branch or tag of it (default: main)')
    .option('--path <dir>', 'folder of the project in it (default: its root)')
    .option(
      '--allow-dir <dir>',
      'folder outside this one that its secrets_dir or state.path may name; may be repeated',
      repeated,
    )
    .option(
      '--listen <address>',
      'serve /healthz, /readyz, /status, /metrics and POST /reconcile on HOST:PORT',
    )
    .option(
      '--listen-host <name>',
      'host name that the listener is also reached by; may be repeated',
      repeated,
    );
  withOlderState(withGuards(withReplacing(command)))
    .addOption(
      duration('--lock-timeout', 'how long to wait for another run that holds the state', {
        seconds: 30,
        as: '30s',
      }),
    )
    .addOption(
      duration('--first-retry', 'pause after a failed run; it doubles with each further one', {
        seconds: 5,
        as: '5s',
      }),
    )
    .addOption(duration('--longest-retry', 'longest pause after failed runs', { seconds: 300, as: '5m' }))
    .addOption(
      duration('--grace', 'time for what is under way when the watch ends', { seconds: 25, as: '25s' }),
    )
    .action((flags: WatchFlags) =>
      start(async (context) => (await import('../actions/watch.ts')).watch(context, flags), {
        ownRuns: true,
        // What comes from a repository must not change what the operator set.
        withoutProject: flags.git !== undefined,
      }),
    );
}

function repeated(value: string, values: readonly string[] = []): readonly string[] {
  return [...values, value];
}

function duration(
  name: string,
  description: string,
  standard: { readonly seconds: number; readonly as: string },
): Option {
  return new Option(`${name} <duration>`, description)
    .argParser(parseSeconds)
    .default(standard.seconds, standard.as);
}
