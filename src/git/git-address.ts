import path from 'node:path';
import { ExitCode, UserError } from '../problems/user-error.ts';

export interface GitAddress {
  /** The URL passed to git, without a password. */
  readonly url: string;
  /** For messages. */
  readonly shown: string;
  /** Present if the address had a user name and a password; git sends them as a header to that server alone. */
  readonly credentials: { readonly server: string; readonly user: string; readonly password: string } | undefined;
}

const SCHEMES = ['https:', 'http:', 'ssh:', 'git:', 'file:'];

interface AddressPlace {
  /** Absolute path of the folder for relative paths. */
  readonly cwd: string;
  /** The option or setting, for messages. */
  readonly option: '--git' | 'git' | 'state.remote';
}

/**
 * Parses the URL, `user@host:path` or path of a repository.
 * @throws UserError for a text that git would read as an option or a command.
 */
export function parseGitAddress(text: string, { cwd, option }: AddressPlace): GitAddress {
  if (text.trim() === '' || text.startsWith('-') || /\p{Cc}/u.test(text))
    throw refused(option, 'is not a repository address');
  if (/^[A-Za-z][A-Za-z0-9+.-]*::/.test(text)) throw refused(option, 'names a helper program, which is not allowed');
  if (text.includes('://')) {
    if (!URL.canParse(text) || /\s/u.test(text)) throw refused(option, 'is not a URL');
    return fromUrl(new URL(text), option);
  }
  const isRemote = /^([A-Za-z0-9_.-]+@)?[A-Za-z0-9][A-Za-z0-9.-]*:[^:]/.test(text) && !path.isAbsolute(text);
  if (isRemote) return { url: text, shown: text, credentials: undefined };
  const absolute = path.resolve(cwd, text);
  return { url: absolute, shown: absolute, credentials: undefined };
}

function fromUrl(url: URL, option: AddressPlace['option']): GitAddress {
  if (!SCHEMES.includes(url.protocol))
    throw refused(option, `has the unsupported protocol ${url.protocol}//; use https, http, ssh, git or file`);
  if (url.hostname.startsWith('-') || url.username.startsWith('-'))
    throw refused(option, 'is not a repository address');
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

/** True for a text that git can only read as a branch, a tag, a commit or a full ref. */
export function isRefName(ref: string): boolean {
  return /^[\p{L}\p{N}_][\p{L}\p{N}_./@+#-]*$/u.test(ref) && !/\.\.|\/\/|@\{|\/$|\.$|\.lock(\/|$)|\/\.|^@$/.test(ref);
}

function refused(option: AddressPlace['option'], problem: string): UserError {
  return new UserError(`${option}: this ${problem}`, {
    hint: 'Use a URL such as https://git.example.com/team/voice.git, user@host:path, or a folder.',
    ...(option === '--git' && { exitCode: ExitCode.usage }),
  });
}

/** The server of a repository, and the path there. */
interface RemoteServer {
  /** The protocol of its pages and its API. */
  readonly protocol: 'https:' | 'http:';
  readonly hostname: string;
  /** The host, with the port of its pages if they have one. */
  readonly host: string;
  readonly path: string;
}

/** Hosts that offer SSH on another port. */
const OVER_443 = /^(?:ssh|altssh)\.(github\.com|gitlab\.com)$/;

/** The server of a remote's address; undefined for a folder. */
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
  const known = OVER_443.exec(hostname)?.[1];
  const plain = decodeURI(path)
    .replace(/^\/+|\/+$/g, '')
    .replace(/\.git$/, '');
  return { protocol, hostname: known ?? hostname, host: known ?? host, path: plain };
}
