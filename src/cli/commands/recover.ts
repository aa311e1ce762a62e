import type { Command } from 'commander';
import type { RecoverOptions } from '../actions/recover.ts';
import type { Start } from '../context.ts';
import { type Discoverable, inWords, withDiscovery } from '../discovery-flags.ts';
import { outputOption, withLock, withPlatform } from '../flags.ts';

export function defineRecover(program: Command, start: Start): void {
  withPlatform(withLock(withDiscovery(program.command('recover'), described)))
    .summary('Rebuild a lost state')
    .addOption(outputOption(['text', 'json']))
    .option('--auto', 'Import only certain matches: all shown fields agree and no other record fits')
    .option('--auto-approve', 'Skip the approval prompt')
    .action((options: RecoverOptions) =>
      start(async (context) => (await import('../actions/recover.ts')).recover(context, options)),
    );
}

function described({ sources }: Discoverable): string {
  return `Rebuild a lost or incomplete state. Finds the record of each manifest through ${inWords([...sources, 'backups of the state'])}, shows the evidence, and asks before each import. Changes nothing on the platform.`;
}
