import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { attempt } from '../problems/attempt.ts';
import { errorCode } from '../problems/error-code.ts';
import { UserError } from '../problems/user-error.ts';

export type ProcessEnvironment = Readonly<Record<string, string | undefined>>;

export type GitSetting = readonly [string, string];

export interface GitCall {
  /** The complete environment of git: see `gitEnvironment`. */
  readonly env: ProcessEnvironment;
  readonly cwd?: string | undefined;
  /** Ends git and its child processes. */
  readonly signal: AbortSignal;
}

export interface GitResult {
  readonly code: number;
  readonly out: Buffer;
  /** The last part of the error output. */
  readonly complaint: string;
}

/** The time in milliseconds for git to remove its locks and temporary files before it is killed. */
const KILL_DELAY = 2000;

/** The number of bytes of the error output that are kept. */
const MAX_KEPT = 10_000;

/**
 * Runs git in its own session: it has no terminal for prompts and does not receive Ctrl-C.
 * @throws UserError if the folder does not exist. Otherwise the error of spawning, such as ENOENT without git, or the signal's reason.
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

/** Starts git as `runGit` does, for a caller that exchanges data with it. */
export async function startGit(args: readonly string[], { env, cwd, signal }: GitCall): Promise<StartedGit> {
  const { spawn } = await import('node:child_process');
  signal.throwIfAborted();
  const child = spawn('git', args, { env, cwd, stdio: 'pipe', detached: true, windowsHide: true });
  let killing: NodeJS.Timeout | undefined;
  const stop = (): void => {
    endGroup(child.pid, 'SIGTERM');
    killing = setTimeout(() => endGroup(child.pid, 'SIGKILL'), KILL_DELAY);
  };
  signal.addEventListener('abort', stop, { once: true });
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-MAX_KEPT);
  });
  // Git may exit before it has read all of its input.
  child.stdin.on('error', () => undefined);
  const end = async (): Promise<Omit<GitResult, 'out'>> => {
    try {
      const [status] = (await once(child, 'close')) as [number | null];
      signal.throwIfAborted();
      return { code: status ?? 1, complaint };
    } catch (error) {
      // Spawning fails in the same way as without git.
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
  // It may have exited by itself.
  attempt(() => process.kill(process.platform === 'win32' ? pid : -pid, signal));
}

/** Variables that make git use another repository, or prompt. */
const OTHER_REPOSITORY_VARIABLES =
  /^(SSH_ASKPASS.*|GIT_(?!SSH|SSL|HTTP|TRACE|CURL|PROXY|ALLOW_PROTOCOL|EXEC_PATH|CONFIG_GLOBAL|CONFIG_SYSTEM|CONFIG_NOSYSTEM).*)$/;

/**
 * The environment of git with additional settings. They are not arguments, because every user of the machine can read those.
 */
export function gitEnvironment(
  env: ProcessEnvironment,
  settings: readonly GitSetting[] = [],
): Record<string, string> {
  const own = Object.entries(env).flatMap(([name, value]) =>
    value === undefined || OTHER_REPOSITORY_VARIABLES.test(name) ? [] : [[name, value] as const],
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

/** Variables for settings, and for the limits of the search for the repository. */
const CALLER_VARIABLES =
  /^GIT_(CONFIG_(COUNT|PARAMETERS|KEY_\d+|VALUE_\d+)|CEILING_DIRECTORIES|DISCOVERY_ACROSS_FILESYSTEM)$/;

/** The environment of git for the repository of a folder, also in a hook of another one. */
export function folderEnvironment(env: ProcessEnvironment): Record<string, string | undefined> {
  const callers = Object.entries(env).filter(([name]) => CALLER_VARIABLES.test(name));
  return { ...gitEnvironment(env), ...Object.fromEntries(callers) };
}

/**
 * Git runs only its own transports, no templates and no background work. Redirects are not followed: git would send an extra header, and
 * so a password, to the new server too.
 */
export const ISOLATION_SETTINGS: readonly GitSetting[] = [
  ['http.followRedirects', 'false'],
  ['protocol.ext.allow', 'never'],
  ['core.hooksPath', '/dev/null'],
  ['core.fsmonitor', 'false'],
  ['gc.autoDetach', 'false'],
  ['maintenance.autoDetach', 'false'],
  ['submodule.recurse', 'false'],
];

/** The hint for a server that answers with a redirect; undefined for other errors. */
export function redirectHint(complaint: string): string | undefined {
  if (!/returned error: 30[12378]/.test(complaint)) return undefined;
  return 'The server redirects. Redirects are not followed, to keep credentials safe: use the final address, often the one that ends in .git.';
}

/** The maximum number of characters of the error output in a message. */
const MAX_LENGTH = 500;

/** The error output of git on one line, without passwords of addresses. */
export function shortError(complaint: string): string {
  const lines = complaint
    .split('\n')
    .map((line) => line.replaceAll(/\0|^(fatal|error|remote): /g, '').replace(/[\s.]+$/, ''))
    .filter((line) => line !== '');
  return [...new Set(lines)]
    .join('; ')
    .replaceAll(/\b([a-z][a-z0-9+.-]*:\/\/)[^/\s'"]*@/gi, '$1')
    .slice(0, MAX_LENGTH);
}
