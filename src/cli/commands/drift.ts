import type { Command } from 'commander';
import { reportFormatNames } from '../../output/formats/index.ts';
import type { DriftOptions } from '../actions/drift.ts';
import type { Start } from '../context.ts';
import { outputOption, withFull, withPlatform, withSelection, withWorkspaces } from '../flags.ts';

export function defineDrift(program: Command, start: Start): void {
  withFull(withWorkspaces(withPlatform(withSelection(program.command('drift')))))
    .summary('Show what changed on the platform since the last apply')
    .description(
      'Show what changed on the platform since the last apply. Changes nothing. Exits with 2 when there is drift.',
    )
    .addOption(outputOption(reportFormatNames))
    .action((options: DriftOptions) =>
      start(async (context) => (await import('../actions/drift.ts')).drift(context, options), {
        severalWorkspaces: true,
      }),
    );
}
