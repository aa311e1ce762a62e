import { errorCode } from '../problems/error-code.ts';
import { UserError } from '../problems/user-error.ts';
import type { GitAddress } from './git-address.ts';
import { type GitSetting, gitEnvironment, ISOLATION_SETTINGS, redirectHint, runGit, shortError } from './run-git.ts';

export interface FetchOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly address: GitAddress;
  readonly signal: AbortSignal;
  /** Path of the index file. Default: the index of the repository. */
  readonly index?: string | undefined;
  readonly input?: string | undefined;
  /** Git settings in addition to the isolation settings and the credentials. */
  readonly settings?: readonly GitSetting[] | undefined;
  /** Maximum size in bytes of each file that git writes. Git fails if a file is larger. Ignored on Windows. */
  readonly maxFileBytes?: number | undefined;
  /** Timeout in milliseconds. */
  readonly timeout: number;
  redact(text: string): string;
}

/** Runs git and returns its trimmed output. @throws UserError with the reason if git fails, times out or is cancelled. */
export async function fetchGit(args: readonly string[], options: FetchOptions): Promise<string> {
  const { env, signal, timeout, redact, address, index, input, maxFileBytes, settings: extra = [] } = options;
  signal.throwIfAborted();
  const failure = (reason: string, hint?: string): UserError =>
    new UserError(`git ${subcommandIn(args)}: ${redact(reason)}`, hint === undefined ? {} : { hint });
  const end = AbortSignal.any([signal, AbortSignal.timeout(timeout)]);
  const settings = [
    ...ISOLATION_SETTINGS,
    ['advice.detachedHead', 'false'] as const,
    ...credentialsFor(address),
    ...extra,
  ];
  try {
    const { code, out, errorOutput } = await runGit(args, {
      env: { ...gitEnvironment(env, settings), ...(index !== undefined && { GIT_INDEX_FILE: index }) },
      signal: end,
      maxFileBytes,
      ...(input !== undefined && { input: [Buffer.from(input)] }),
    });
    if (code === 0) return out.toString().trim();
    throw failure(shortError(errorOutput) || `git exited with ${code}`, redirectHint(errorOutput));
  } catch (error) {
    if (end.aborted) throw failure(signal.aborted ? 'cancelled' : `timed out after ${timeout / 1000} s`);
    throw errorCode(error) === 'ENOENT' ? failure('git is not installed') : error;
  }
}

function credentialsFor({ credentials }: GitAddress): GitSetting[] {
  if (credentials === undefined) return [];
  const { server, user, password } = credentials;
  const login = Buffer.from(`${user}:${password}`).toString('base64');
  return [[`http.${server}.extraHeader`, `Authorization: Basic ${login}`]];
}

function subcommandIn(args: readonly string[]): string {
  return args.find((arg) => /^[a-z-]+$/.test(arg) && !arg.startsWith('-')) ?? '';
}
