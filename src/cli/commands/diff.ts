import type { Command } from 'commander';
import type { DiffOptions } from '../actions/diff.ts';
import type { Start } from '../context.ts';
import { outputOption, withFull, withPlatform } from '../flags.ts';

export function defineDiff(program: Command, start: Start): void {
  withFull(withPlatform(program.command('diff')))
    .summary('Compare two workspaces')
    .description(
      'Compare the managed fields of two workspaces. Marks the differences that the manifests declare. Changes nothing.',
    )
    .argument('[workspaces...]', 'The two workspaces; -w names them too')
    .addOption(outputOption(['text', 'json', 'markdown']))
    .option('--detailed-exitcode', 'Exit with 2 when there are undeclared differences')
    .action((named: readonly string[], options: DiffOptions) =>
      start(async (context) => (await import('../actions/diff.ts')).diff(context, { ...options, named }), {
        severalWorkspaces: true,
      }),
    );
}
