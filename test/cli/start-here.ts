import { PassThrough } from 'node:stream';
import { Interrupts } from '../../src/cli/interrupts.ts';
import { run } from '../../src/cli/run.ts';
import { CACHES, type Ended, type RunOptions } from './voxform-process.ts';

/** A command that runs in this process, for tests that do not need a process of its own. */
export interface RunningHere {
  readonly stdin: PassThrough;
  readonly stdout: PassThrough;
  readonly stderr: PassThrough;
  readonly interrupts: Interrupts;
  readonly ended: Promise<Omit<Ended, 'signal'>>;
}

export function startHere(args: readonly string[], { cwd, env }: Pick<RunOptions, 'cwd' | 'env'>): RunningHere {
  const output = { stdout: '', stderr: '' };
  const collected = (name: keyof typeof output): PassThrough =>
    new PassThrough({ encoding: 'utf8' }).on('data', (text: string) => {
      output[name] += text;
    });
  const streams = {
    stdin: new PassThrough(),
    stdout: collected('stdout'),
    stderr: collected('stderr'),
    interrupts: new Interrupts(() => undefined),
  };
  const ended = run({
    ...streams,
    args,
    cwd,
    env: { PATH: process.env.PATH, HOME: cwd, XDG_CACHE_HOME: CACHES, ...env },
    stdin: () => streams.stdin,
    now: () => new Date(),
  });
  return { ...streams, ended: ended.then((code) => ({ code, ...output })) };
}
