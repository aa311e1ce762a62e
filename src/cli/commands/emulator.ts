import type { Command } from 'commander';
import type { EmulatorFlags } from '../actions/emulator.ts';
import type { Start } from '../context.ts';
import { jsonObject, parsePort } from '../flags.ts';

export function defineEmulator(program: Command, start: Start): void {
  program
    .command('emulator')
    .summary('Run the platform on this machine')
    .description(
      'Run an emulator of the platform on this machine, for trials and tests. Dashboard actions are under /__emulator/. Press Ctrl-C to stop it.',
    )
    .option('--port <n>', 'Port to listen on; 0 picks a free one', parsePort, 4010)
    .option('--host <address>', 'Address to listen on', '127.0.0.1')
    .option('--data <file>', 'File to keep the records in (default: in memory)')
    .option('--seed <text>', 'Generate the same ids and times in every run')
    .option('--api-key <key>', 'Accept only this key (default: any)')
    .option('--workspace-id <id>', 'Id of the workspace')
    .option('--behaviour <json>', 'Choices the API leaves open, e.g. {"put":"replace"}', jsonObject)
    .action((flags: EmulatorFlags) =>
      start(async (context) => (await import('../actions/emulator.ts')).emulator(context, flags), {
        withoutProject: true,
      }),
    );
}
