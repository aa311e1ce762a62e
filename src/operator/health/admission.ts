import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isIP, isIPv6, type Socket } from 'node:net';
import { ExitCode, UserError } from '../../problems/user-error.ts';
import { isLoopback } from '../../values/loopback.ts';

interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** Parses `127.0.0.1:9464`, `[::1]:9464` or `:9464`, which means every address. Throws `UserError` for anything else. */
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

export interface ListenOptions {
  readonly listen: ListenAddress;
  /** Additional host names of the listener, in lower case. */
  readonly names: readonly string[];
  readonly proxy: { includes(address: string | undefined): boolean };
  /** The header in which trusted proxies name a person. */
  readonly userHeader: { readonly name: string } | undefined;
}

/** The parts of a request that determine its origin. */
export interface RequestFacts extends Pick<IncomingMessage, 'headers' | 'httpVersion'> {
  readonly socket: Pick<Socket, 'remoteAddress'>;
}

export interface Admission extends ListenOptions {
  readonly token: string | undefined;
}

/** Matches the names of headers that proxies add. */
const FORWARDING = /^(forwarded|via$|cdn-loop$|max-forwards$|x-(forwarded|original|envoy|scheme))|-ip$/;

/** True for a request from this machine that no proxy forwarded. Many proxies add no header but use HTTP/1.0, which browsers never use. */
export function isLocal(
  { headers, httpVersion, socket }: RequestFacts,
  { listen, proxy, userHeader }: ListenOptions,
): boolean {
  const remoteAddress = (socket.remoteAddress ?? '').replace(/^::ffff:/, '');
  const isProxyHeader = (name: string): boolean =>
    FORWARDING.test(name.replaceAll('_', '-')) || name === userHeader?.name.toLowerCase();
  const isForwarded =
    httpVersion !== '1.1' || proxy.includes(socket.remoteAddress) || Object.keys(headers).some(isProxyHeader);
  return !isForwarded && [listen.host, remoteAddress, headers.host ?? ''].every(isLoopback);
}

const HOST = /^([\w.-]+|\[[\da-f:.]+\])(:\d+)?$/i;

/** Returns the reason why a request is malformed; undefined if it has exactly one valid `Host` header and a path. */
export function malformedReason({ headersDistinct, url = '' }: IncomingMessage): string | undefined {
  const [host = '', ...others] = headersDistinct.host ?? [];
  if (others.length > 0) return 'the request has several Host headers';
  if (!HOST.test(host) || !URL.canParse(`http://${host}`)) return 'the Host header is missing or malformed';
  return url.startsWith('/') ? undefined : 'the request target is not a path';
}

export const WRONG_TOKEN = 'the bearer token is missing or wrong';

/**
 * Returns the reason for refusing a request; undefined if it is allowed. A web page of another site must not reach a listener on this
 * machine, neither through a DNS name that resolves to this machine nor with a form. IP addresses are safe, because no site controls them.
 */
export function refusal(
  request: RequestFacts,
  options: Admission,
  { writes }: { readonly writes: boolean },
): string | undefined {
  const { headers } = request;
  const { token } = options;
  if (!isKnownHost(headers.host, options)) return 'unknown host name: allow it with --listen-host';
  const isFromPage = headers.origin !== undefined || headers.referer !== undefined;
  if (writes && (isFromPage || (headers['sec-fetch-site'] ?? 'none') !== 'none')) {
    return 'a browser page cannot start a run';
  }
  if (token === undefined) {
    return !writes || isLocal(request, options)
      ? undefined
      : 'authentication required through a proxy or on this address: set VOXFORM_WATCH_TOKEN and send it as a bearer token';
  }
  return isSame(headers.authorization ?? '', `Bearer ${token}`) ? undefined : WRONG_TOKEN;
}

/** False for an unknown DNS name. Another site may have configured the name to resolve to this machine. */
export function isKnownHost(
  header: string | undefined,
  { listen, names }: Pick<ListenOptions, 'listen' | 'names'>,
): boolean {
  const host = hostOf(header);
  const isNamed = isLoopback(host) || host === listen.host.toLowerCase() || names.includes(host);
  return isNamed || (!isLoopback(listen.host) && isIP(host) !== 0);
}

/** Returns the name in a Host header, without port and brackets. */
function hostOf(header: string | undefined): string {
  return (header ?? '')
    .replace(/:\d*$/, '')
    .replace(/^\[|\]$/g, '')
    .toLowerCase();
}

/** Compares two strings in constant time. */
export function isSame(a: string, b: string): boolean {
  const [left, right] = [a, b].map((text) => createHash('sha256').update(text).digest());
  return left !== undefined && right !== undefined && timingSafeEqual(left, right);
}

/** The limits of wrong tokens per address, and of all addresses together. */
const MAX_PER_ADDRESS = 10;
const MAX_OF_ALL = 300;
const WINDOW_MS = 10 * 60_000;
const MAX_ADDRESSES = 10_000;
const ALL = '';

/** Limits wrong tokens, or other failed attempts, per address and in total. */
export class WrongTokens {
  readonly #now: () => number;
  readonly #counts = new Map<string, { count: number; readonly until: number }>();

  /** @param now returns the time of a monotonic clock in milliseconds. */
  constructor({ now }: { now(): number }) {
    this.#now = now;
  }

  /** Returns the seconds until this address may try another token; 0 if it may try now. */
  wait(address: string | undefined): number {
    const until = Math.max(this.#fullUntil(networkOf(address), MAX_PER_ADDRESS), this.#fullUntil(ALL, MAX_OF_ALL));
    return Math.ceil(Math.max(0, until - this.#now()) / 1000);
  }

  /** Counts an attempt. Call `add` before a slow check, and `remove` after the check if the token is correct. */
  add(address: string | undefined): void {
    for (const key of [networkOf(address), ALL]) {
      const entry = this.#current(key);
      if (entry !== undefined) entry.count += 1;
      else this.#counts.set(key, { count: 1, until: this.#now() + WINDOW_MS });
    }
    const [oldest] = this.#counts.keys();
    if (this.#counts.size > MAX_ADDRESSES && oldest !== undefined) this.#counts.delete(oldest);
  }

  remove(address: string | undefined): void {
    for (const key of [networkOf(address), ALL]) {
      const entry = this.#current(key);
      if (entry !== undefined) entry.count -= 1;
    }
  }

  #fullUntil(key: string, max: number): number {
    const entry = this.#current(key);
    return entry !== undefined && entry.count >= max ? entry.until : 0;
  }

  #current(key: string): { count: number; readonly until: number } | undefined {
    const entry = this.#counts.get(key);
    if (entry === undefined || entry.until > this.#now()) return entry;
    this.#counts.delete(key);
    return undefined;
  }
}

/** Returns the /64 network of an IPv6 address, because one client controls the whole network. Returns other addresses unchanged. */
export function networkOf(address = 'unknown'): string {
  if (!isIPv6(address) || address.startsWith('::ffff:')) return address;
  const [before = [], after = []] = address.split('::').map((part) => part.split(':').filter((group) => group !== ''));
  const zeros = Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => '0');
  return [...before, ...zeros, ...after].slice(0, 4).join(':');
}
