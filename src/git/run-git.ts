import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { attempt } from '../problems/attempt.ts';
import { errorCode } from '../problems/error-code.ts';
import { UserError } from '../problems/user-error.ts';

export type ProcessEnvironment = Readonly<Record<string, string | undefined>>;

export type GitSetting = readonly [string, string];

export interface GitCall {
  /** All that git is to have of the environment: see `gitEnvironment`. */
  readonly env: ProcessEnvironment;
  readonly cwd?: string | undefined;
  /** Ends git, and all that git has started. */
  readonly signal: AbortSignal;
}

export interface GitResult {
  readonly code: number;
  readonly out: Buffer;
  /** As much of what it said besides as its end holds. */
  readonly complaint: string;
}

/** Milliseconds in which git must remove its locks and temporary files before it is killed. */
const LAST_CHANCE = 2000;

/** Bytes that are kept of what git complains of. */
const MOST_KEPT = 10_000;

/**
 * Runs git in a session of its own: it meets neither the keys that a person presses nor a terminal to ask at.
 * @throws UserError where the folder does not exist. Otherwise what spawning it threw, such as ENOENT without git, and the signal's reason.
 */
export async function runGit(
  args: readonly string[],
  { input, ...call }: GitCall & { readonly input?: readonly Uint8Array[] | undefined },
): Promise<GitResult> {
  const { child, ended } = await startGit(args, call);
  const out: Buffer[] = [];
  child.stdout.on('data', (bytes: Buffer) => out.push(bytes));
  for (const bytes of input ?? []) child.stdin.write(bytes);
  child.stdin.end();
  return { ...(await ended), out: Buffer.concat(out) };
}

interface StartedGit {
  readonly child: ChildProcessWithoutNullStreams;
  /** Rejects as `runGit` does. */
  readonly ended: Promise<Omit<GitResult, 'out'>>;
}

/** Starts git as `runGit` does, for a caller that talks with it while it runs. */
export async function startGit(args: readonly string[], { env, cwd, signal }: GitCall): Promise<StartedGit> {
  const { spawn } = await import('node:child_process');
  signal.throwIfAborted();
  const child = spawn('git', args, { env, cwd, stdio: 'pipe', detached: true, windowsHide: true });
  let killing: NodeJS.Timeout | undefined;
  const stop = (): void => {
    endGroup(child.pid, 'SIGTERM');
    killing = setTimeout(() => endGroup(child.pid, 'SIGKILL'), LAST_CHANCE);
  };
  signal.addEventListener('abort', stop, { once: true });
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-MOST_KEPT);
  });
  // What it does not read it does not need.
  child.stdin.on('error', () => undefined);
  const end = async (): Promise<Omit<GitResult, 'out'>> => {
    try {
      const [status] = (await once(child, 'close')) as [number | null];
      signal.throwIfAborted();
      return { code: status ?? 1, complaint };
    } catch (error) {
      // Spawning tells this in the same way as a program that is not installed.
      if (errorCode(error) === 'ENOENT' && cwd !== undefined && !existsSync(cwd))
        throw new UserError(`git cannot run in ${cwd}: the folder does not exist`);
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
  // Unless it has ended by itself.
  attempt(() => process.kill(process.platform === 'win32' ? pid : -pid, signal));
}

/** What would make git look at another repository than the one that is meant, or ask a person. */
const OTHERS =
  /^(SSH_ASKPASS.*|GIT_(?!SSH|SSL|HTTP|TRACE|CURL|PROXY|ALLOW_PROTOCOL|EXEC_PATH|CONFIG_GLOBAL|CONFIG_SYSTEM|CONFIG_NOSYSTEM).*)$/;

/**
 * The environment of git with settings of ours. They are in it because everyone on the machine can read the arguments of a process.
 */
export function gitEnvironment(
  env: ProcessEnvironment,
  settings: readonly GitSetting[] = [],
): Record<string, string> {
  const own = Object.entries(env).flatMap(([name, value]) =>
    value === undefined || OTHERS.test(name) ? [] : [[name, value] as const],
  );
  const configured = settings.flatMap(([name, value], index) => [
    [`GIT_CONFIG_KEY_${index}`, name] as const,
    [`GIT_CONFIG_VALUE_${index}`, value] as const,
  ]);
  return {
    ...Object.fromEntries([...own, ...configured]),
    ...(settings.length > 0 && { GIT_CONFIG_COUNT: String(settings.length) }),
    GIT_TERMINAL_PROMPT: '0',
    GCM_INTERACTIVE: 'never',
    LC_ALL: 'C',
  };
}

/** Variables by which a caller sets settings, and says how far git looks for the repository. */
const CALLERS =
  /^GIT_(CONFIG_(COUNT|PARAMETERS|KEY_\d+|VALUE_\d+)|CEILING_DIRECTORIES|DISCOVERY_ACROSS_FILESYSTEM)$/;

/** The environment of git for the repository that a folder is in, also in a hook of another one. */
export function folderEnvironment(env: ProcessEnvironment): Record<string, string | undefined> {
  const callers = Object.entries(env).filter(([name]) => CALLERS.test(name));
  return { ...gitEnvironment(env), ...Object.fromEntries(callers) };
}

/**
 * No program but git's own transports is run, nothing from templates, and nothing goes on after it has ended. Redirects are not followed:
 * git would send an extra header, and with it a password, to the new server as well.
 */
export const ALONE: readonly GitSetting[] = [
  ['http.followRedirects', 'false'],
  ['protocol.ext.allow', 'never'],
  ['core.hooksPath', '/dev/null'],
  ['core.fsmonitor', 'false'],
  ['gc.autoDetach', 'false'],
  ['maintenance.autoDetach', 'false'],
  ['submodule.recurse', 'false'],
];

/** The way out where a server answered with a redirect; undefined for other complaints. */
export function redirectHint(complaint: string): string | undefined {
  if (!/returned error: 30[12378]/.test(complaint)) return undefined;
  return 'The server redirects. Redirects are not followed, to keep credentials safe: use the final address, often the one that ends in .git.';
}

/** Longest part of what git complains of that is told. */
const MOST_TOLD = 500;

/** What git complains of, on one line and without passwords of addresses. */
export function lastWords(complaint: string): string {
  const lines = complaint
    .split('\n')
    .map((line) => line.replaceAll(/\0|^(fatal|error|remote): /g, '').trim())
    .filter((line) => line !== '');
  return [...new Set(lines)]
    .join('; ')
    .replaceAll(/\b([a-z][a-z0-9+.-]*:\/\/)[^/\s'"]*@/gi, '$1')
    .slice(0, MOST_TOLD);
}
