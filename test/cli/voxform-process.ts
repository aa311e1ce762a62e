import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { inject } from 'vitest';

const MAIN = path.join(inject('built'), 'main.js');
/** Next to the built command. Processes share the compile cache, and no test looks for files that commands write. */
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
  /** The complete input, or `open` if the test writes to it later. */
  readonly input?: string | { readonly open: true };
  /** The file descriptor for the output, if not a pipe. */
  readonly stdout?: number | 'pipe';
  /** The program, if not the built command on Node. */
  readonly program?: string;
}

/** Starts the command in its own process, without the environment variables of this process that it reads. */
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

/** A process that is killed when this object is disposed of. */
export interface Running extends AsyncDisposable {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
}

export function voxform(args: readonly string[], options: RunOptions): Promise<Ended> {
  return start(args, options).ended;
}

/** Creates a folder with these files, which is removed when it is disposed of. */
export async function temporaryFolder(files: Readonly<Record<string, string>> = {}): Promise<Folder> {
  // The real path, because a process in this folder also sees the path without links.
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
