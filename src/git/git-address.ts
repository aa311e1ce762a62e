import path from 'node:path';
import { ExitCode, UserError } from '../problems/user-error.ts';

export interface GitAddress {
  /** The URL passed to git, without a password. */
  readonly url: string;
  /** The address in messages, without credentials. */
  readonly shown: string;
  /** The user name and password of an HTTP address, if any. git sends them in a header, and only to that server. */
  readonly credentials: { readonly server: string; readonly user: string; readonly password: string } | undefined;
}

const SCHEMES = ['https:', 'http:', 'ssh:', 'git:', 'file:'];

interface AddressContext {
  /** The absolute path of the folder that relative paths start from. */
  readonly cwd: string;
  /** The option or setting that contains the address, for messages. */
  readonly option: '--git' | 'git' | 'state.remote';
}

/**
 * Parses the URL, `user@host:path` or path of a repository.
 * @throws UserError for an invalid address, such as an address that git would interpret as an option or a helper program.
 */
export function parseGitAddress(text: string, { cwd, option }: AddressContext): GitAddress {
  if (text.trim() === '' || text.startsWith('-') || /\p{Cc}/u.test(text))
    throw addressError(option, 'is not a repository address');
  if (/^[A-Za-z][A-Za-z0-9+.-]*::/.test(text))
    throw addressError(option, 'names a helper program, which is not allowed');
  if (text.includes('://')) {
    if (!URL.canParse(text) || /\s/u.test(text)) throw addressError(option, 'is not a URL');
    return fromUrl(new URL(text), option);
  }
  const isRemote = /^([A-Za-z0-9_.-]+@)?[A-Za-z0-9][A-Za-z0-9.-]*:[^:]/.test(text) && !path.isAbsolute(text);
  if (isRemote) return { url: text, shown: text, credentials: undefined };
  const absolute = path.resolve(cwd, text);
  return { url: absolute, shown: absolute, credentials: undefined };
}

function fromUrl(url: URL, option: AddressContext['option']): GitAddress {
  if (!SCHEMES.includes(url.protocol))
    throw addressError(option, `has the unsupported protocol ${url.protocol}//; use https, http, ssh, git or file`);
  if (url.hostname.startsWith('-') || url.username.startsWith('-'))
    throw addressError(option, 'is not a repository address');
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

/** True if git can interpret the name only as a branch, a tag, a commit or a full ref. */
export function isRefName(ref: string): boolean {
  return /^[\p{L}\p{N}_][\p{L}\p{N}_./@+#-]*$/u.test(ref) && !/\.\.|\/\/|@\{|\/$|\.$|\.lock(\/|$)|\/\.|^@$/.test(ref);
}

function addressError(option: AddressContext['option'], problem: string): UserError {
  return new UserError(`${option}: the value ${problem}`, {
    hint: 'Use a URL such as https://git.example.com/team/voice.git, user@host:path, or a folder.',
    ...(option === '--git' && { exitCode: ExitCode.usage }),
  });
}

/** The web server of a repository, and the repository's path on it. */
interface RemoteServer {
  /** The protocol of the server's web pages and API. */
  readonly protocol: 'https:' | 'http:';
  readonly hostname: string;
  /** The host name, with the port of the web pages if it is not the default port. */
  readonly host: string;
  readonly path: string;
}

/** Host names for SSH over port 443. */
const SSH_OVER_443 = /^(?:ssh|altssh)\.(github\.com|gitlab\.com)$/;

/** Returns the server of a repository address; undefined for a folder. */
export function remoteServer(address: string): RemoteServer | undefined {
  if (!address.includes('://')) {
    const [, host, path] = /^(?:[^@/\s]+@)?([A-Za-z0-9][A-Za-z0-9.-]*):(?!\/\/)(.+)$/.exec(address) ?? [];
    return host === undefined || path === undefined ? undefined : serverOf('https:', host, host, path);
  }
  if (!URL.canParse(address)) return undefined;
  const { protocol, hostname, host, pathname } = new URL(address);
  if (protocol === 'https:' || protocol === 'http:') return serverOf(protocol, hostname, host, pathname);
  return protocol === 'ssh:' || protocol === 'git:' ? serverOf('https:', hostname, hostname, pathname) : undefined;
}

function serverOf(protocol: RemoteServer['protocol'], hostname: string, host: string, path: string): RemoteServer {
  const known = SSH_OVER_443.exec(hostname)?.[1];
  const plain = decodeURI(path)
    .replace(/^\/+|\/+$/g, '')
    .replace(/\.git$/, '');
  return { protocol, hostname: known ?? hostname, host: known ?? host, path: plain };
}
