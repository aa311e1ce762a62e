import type { Command } from 'commander';
import type { EmulatorFlags } from '../actions/emulator.ts';
import type { Start } from '../context.ts';
import { jsonObject, parsePort } from '../flags.ts';

export function defineEmulator(program: Command, start: Start): void {
  program
    .command('emulator')
    .summary('the platform on this machine')
    .description(
      'Serves the platform on this machine, for trying, teaching and testing. What only the dashboard can do is under /__emulator/. Runs until a signal ends it.',
    )
    .option('--port <n>', 'port to listen on; 0 takes any that is free', parsePort, 4010)
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--data <file>', 'keep the records in this file (default: in memory)')
    .option('--seed <text>', 'make ids and times the same in every run')
    .option('--api-key <key>', 'take only this key (default: any)')
    .option('--workspace-id <id>', 'id of the workspace')
    .option('--behaviour <json>', 'what the API leaves open, e.g. {"put":"replace"}', jsonObject)
    .action((flags: EmulatorFlags) =>
      start(async (context) => (await import('../actions/emulator.ts')).emulator(context, flags), {
        withoutProject: true,
      }),
    );
}
