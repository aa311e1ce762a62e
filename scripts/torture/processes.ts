import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  /** Resolves when this has been written to stderr; rejects when the process ends without it. */
  said(text: string): Promise<void>;
  /** Resolves when it has stopped itself; rejects when it ends without that. */
  frozen(): Promise<void>;
  /** What it has written so far. */
  text(): string;
}

export interface Starting {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** File descriptors after the three streams: pipes that end when the last process that has them does. */
  readonly extraPipes?: number;
  /** Milliseconds that it may take. */
  readonly longest?: number;
}

/** Nothing else that a campaign starts may take longer. */
const LONGEST_RUN = 90_000;

/** By their ids, which are also those of their groups: what a shell or another wrapper started ends with it. */
const underWay = new Set<number>();

/** Ends all that was started and has not ended. */
export function endProcesses(): void {
  for (const id of underWay) endGroup(id);
}

function endGroup(id: number | undefined): void {
  try {
    if (id !== undefined) process.kill(-id, 'SIGKILL');
  } catch {
    // It ended a moment ago.
  }
}

/** Starts a process with nothing of this one's environment but its PATH; one that hangs is killed and rejects. */
export function startProcess([file, ...args]: readonly [string, ...string[]], starting: Starting): Running {
  const { cwd, env, extraPipes = 0, longest = LONGEST_RUN } = starting;
  const child = spawn(file, args, {
    cwd,
    env: { PATH: process.env.PATH ?? '', HOME: cwd, LANG: 'C.UTF-8', ...env },
    stdio: ['ignore', 'pipe', 'pipe', ...Array<'pipe'>(extraPipes).fill('pipe')],
    detached: true,
  });
  const id = child.pid;
  if (id !== undefined) underWay.add(id);
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
  const ended = new Promise<Ended>((resolve, reject) => {
    const end = (): void => {
      endGroup(id);
      reject(new Error(`${[file, ...args].join(' ')} did not end within ${longest / 1000} s\n${stderr}`));
    };
    const deadline = Number.isFinite(longest) ? setTimeout(end, longest) : undefined;
    child.once('error', reject);
    child.once('close', (code, signal) => {
      clearTimeout(deadline);
      if (id !== undefined) underWay.delete(id);
      resolve({ code, signal, stdout, stderr });
    });
  });
  const said = (text: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const listener = (): void => {
        if (!stderr.includes(text)) return;
        listeners.delete(listener);
        resolve();
      };
      listeners.add(listener);
      ended.then(() => reject(new Error(`it ended without saying "${text}":\n${stderr}`)), reject);
      listener();
    });
  const frozen = async (): Promise<void> => {
    while (child.exitCode === null && child.signalCode === null) {
      if (isStopped(id)) return;
      await delay(10);
    }
    throw new Error(`it ended without stopping itself:\n${stdout}${stderr}`);
  };
  return { child, ended, said, frozen, text: () => stdout + stderr };
}

function isStopped(id: number | undefined): boolean {
  try {
    return /^\d+ \(.*\) [Tt] /s.test(readFileSync(`/proc/${id}/stat`, 'utf8'));
  } catch {
    return false;
  }
}
