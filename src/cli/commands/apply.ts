import { type Command, Option } from 'commander';
import type { ApplyOptions } from '../actions/apply.ts';
import type { Start } from '../context.ts';
import { outputOption, withLock, withPlanning } from '../flags.ts';

export function defineApply(program: Command, start: Start): void {
  withLock(withPlanning(program.command('apply')))
    .summary('plan, ask, apply')
    .description(
      'Plans, asks, and carries the plan out. With a plan file, carries out that plan, exactly as it is or not at all.',
    )
    .argument('[plan-file]', 'a plan that `voxform plan --out FILE` saved')
    .addOption(outputOption(['text', 'json', 'markdown', 'html', 'github']))
    .addOption(new Option('--all-workspaces').hideHelp())
    .option('--auto-approve', 'do not ask')
    .option('--allow-large-change', 'lift the guard on the share of resources that one run may change')
    .option('--allow-owner-change', 'lift the guard on the roles of workspace owners')
    .addOption(
      new Option(
        '--on-error <mode>',
        'after a failure, go on with what does not depend on it, or start nothing new',
      )
        .choices(['continue', 'stop'])
        .default('continue'),
    )
    .action((file: string | undefined, options: ApplyOptions) =>
      start(async (context) => (await import('../actions/apply.ts')).applyChanges(context, file, options), {
        severalWorkspaces: true,
      }),
    );
}
