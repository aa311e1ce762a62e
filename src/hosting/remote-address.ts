/** The server of a repository, and the path there. */
interface RemoteServer {
  /** Of its pages and its API. */
  readonly protocol: 'https:' | 'http:';
  readonly hostname: string;
  /** With the port, where pages are there. */
  readonly host: string;
  readonly path: string;
}

/** Names under which hosts answer to SSH where its own port is closed. */
const OVER_443 = /^(?:ssh|altssh)\.(github\.com|gitlab\.com)$/;

/** The server that an address of a remote names; undefined for a folder. */
export function remoteServer(address: string): RemoteServer | undefined {
  if (!address.includes('://')) {
    const [, host, path] = /^(?:[^@/\s]+@)?([A-Za-z0-9][A-Za-z0-9.-]*):(?!\/\/)(.+)$/.exec(address) ?? [];
    return host === undefined || path === undefined ? undefined : serverOf('https:', host, host, path);
  }
  if (!URL.canParse(address)) return undefined;
  const { protocol, hostname, host, pathname } = new URL(address);
  if (protocol === 'https:' || protocol === 'http:') return serverOf(protocol, hostname, host, pathname);
  return protocol === 'ssh:' || protocol === 'git:'
    ? serverOf('https:', hostname, hostname, pathname)
    : undefined;
}

function serverOf(
  protocol: RemoteServer['protocol'],
  hostname: string,
  host: string,
  path: string,
): RemoteServer {
  const known = OVER_443.exec(hostname)?.[1];
  const plain = decodeURI(path)
    .replace(/^\/+|\/+$/g, '')
    .replace(/\.git$/, '');
  return { protocol, hostname: known ?? hostname, host: known ?? host, path: plain };
}
