import type { Command } from 'commander';
import type { AcceptOptions } from '../actions/accept.ts';
import type { Start } from '../context.ts';
import { collectAddress, outputOption, withPlatform } from '../flags.ts';

export function defineAccept(program: Command, start: Start): void {
  withPlatform(program.command('accept'))
    .summary('Write drift back into the manifests')
    .description(
      'Write drift back into the manifests: each value that changed on the platform, in the file that sets it. Shows the diff first, and the changes that cannot be written back. Writes nothing to the platform.',
    )
    .argument('[address...]', 'Only these resources (default: all that drifted)', collectAddress)
    .option('--dry-run', 'Show the diff and write nothing')
    .option('--auto-approve', 'Skip the approval prompt')
    .addOption(outputOption(['text', 'json']))
    .action((addresses: readonly string[], options: AcceptOptions) =>
      start(async (context) => (await import('../actions/accept.ts')).accept(context, addresses, options)),
    );
}
