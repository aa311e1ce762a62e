import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

export interface ProcessResult {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunningProcess {
  readonly child: ChildProcess;
  readonly ended: Promise<ProcessResult>;
  /** Resolves when stderr contains this text. Rejects if the process ends without it. */
  waitForOutput(text: string): Promise<void>;
  /** Resolves when the process has stopped itself. Rejects if it ends instead. */
  waitUntilStopped(): Promise<void>;
  /** Returns the output so far. */
  output(): string;
}

interface StartOptions {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** The number of additional pipes. They close when the last process that has them open ends. */
  readonly extraPipes?: number;
  readonly timeoutMs?: number;
}

const DEFAULT_TIMEOUT_MS = 90_000;

/** The ids of running process groups. A group includes the children of a shell or another wrapper. */
const runningGroups = new Set<number>();

/** Kills all processes that are still running. */
export function killProcesses(): void {
  for (const id of runningGroups) killGroup(id);
}

function killGroup(id: number | undefined): void {
  try {
    if (id !== undefined) process.kill(-id, 'SIGKILL');
  } catch {
    // The group has already ended.
  }
}

/** Starts a process that inherits only PATH. After the timeout, kills it and rejects. */
export function startProcess([file, ...args]: readonly [string, ...string[]], options: StartOptions): RunningProcess {
  const { cwd, env, extraPipes = 0, timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  const child = spawn(file, args, {
    cwd,
    env: { PATH: process.env.PATH ?? '', HOME: cwd, LANG: 'C.UTF-8', ...env },
    stdio: ['ignore', 'pipe', 'pipe', ...Array<'pipe'>(extraPipes).fill('pipe')],
    detached: true,
  });
  const id = child.pid;
  if (id !== undefined) runningGroups.add(id);
  let stdout = '';
  let stderr = '';
  const listeners = new Set<() => void>();
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
    for (const listener of listeners) listener();
  });
  const ended = new Promise<ProcessResult>((resolve, reject) => {
    const end = (): void => {
      killGroup(id);
      reject(new Error(`${[file, ...args].join(' ')} did not end within ${timeoutMs / 1000} s\n${stderr}`));
    };
    const deadline = Number.isFinite(timeoutMs) ? setTimeout(end, timeoutMs) : undefined;
    child.once('error', reject);
    child.once('close', (code, signal) => {
      clearTimeout(deadline);
      if (id !== undefined) runningGroups.delete(id);
      resolve({ code, signal, stdout, stderr });
    });
  });
  const waitForOutput = (text: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const listener = (): void => {
        if (!stderr.includes(text)) return;
        listeners.delete(listener);
        resolve();
      };
      listeners.add(listener);
      ended.then(() => reject(new Error(`the process ended without the output "${text}":\n${stderr}`)), reject);
      listener();
    });
  const waitUntilStopped = async (): Promise<void> => {
    while (child.exitCode === null && child.signalCode === null) {
      if (isStopped(id)) return;
      await delay(10);
    }
    throw new Error(`the process ended without stopping itself:\n${stdout}${stderr}`);
  };
  return { child, ended, waitForOutput, waitUntilStopped, output: () => stdout + stderr };
}

function isStopped(id: number | undefined): boolean {
  try {
    return /^\d+ \(.*\) [Tt] /s.test(readFileSync(`/proc/${id}/stat`, 'utf8'));
  } catch {
    return false;
  }
}
