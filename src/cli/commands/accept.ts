import type { Command } from 'commander';
import type { AcceptOptions } from '../actions/accept.ts';
import type { Start } from '../context.ts';
import { collectAddress, outputOption, withPlatform } from '../flags.ts';

export function defineAccept(program: Command, start: Start): void {
  withPlatform(program.command('accept'))
    .summary('write what changed on the platform into the manifests')
    .description(
      'Writes drift back into the manifests: each value that somebody changed on the platform, in the file that it comes from, and nothing else of that file. Shows the diff, and what cannot be written back and why. Writes nothing to the platform.',
    )
    .argument('[address...]', 'only these resources (default: all that drifted)', collectAddress)
    .option('--dry-run', 'show the diff of the files and write nothing')
    .option('--auto-approve', 'write without asking')
    .addOption(outputOption(['text', 'json']))
    .action((addresses: readonly string[], options: AcceptOptions) =>
      start(async (context) => (await import('../actions/accept.ts')).accept(context, addresses, options)),
    );
}
