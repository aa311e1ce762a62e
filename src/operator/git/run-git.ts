import { spawn } from 'node:child_process';
import { UserError } from '../../problems/user-error.ts';
import type { GitAddress } from './git-address.ts';

export interface GitOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly address: GitAddress;
  readonly signal: AbortSignal;
  /** Where git notes what it has checked out; the repository's own place where absent. */
  readonly index?: string | undefined;
  /** Milliseconds after which git is ended. */
  readonly timeout: number;
  redact(text: string): string;
}

/** What would make git look at another repository than ours, or ask a person. */
const OTHERS =
  /^GIT_(?!SSH|SSL|HTTP|TRACE|CURL|PROXY|ALLOW_PROTOCOL|EXEC_PATH|CONFIG_GLOBAL|CONFIG_SYSTEM|CONFIG_NOSYSTEM)/;

/** Longest part of git's stderr that a message quotes. */
const MOST_TOLD = 500;

/** Runs git, and gives what it prints. Throws `UserError` with its complaint. */
export async function runGit(args: readonly string[], options: GitOptions): Promise<string> {
  const { env, signal, timeout, redact } = options;
  signal.throwIfAborted();
  const child = spawn('git', [...SETTINGS, ...args], {
    env: {
      ...ownEnv(env),
      ...settingsFor(options.address),
      ...(options.index !== undefined && { GIT_INDEX_FILE: options.index }),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeout)]),
    killSignal: 'SIGKILL',
  });
  let out = '';
  let complaint = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-10_000);
  });
  const failure = await new Promise<string | undefined>((resolve) => {
    let error: NodeJS.ErrnoException | undefined;
    child.once('error', (given: NodeJS.ErrnoException) => {
      error = given;
      if (given.code === 'ENOENT') resolve('git is not installed');
    });
    child.once('close', (code) => {
      if (code === 0) resolve(undefined);
      else if (error === undefined) resolve(lastWords(complaint) || `git exited with ${code}`);
      else resolve(signal.aborted ? 'cancelled' : `timed out after ${timeout / 1000} s`);
    });
  });
  if (failure === undefined) return out.trim();
  throw new UserError(`git ${verbOf(args)}: ${redact(failure)}`);
}

/** No program but git's own transports is run, and nothing from templates. */
const SETTINGS: readonly string[] = [
  ['protocol.ext.allow', 'never'],
  ['core.hooksPath', '/dev/null'],
  ['core.fsmonitor', 'false'],
  ['advice.detachedHead', 'false'],
  ['gc.autoDetach', 'false'],
  ['maintenance.autoDetach', 'false'],
  ['submodule.recurse', 'false'],
].flatMap(([name, value]) => ['-c', `${name}=${value}`]);

function ownEnv(env: GitOptions['env']): Record<string, string> {
  const own = Object.entries(env).flatMap(([name, value]) =>
    value === undefined || OTHERS.test(name) ? [] : [[name, value] as const],
  );
  return { ...Object.fromEntries(own), GIT_TERMINAL_PROMPT: '0', GCM_INTERACTIVE: 'never', LC_ALL: 'C' };
}

/** In the environment, because everyone on the machine can read the arguments of a process. */
function settingsFor({ credentials }: GitAddress): Record<string, string> {
  if (credentials === undefined) return {};
  const { server, user, password } = credentials;
  const login = Buffer.from(`${user}:${password}`).toString('base64');
  return {
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: `http.${server}.extraHeader`,
    GIT_CONFIG_VALUE_0: `Authorization: Basic ${login}`,
  };
}

function lastWords(complaint: string): string {
  const lines = complaint
    .split('\n')
    .map((line) => line.replace(/^(fatal|error|remote): /, '').trim())
    .filter((line) => line !== '');
  return lines.join('; ').slice(0, MOST_TOLD);
}

function verbOf(args: readonly string[]): string {
  return args.find((arg) => /^[a-z-]+$/.test(arg) && !arg.startsWith('-')) ?? '';
}
