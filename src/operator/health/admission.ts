import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';
import { ExitCode, UserError } from '../../problems/user-error.ts';
import { isLoopback } from '../../values/loopback.ts';

interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** `127.0.0.1:9464`, `[::1]:9464` or `:9464`, which is every address. Throws `UserError` for anything else. */
export function parseListen(text: string): ListenAddress {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9.-]*)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port > 65_535) {
    throw new UserError(`--listen: ${JSON.stringify(text)} is not HOST:PORT`, {
      hint: 'Use 127.0.0.1:9464, or 0.0.0.0:9464 for all addresses of this machine.',
      exitCode: ExitCode.usage,
    });
  }
  return { host: match[1] ?? (match[2] || '0.0.0.0'), port };
}

export interface Listening {
  readonly listen: ListenAddress;
  /** Names, in lower case, that the listener is reached by beside its own. */
  readonly names: readonly string[];
}

export interface Admission extends Listening {
  readonly token: string | undefined;
}

export const WRONG_TOKEN = 'the bearer token is missing or wrong';

/**
 * Why a request is turned away; undefined where it is let in. A page in a browser must not reach a listener on this machine, neither
 * under a name of its own that leads here nor by a form it sends. A page cannot make an address of numbers lead here.
 */
export function refusal(
  headers: IncomingHttpHeaders,
  { listen, names, token }: Admission,
  { writes }: { readonly writes: boolean },
): string | undefined {
  const isLocal = isLoopback(listen.host);
  if (!isKnownHost(headers.host, { listen, names })) return 'unknown host name: allow it with --listen-host';
  const isFromPage = headers.origin !== undefined || headers.referer !== undefined;
  if (writes && (isFromPage || (headers['sec-fetch-site'] ?? 'none') !== 'none')) {
    return 'a browser page cannot start a run';
  }
  if (token === undefined) {
    return isLocal || !writes
      ? undefined
      : 'authentication required on this address: set VOXFORM_WATCH_TOKEN and send it as a bearer token';
  }
  return isSame(headers.authorization ?? '', `Bearer ${token}`) ? undefined : WRONG_TOKEN;
}

/** False for a name that somebody else made lead here. */
export function isKnownHost(header: string | undefined, { listen, names }: Listening): boolean {
  const host = hostOf(header);
  const isNamed = isLoopback(host) || host === listen.host.toLowerCase() || names.includes(host);
  return isNamed || (!isLoopback(listen.host) && isIP(host) !== 0);
}

/** The name in a Host header, without port and brackets. */
function hostOf(header: string | undefined): string {
  return (header ?? '')
    .replace(/:\d*$/, '')
    .replace(/^\[|\]$/g, '')
    .toLowerCase();
}

/** Takes the same time whatever is wrong. */
export function isSame(a: string, b: string): boolean {
  const [left, right] = [a, b].map((text) => createHash('sha256').update(text).digest());
  return left !== undefined && right !== undefined && timingSafeEqual(left, right);
}
