import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { inject } from 'vitest';

const MAIN = path.join(inject('built'), 'main.js');
/** Beside the command, where one process finds what another compiled, and no test looks for what commands write. */
export const CACHES = path.join(inject('built'), 'caches');
const STATES = path.join(inject('built'), 'states');

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** All of its input, or `open` for what is written to it later. */
  readonly input?: string | { readonly open: true };
  /** The open file that its output goes to, if not this process. */
  readonly stdout?: number | 'pipe';
  /** The command, if it is not the built one on Node. */
  readonly program?: string;
}

/** The command in a process of its own, with nothing of this process's environment that it reads. */
export function start(
  args: readonly string[],
  { cwd, env, input, stdout: output = 'pipe', program }: RunOptions,
): Running {
  const [file, ...first] = program === undefined ? [process.execPath, MAIN] : [program];
  const child = spawn(file, [...first, ...args], {
    cwd,
    env: { PATH: process.env.PATH ?? '', HOME: cwd, XDG_CACHE_HOME: CACHES, XDG_STATE_HOME: STATES, ...env },
    stdio: [input === undefined ? 'ignore' : 'pipe', output, 'pipe'],
  });
  if (typeof input !== 'object') child.stdin?.end(input);
  let stdout = '';
  let stderr = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
  return {
    child,
    ended,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await ended.catch(() => undefined);
    },
  };
}

/** Killed, where it still runs, when it is disposed of. */
export interface Running extends AsyncDisposable {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
}

export function voxform(args: readonly string[], options: RunOptions): Promise<Ended> {
  return start(args, options).ended;
}

/** A folder with these files, gone when it is disposed of. */
export async function temporaryFolder(files: Readonly<Record<string, string>> = {}): Promise<Folder> {
  // As a process would know it that runs there, where the way leads through links.
  const root = await realpath(await mkdtemp(path.join(tmpdir(), 'voxform-cli-')));
  const write = async (name: string, text: string): Promise<void> => {
    const file = path.join(root, name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, text);
  };
  for (const [name, text] of Object.entries(files)) await write(name, text);
  return {
    root,
    write,
    [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true }),
  };
}

export interface Folder extends AsyncDisposable {
  readonly root: string;
  write(name: string, text: string): Promise<void>;
}
