import { type Command, Option } from 'commander';
import type { PlanOptions } from '../actions/plan.ts';
import type { Start } from '../context.ts';
import { outputOption, withFull, withPlanning, withWorkspaces } from '../flags.ts';

export function definePlan(program: Command, start: Start): void {
  withFull(withWorkspaces(withPlanning(program.command('plan'))))
    .summary('show what apply would do; changes nothing')
    .description(
      'Shows what apply would do. Reads the platform and the state, takes no lock, and changes nothing. Exits with 0, or with --detailed-exitcode with 2 when there are changes.',
    )
    .addOption(outputOption(['text', 'json', 'markdown', 'html', 'github']))
    .option('--out <file>', 'save the plan, for `voxform apply FILE`')
    .addOption(new Option('--detailed-exitcode', 'exit with 2 when there are changes'))
    .action((options: PlanOptions) =>
      start(async (context) => (await import('../actions/plan.ts')).plan(context, options), {
        severalWorkspaces: true,
      }),
    );
}
