import { type Command, Option } from 'commander';
import { reportFormatNames } from '../../output/formats/index.ts';
import type { ApplyFlags } from '../actions/apply.ts';
import type { Start } from '../context.ts';
import { outputOption, withApplying, withFull, withLock, withPlanning } from '../flags.ts';

export function defineApply(program: Command, start: Start): void {
  const command = withFull(withLock(withPlanning(program.command('apply'))))
    .summary('Plan, ask for approval, and apply')
    .description(
      'Plan, ask for approval, and apply. A saved plan is applied exactly as it is, or refused if anything changed since.',
    )
    .argument('[plan-file]', 'Plan saved with voxform plan --out FILE')
    .addOption(outputOption(reportFormatNames))
    .addOption(new Option('--all-workspaces').hideHelp());
  withApplying(command).action((file: string | undefined, options: ApplyFlags) =>
    start(async (context) => (await import('../actions/apply.ts')).applyChanges(context, file, options), {
      severalWorkspaces: true,
    }),
  );
}
