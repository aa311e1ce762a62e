import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { attempt } from '../problems/attempt.ts';
import { errorCode } from '../problems/error-code.ts';
import { UserError } from '../problems/user-error.ts';

export type ProcessEnvironment = Readonly<Record<string, string | undefined>>;

export interface ProcessCall {
  /** The complete environment of the process. */
  readonly env: ProcessEnvironment;
  readonly cwd?: string | undefined;
  /** Stops the process and its child processes. */
  readonly signal: AbortSignal;
}

export interface ProcessEnd {
  /** The exit code; 128 plus the signal number if a signal ended the process. */
  readonly code: number;
  /** The last part of the error output. */
  readonly errorOutput: string;
}

export interface StartedProcess {
  readonly child: ChildProcessWithoutNullStreams;
  /** Rejects with the spawn error, such as ENOENT, or with the signal's reason. */
  readonly ended: Promise<ProcessEnd>;
}

/** The time that a process has to remove its locks and temporary files before it is killed. */
const KILL_DELAY_MS = 2000;

/** The maximum number of characters of the error output to keep. */
const MAX_ERROR_OUTPUT_LENGTH = 10_000;

/**
 * Starts a program without a shell in a separate session, so that it has no terminal for prompts and does not receive Ctrl-C.
 * `ended` rejects with a UserError if the folder does not exist.
 * @throws the signal's reason.
 */
export async function startProcess(
  program: string,
  args: readonly string[],
  { env, cwd, signal }: ProcessCall,
): Promise<StartedProcess> {
  const { spawn } = await import('node:child_process');
  signal.throwIfAborted();
  const child = spawn(program, args, { env, cwd, stdio: 'pipe', detached: true, windowsHide: true });
  let killing: NodeJS.Timeout | undefined;
  const stop = (): void => {
    endGroup(child.pid, 'SIGTERM');
    killing = setTimeout(() => {
      endGroup(child.pid, 'SIGKILL');
      // A process that left the group may still hold the other ends of the pipes.
      child.stdout.destroy();
      child.stderr.destroy();
    }, KILL_DELAY_MS);
  };
  signal.addEventListener('abort', stop, { once: true });
  let errorOutput = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errorOutput = (errorOutput + text).slice(-MAX_ERROR_OUTPUT_LENGTH);
  });
  // The process may exit before it has read all of its input.
  child.stdin.on('error', () => undefined);
  const end = async (): Promise<ProcessEnd> => {
    try {
      const [code, endedBy] = (await once(child, 'close')) as [number, null] | [null, NodeJS.Signals];
      signal.throwIfAborted();
      return { code: code ?? 128 + constants.signals[endedBy], errorOutput };
    } catch (error) {
      // A missing folder and a missing program cause the same error.
      if (errorCode(error) === 'ENOENT' && cwd !== undefined && !existsSync(cwd))
        throw new UserError(`${program} cannot run in ${cwd}: the folder does not exist`);
      throw error;
    } finally {
      signal.removeEventListener('abort', stop);
      clearTimeout(killing);
    }
  };
  return { child, ended: end() };
}

function endGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  // The process may already have exited.
  attempt(() => process.kill(process.platform === 'win32' ? pid : -pid, signal));
}
