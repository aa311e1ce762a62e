import type { Command } from 'commander';
import type { RecoverOptions } from '../actions/recover.ts';
import type { Start } from '../context.ts';
import { withDiscovery } from '../discovery-flags.ts';
import { outputOption, withLock, withPlatform } from '../flags.ts';

export function defineRecover(program: Command, start: Start): void {
  withPlatform(withLock(withDiscovery(program.command('recover'))))
    .summary('find the records of manifests again after the state was lost')
    .description(
      'Rebuilds a lost state, or what it lacks: looks for the record of each manifest through numbers, users, calls and what is left of the earlier state, shows what speaks for it, and takes it under management once you agree. Asks for each one; changes nothing on the platform.',
    )
    .addOption(outputOption(['text', 'json']))
    .option('--auto', 'only what is certain: all that is shown agrees, and nothing else fits')
    .option('--auto-approve', 'take what is certain without asking')
    .action((options: RecoverOptions) =>
      start(async (context) => (await import('../actions/recover.ts')).recover(context, options)),
    );
}
