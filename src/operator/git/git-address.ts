import path from 'node:path';
import { ExitCode, UserError } from '../../problems/user-error.ts';

/** A repository to fetch from. */
export interface GitAddress {
  /** The URL passed to git, without a password. */
  readonly url: string;
  /** For messages. */
  readonly shown: string;
  /** Sent by git as a header to that server alone, where the address had a user name and a password. */
  readonly credentials:
    | { readonly server: string; readonly user: string; readonly password: string }
    | undefined;
}

const SCHEMES = ['https:', 'http:', 'ssh:', 'git:', 'file:'];

/**
 * The repository that a URL, `user@host:path` or a path names.
 * @throws UserError for what git would take for an option or for a command to run.
 */
export function parseGitAddress(text: string, cwd: string): GitAddress {
  if (text.trim() === '' || text.startsWith('-') || /\p{Cc}/u.test(text))
    throw refused('is not a repository address');
  if (/^[A-Za-z][A-Za-z0-9+.-]*::/.test(text)) throw refused('names a helper program, which is not allowed');
  if (text.includes('://')) {
    if (!URL.canParse(text) || /\s/u.test(text)) throw refused('is not a URL');
    return fromUrl(new URL(text));
  }
  const isRemote = /^([A-Za-z0-9_.-]+@)?[A-Za-z0-9][A-Za-z0-9.-]*:[^:]/.test(text) && !path.isAbsolute(text);
  if (isRemote) return { url: text, shown: text, credentials: undefined };
  const absolute = path.resolve(cwd, text);
  return { url: absolute, shown: absolute, credentials: undefined };
}

function fromUrl(url: URL): GitAddress {
  if (!SCHEMES.includes(url.protocol))
    throw refused(`has the unsupported protocol ${url.protocol}//; use https, http, ssh, git or file`);
  if (url.hostname.startsWith('-') || url.username.startsWith('-'))
    throw refused('is not a repository address');
  const isWeb = url.protocol === 'https:' || url.protocol === 'http:';
  const user = decodeURIComponent(url.username);
  const password = decodeURIComponent(url.password);
  const bare = new URL(url);
  bare.password = '';
  if (isWeb) bare.username = '';
  const hasLogin = isWeb && (user !== '' || password !== '');
  return {
    url: bare.href,
    shown: bare.href,
    credentials: hasLogin ? { server: `${bare.protocol}//${bare.host}/`, user, password } : undefined,
  };
}

/** Throws `UserError` unless git can take it for nothing but the name of a branch, a tag or a commit. */
export function checkRef(ref: string): void {
  const isName =
    /^[\p{L}\p{N}_][\p{L}\p{N}_./@+#-]*$/u.test(ref) &&
    !/\.\.|\/\/|@\{|\/$|\.$|\.lock(\/|$)|\/\.|^@$/.test(ref);
  if (isName) return;
  throw new UserError(`--ref: ${JSON.stringify(ref)} is not a valid branch or tag name`, {
    exitCode: ExitCode.usage,
  });
}

/** The folder of the project inside a checkout, as a relative path. Throws `UserError` for one that leads out of it. */
export function checkSubfolder(folder: string): string {
  const normal = path.posix.normalize(folder.replaceAll('\\', '/'));
  const leadsOut = path.posix.isAbsolute(normal) || normal === '..' || normal.startsWith('../');
  if (!leadsOut && !normal.split('/').includes('.git')) return normal;
  throw new UserError('--path must be a folder inside the repository', { exitCode: ExitCode.usage });
}

function refused(problem: string): UserError {
  return new UserError(`--git: this ${problem}`, {
    hint: 'Use a URL such as https://git.example.com/team/voice.git, user@host:path, or a folder.',
    exitCode: ExitCode.usage,
  });
}
