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

/** `env` is the complete environment of git: see `gitEnvironment`. */
export interface GitCall extends ProcessCall {
  /** The size in bytes at which a written file ends git. Without effect on Windows. */
  readonly maxFileBytes?: number | undefined;
}

export interface GitResult extends ProcessEnd {
  readonly out: Buffer;
}

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

/** Starts git as `runGit` does, for a caller that exchanges data with it. */
export function startGit(args: readonly string[], { maxFileBytes, ...call }: GitCall): Promise<StartedProcess> {
  if (maxFileBytes === undefined || process.platform === 'win32') return startProcess('git', args, call);
  // In blocks of 512 bytes.
  const limit = String(Math.ceil(maxFileBytes / 512));
  return startProcess('sh', ['-c', 'ulimit -f "$0" && exec git "$@"', limit, ...args], call);
}

/** Variables that make git use another repository, or prompt. */
const OTHER_REPOSITORY_VARIABLES =
  /^(SSH_ASKPASS.*|GIT_(?!SSH|SSL|HTTP|TRACE|CURL|PROXY|ALLOW_PROTOCOL|EXEC_PATH|CONFIG_GLOBAL|CONFIG_SYSTEM|CONFIG_NOSYSTEM).*)$/;

/**
 * The environment of git with additional settings. They are not arguments, because every user of the machine can read those.
 */
export function gitEnvironment(env: ProcessEnvironment, settings: readonly GitSetting[] = []): Record<string, string> {
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

/** Maximum age in milliseconds. voxform ends each git process sooner. */
const LONGEST_USE = 300_000;

/** Folders to which git writes when it fetches into a bare repository. */
const FOLDERS = ['.', 'objects', 'objects/pack', 'refs/voxform', 'refs/voxform/kept'];

/**
 * Removes locks and partial packs that a killed git has left in our own bare repository; git would refuse to fetch until they are removed.
 * Other processes may use the repository, so only the age of a file shows that no process owns it.
 */
export async function removeStaleFiles(repository: string): Promise<void> {
  const oldest = Date.now() - LONGEST_USE;
  for (const folder of FOLDERS) {
    const names = await readdir(path.join(repository, folder)).catch(() => []);
    for (const name of names.filter((each) => /\.lock$|^\.?tmp[_-]/.test(each))) {
      const file = path.join(repository, folder, name);
      const found = await stat(file).catch(() => undefined);
      if (found !== undefined && found.mtimeMs < oldest) await rm(file, { recursive: true, force: true });
    }
  }
}
