import type { Command } from 'commander';
import type { FmtOptions } from '../actions/fmt.ts';
import type { Start } from '../context.ts';

export function defineFmt(program: Command, start: Start): void {
  program
    .command('fmt')
    .summary('put manifests into canonical form')
    .description(
      'Puts manifests and voxform.yaml into canonical form: keys in the order of the schemas, two columns a level, comments kept. Never changes what they say. Prints the files that it changed.',
    )
    .argument('[files...]', 'files or folders (default: all of the project)')
    .option('--check', 'write nothing, and exit with 1 when a file is not in canonical form')
    .option('--diff', 'show what would change and write nothing')
    .action((files: readonly string[], options: FmtOptions) =>
      start(async (context) => (await import('../actions/fmt.ts')).fmt(context, files, options)),
    );
}
