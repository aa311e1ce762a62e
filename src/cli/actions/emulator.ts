import { once } from 'node:events';
import path from 'node:path';
import { type BehaviourPatch, emulatorBehaviour } from '../../emulator/behaviour.ts';
import { type EmulatorOptions, startEmulator } from '../../emulator/start-emulator.ts';
import { didYouMean } from '../../problems/suggest.ts';
import { usageError } from '../../problems/user-error.ts';
import type { Context } from '../context.ts';

interface EmulatorFlags extends Pick<EmulatorOptions, 'port' | 'host' | 'seed' | 'apiKey' | 'workspaceId'> {
  readonly data?: string;
  readonly behaviour?: Readonly<Record<string, unknown>>;
}

/** Runs the emulator on this machine until voxform receives a signal. */
export async function emulator(context: Context, flags: EmulatorFlags): Promise<void> {
  const { terminal, interrupts, cwd, log } = context;
  const { data, behaviour = {}, ...options } = flags;
  const dataFile = data === undefined ? undefined : path.resolve(cwd, data);
  const emulator = await startEmulator({ ...options, dataFile, behaviour: checkedBehaviour(behaviour) });
  terminal.out(
    [
      `Emulator listening on ${emulator.url}, workspace ${emulator.workspaceId}.`,
      flags.apiKey === undefined ? 'Accepts any API key.' : 'Accepts only the API key of --api-key.',
      flags.data === undefined ? 'Keeps its records in memory.' : `Keeps its records in ${flags.data}.`,
      '',
    ].join('\n'),
  );
  log.info('Press Ctrl-C to stop.');
  if (!interrupts.stop.aborted) await once(interrupts.stop, 'abort');
  await emulator.close();
}

/** @throws UserError for an unknown setting or an invalid value. */
function checkedBehaviour(settings: Readonly<Record<string, unknown>>): BehaviourPatch {
  const parsed = emulatorBehaviour.safeParse(settings);
  if (parsed.success) return settings;
  const [issue] = parsed.error.issues;
  const known = Object.keys(emulatorBehaviour.shape);
  const location = ['--behaviour', ...(issue?.path ?? [])].join('.').replace('.', ': ');
  const [key = ''] = issue?.code === 'unrecognized_keys' ? issue.keys : [];
  const problem = key === '' ? issue?.message : `unknown setting ${key}${didYouMean(key, known)}`;
  throw usageError(`${location}: ${problem}`, `Known behaviours: ${known.join(', ')}.`);
}
