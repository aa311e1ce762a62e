import type { Command } from 'commander';
import type { DiffOptions } from '../actions/diff.ts';
import type { Start } from '../context.ts';
import { outputOption, withPlatform } from '../flags.ts';

export function defineDiff(program: Command, start: Start): void {
  withPlatform(program.command('diff [workspaces...]'))
    .summary('show what is between two workspaces')
    .description(
      'Compares the records of two workspaces, named as arguments or by --workspace twice, in the fields that the manifests manage. Differences that the manifests want are told apart from those that nobody declared. Changes nothing.',
    )
    .addOption(outputOption(['text', 'json', 'markdown']))
    .option('--detailed-exitcode', 'exit with 2 when there is a difference that no manifest declares')
    .action((named: readonly string[], options: DiffOptions) =>
      start(async (context) => (await import('../actions/diff.ts')).diff(context, { ...options, named }), {
        severalWorkspaces: true,
      }),
    );
}
