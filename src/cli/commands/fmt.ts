import type { Command } from 'commander';
import type { FmtOptions } from '../actions/fmt.ts';
import type { Start } from '../context.ts';

export function defineFmt(program: Command, start: Start): void {
  program
    .command('fmt')
    .summary('Format manifests')
    .description(
      'Format manifests and voxform.yaml: keys in schema order, two spaces of indentation, comments kept. Never changes a value. Prints the files it changed.',
    )
    .argument('[files...]', 'Files or folders (default: the whole project)')
    .option('--check', 'Write nothing; exit with 1 when a file is not formatted')
    .option('--diff', 'Show the diff and write nothing')
    .action((files: readonly string[], options: FmtOptions) =>
      start(async (context) => (await import('../actions/fmt.ts')).fmt(context, files, options)),
    );
}
