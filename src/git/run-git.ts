import { readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import {
  type ProcessCall,
  type ProcessEnd,
  type ProcessEnvironment,
  type StartedProcess,
  startProcess,
} from '../files/run-process.ts';

export type GitSetting = readonly [string, string];

/** A call of git. Its `env` is the complete environment of the process; see `gitEnvironment`. */
export interface GitCall extends ProcessCall {
  /** Maximum size in bytes of each file that git writes. Git fails if a file is larger. Ignored on Windows. */
  readonly maxFileBytes?: number | undefined;
}

export interface GitResult extends ProcessEnd {
  readonly out: Buffer;
}

/**
 * Runs git in a separate session, so that git has no terminal for prompts and does not receive Ctrl-C.
 * @throws UserError if the working folder does not exist; otherwise the spawn error, such as ENOENT without git, or the signal's reason.
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

/** Starts git like `runGit`, for callers that exchange data with the process. */
export function startGit(args: readonly string[], { maxFileBytes, ...call }: GitCall): Promise<StartedProcess> {
  if (maxFileBytes === undefined || process.platform === 'win32') return startProcess('git', args, call);
  // ulimit counts blocks of 512 bytes.
  const limit = String(Math.ceil(maxFileBytes / 512));
  return startProcess('sh', ['-c', 'ulimit -f "$0" && exec git "$@"', limit, ...args], call);
}

/** Environment variables that would make git use another repository or prompt the user. */
const OTHER_REPOSITORY_VARIABLES =
  /^(SSH_ASKPASS.*|GIT_(?!SSH|SSL|HTTP|TRACE|CURL|PROXY|ALLOW_PROTOCOL|EXEC_PATH|CONFIG_GLOBAL|CONFIG_SYSTEM|CONFIG_NOSYSTEM).*)$/;

/** Returns the environment for git with more settings. As arguments, they would be visible to every user of the machine. */
export function gitEnvironment(env: ProcessEnvironment, settings: readonly GitSetting[] = []): Record<string, string> {
  const inherited = Object.entries(env).flatMap(([name, value]) =>
    value === undefined || OTHER_REPOSITORY_VARIABLES.test(name) ? [] : [[name, value] as const],
  );
  const configured = settings.flatMap(([name, value], index) => [
    [`GIT_CONFIG_KEY_${index}`, name] as const,
    [`GIT_CONFIG_VALUE_${index}`, value] as const,
  ]);
  return {
    ...Object.fromEntries([...inherited, ...configured]),
    ...(settings.length > 0 && { GIT_CONFIG_COUNT: String(settings.length) }),
    GIT_TERMINAL_PROMPT: '0',
    GCM_INTERACTIVE: 'never',
    LC_ALL: 'C',
  };
}

/** Variables that contain the caller's git settings or limit git's search for the repository. */
const CALLER_VARIABLES =
  /^GIT_(CONFIG_(COUNT|PARAMETERS|KEY_\d+|VALUE_\d+)|CEILING_DIRECTORIES|DISCOVERY_ACROSS_FILESYSTEM)$/;

/** Returns the environment in which git uses the repository of a folder, even if voxform runs in a hook of another repository. */
export function folderEnvironment(env: ProcessEnvironment): Record<string, string | undefined> {
  const callerVariables = Object.entries(env).filter(([name]) => CALLER_VARIABLES.test(name));
  return { ...gitEnvironment(env), ...Object.fromEntries(callerVariables) };
}

/** Disables the `ext` transport, hooks, background work and redirects, because git would send the password to the new server. */
export const ISOLATION_SETTINGS: readonly GitSetting[] = [
  ['http.followRedirects', 'false'],
  ['protocol.ext.allow', 'never'],
  ['core.hooksPath', '/dev/null'],
  ['core.fsmonitor', 'false'],
  ['gc.autoDetach', 'false'],
  ['maintenance.autoDetach', 'false'],
  ['submodule.recurse', 'false'],
];

/** Returns the hint for a server that redirects; undefined for other errors. */
export function redirectHint(errorOutput: string): string | undefined {
  if (!/returned error: 30[12378]/.test(errorOutput)) return undefined;
  return 'The server redirects the request. Redirects are not followed, to keep credentials safe. Use the final address, which often ends in .git.';
}

/** The maximum number of characters of the error output in a message. */
const MAX_ERROR_LENGTH = 500;

/** Returns the error output of git on one line, without the credentials in addresses. */
export function shortError(errorOutput: string): string {
  const lines = errorOutput
    .split('\n')
    .map((line) => line.replaceAll(/\0|^(fatal|error|remote): /g, '').replace(/[\s.]+$/, ''))
    .filter((line) => line !== '');
  return [...new Set(lines)]
    .join('; ')
    .replaceAll(/\b([a-z][a-z0-9+.-]*:\/\/)[^/\s'"]*@/gi, '$1')
    .slice(0, MAX_ERROR_LENGTH);
}

/** The age in milliseconds above which a temporary file is stale, because voxform ends each git process sooner. */
const STALE_AFTER_MS = 300_000;

/** Folders that git writes to when it fetches into a bare repository. */
const WRITTEN_FOLDERS = ['.', 'objects', 'objects/pack', 'refs/voxform', 'refs/voxform/kept'];

/**
 * Removes locks and partial packs of killed git processes from our own bare repository, because git refuses to fetch while these files
 * exist. Other processes may be using the repository, so only old files are removed.
 */
export async function removeStaleFiles(repository: string): Promise<void> {
  const minTime = Date.now() - STALE_AFTER_MS;
  for (const folder of WRITTEN_FOLDERS) {
    const names = await readdir(path.join(repository, folder)).catch(() => []);
    for (const name of names.filter((each) => /\.lock$|^\.?tmp[_-]/.test(each))) {
      const file = path.join(repository, folder, name);
      const stats = await stat(file).catch(() => undefined);
      if (stats !== undefined && stats.mtimeMs < minTime) await rm(file, { recursive: true, force: true });
    }
  }
}
