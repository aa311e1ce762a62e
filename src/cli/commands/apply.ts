import { type Command, Option } from 'commander';
import type { ApplyOptions } from '../actions/apply.ts';
import type { Start } from '../context.ts';
import { outputOption, withApplying, withFull, withLock, withPlanning } from '../flags.ts';

export function defineApply(program: Command, start: Start): void {
  const command = withFull(withLock(withPlanning(program.command('apply'))))
    .summary('plan, ask, apply')
    .description(
      'Plans, asks, and carries the plan out. With a plan file, carries out that plan, exactly as it is or not at all.',
    )
    .argument('[plan-file]', 'a plan that `voxform plan --out FILE` saved')
    .addOption(outputOption(['text', 'json', 'markdown', 'html', 'github']))
    .addOption(new Option('--all-workspaces').hideHelp());
  withApplying(command).action((file: string | undefined, options: ApplyOptions) =>
    start(async (context) => (await import('../actions/apply.ts')).applyChanges(context, file, options), {
      severalWorkspaces: true,
    }),
  );
}
