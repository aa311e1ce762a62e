import { BlockList, isIP } from 'node:net';
import type { ProcessEnvironment } from '../files/run-process.ts';
import { attempt } from '../problems/attempt.ts';
import { UserError } from '../problems/user-error.ts';
import { isLoopback } from '../values/loopback.ts';
import { Secret } from '../values/value.ts';

export interface ProxySettings {
  /** The URL without credentials, such as `http://proxy.example.com:3128`. */
  readonly origin: string;
  /** Host and port, for messages. */
  readonly shown: string;
  /** The user name and password as `user:password`, if the proxy needs them. */
  readonly credentials: Secret | undefined;
  /** The environment variable that names the proxy. */
  readonly variable: string;
}

/**
 * Returns the proxy for a URL from `HTTPS_PROXY` or `HTTP_PROXY`, except for loopback addresses and hosts in `NO_PROXY`. Lower-case names
 * take precedence, as in curl.
 * @throws UserError, without the value, for an invalid URL.
 */
export function proxyFor(target: URL, env: ProcessEnvironment): ProxySettings | undefined {
  const [variable, text] = setting(env, target.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY');
  if (text === '' || isLoopback(target.host) || isExempt(target, setting(env, 'NO_PROXY')[1])) return undefined;
  const address = text.includes('://') ? text : `http://${text}`;
  const url = URL.parse(address);
  if (url === null || !/^https?:$/.test(url.protocol) || url.hostname === '') {
    throw new UserError(`${variable} is not the address of an HTTP proxy`, {
      hint: 'Use http://proxy.example.com:3128 or http://user:password@proxy.example.com:3128.',
    });
  }
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  const credentials = [url.username, url.password]
    .map((text) => attempt(() => decodeURIComponent(text)) ?? text)
    .join(':');
  return {
    origin: url.origin,
    shown: `${url.hostname}:${port}`,
    credentials: credentials === ':' ? undefined : new Secret(variable, credentials),
    variable,
  };
}

function setting(env: ProcessEnvironment, name: string): readonly [variable: string, text: string] {
  const found = [name.toLowerCase(), name, ...Object.keys(env)].find(
    (each) => each.toUpperCase() === name && env[each] !== undefined,
  );
  return [found ?? name, (found === undefined ? '' : (env[found] ?? '')).trim()];
}

/** Entries are hosts with their subdomains, `*.HOST` for subdomains alone, `*`, IP addresses or ranges, with or without a port. */
function isExempt(target: URL, list: string): boolean {
  const host = target.hostname
    .replace(/^\[(.+)\]$/, '$1')
    .replace(/\.$/, '')
    .toLowerCase();
  const port = target.port || (target.protocol === 'https:' ? '443' : '80');
  return list.split(/[\s,]+/).some((entry) => {
    const [, bracketed, plain = entry, entryPort] = /^(?:\[(.+)\]|([^:]+))(?::(\d+))?$/.exec(entry) ?? [];
    const name = (bracketed ?? plain).replace(/\.$/, '').toLowerCase();
    if (name === '' || (entryPort !== undefined && entryPort !== port)) return false;
    if (name === '*' || name === host || isInRange(host, name)) return true;
    return (isIP(host) === 0 && host.endsWith(`.${name.replace(/^\*?\./, '')}`)) || name === `.${host}`;
  });
}

function isInRange(host: string, range: string): boolean {
  const [, network = '', bits = ''] = /^([\da-f.:]+)\/(\d{1,3})$/.exec(range) ?? [];
  const family = isIP(network);
  if (family === 0 || isIP(host) !== family || Number(bits) > (family === 4 ? 32 : 128)) return false;
  const list = new BlockList();
  list.addSubnet(network, Number(bits), family === 4 ? 'ipv4' : 'ipv6');
  return list.check(host, family === 4 ? 'ipv4' : 'ipv6');
}

/** Returns the parts of a proxy's settings that must not appear in any output. */
export function secretsOf(proxy: ProxySettings | undefined): readonly string[] {
  const credentials = proxy?.credentials?.reveal() ?? '';
  const password = credentials.slice(credentials.indexOf(':') + 1);
  return [credentials, password].filter((text) => text !== '');
}

export function proxyAuthorization({ credentials }: ProxySettings): Record<string, string> {
  if (credentials === undefined) return {};
  return { 'proxy-authorization': `Basic ${Buffer.from(credentials.reveal()).toString('base64')}` };
}

/** Thrown if a proxy does not open a tunnel. No part of the request was sent. The message names the proxy, without credentials. */
export class ProxyFailure extends Error {
  override readonly name = 'ProxyFailure';
  /** A retry is pointless for `PROXY_REFUSED`. */
  readonly code: 'PROXY_REFUSED' | 'PROXY_FAILED';

  constructor(code: ProxyFailure['code'], message: string) {
    super(message);
    this.code = code;
  }
}
