import { errorCode } from '../problems/error-code.ts';
import { UserError } from '../problems/user-error.ts';
import type { GitAddress } from './git-address.ts';
import { type GitSetting, gitEnvironment, ISOLATION_SETTINGS, redirectHint, runGit, shortError } from './run-git.ts';

export interface FetchOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly address: GitAddress;
  readonly signal: AbortSignal;
  /** Path of the index; default: that of the repository. */
  readonly index?: string | undefined;
  readonly input?: string | undefined;
  /** Encoding of the output; default: UTF-8. */
  readonly encoding?: BufferEncoding | undefined;
  /** Settings in addition to those of every fetch. */
  readonly settings?: readonly GitSetting[] | undefined;
  /** The size in bytes at which a written file ends git. Without effect on Windows. */
  readonly maxFileBytes?: number | undefined;
  /** Timeout in milliseconds. */
  readonly timeout: number;
  redact(text: string): string;
}

/** Runs git and returns its output. @throws UserError with its error output. */
export async function fetchGit(args: readonly string[], options: FetchOptions): Promise<string> {
  const { env, signal, timeout, redact, address, index, input, encoding, maxFileBytes, settings: more = [] } = options;
  signal.throwIfAborted();
  const failed = (why: string, hint?: string): UserError =>
    new UserError(`git ${verbOf(args)}: ${redact(why)}`, hint === undefined ? {} : { hint });
  const ending = AbortSignal.any([signal, AbortSignal.timeout(timeout)]);
  const settings = [
    ...ISOLATION_SETTINGS,
    ['advice.detachedHead', 'false'] as const,
    ...credentialsFor(address),
    ...more,
  ];
  try {
    const { code, out, complaint } = await runGit(args, {
      env: { ...gitEnvironment(env, settings), ...(index !== undefined && { GIT_INDEX_FILE: index }) },
      signal: ending,
      maxFileBytes,
      ...(input !== undefined && { input: [Buffer.from(input)] }),
    });
    if (code === 0) return out.toString(encoding).trim();
    throw failed(shortError(complaint) || `git exited with ${code}`, redirectHint(complaint));
  } catch (error) {
    if (ending.aborted) throw failed(signal.aborted ? 'cancelled' : `timed out after ${timeout / 1000} s`);
    throw errorCode(error) === 'ENOENT' ? failed('git is not installed') : error;
  }
}

function credentialsFor({ credentials }: GitAddress): GitSetting[] {
  if (credentials === undefined) return [];
  const { server, user, password } = credentials;
  const login = Buffer.from(`${user}:${password}`).toString('base64');
  return [[`http.${server}.extraHeader`, `Authorization: Basic ${login}`]];
}

function verbOf(args: readonly string[]): string {
  return args.find((arg) => /^[a-z-]+$/.test(arg) && !arg.startsWith('-')) ?? '';
}
