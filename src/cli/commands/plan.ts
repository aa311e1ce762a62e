import { type Command, Option } from 'commander';
import { reportFormatNames } from '../../output/formats/index.ts';
import type { PlanCommandFlags } from '../actions/plan.ts';
import type { Start } from '../context.ts';
import { duration, outputOption, withFull, withPlanning, withWorkspaces } from '../flags.ts';

export function definePlan(program: Command, start: Start): void {
  withFull(withWorkspaces(withPlanning(program.command('plan'))))
    .summary('Show what apply would change')
    .description(
      'Show what apply would change. Reads the platform and the state, takes no lock, and changes nothing.',
    )
    .addOption(outputOption(reportFormatNames))
    .option('--out <file>', 'Save the plan, for voxform apply FILE')
    .addOption(
      duration('--lock-timeout', 'As for apply; plan waits for no lock', { seconds: 0, as: 'do not wait' }),
    )
    .addOption(new Option('--detailed-exitcode', 'Exit with 2 when there are changes'))
    .action((options: PlanCommandFlags) =>
      start(async (context) => (await import('../actions/plan.ts')).plan(context, options), {
        severalWorkspaces: true,
      }),
    );
}
