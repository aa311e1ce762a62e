import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import { z } from 'zod';
import { attempt } from '../../../problems/attempt.ts';
import { errorMessage } from '../../../problems/error-code.ts';
import { UserError } from '../../../problems/user-error.ts';
import { Secret } from '../../../values/value.ts';
import { revealed } from '../settings.ts';

/** The parsed `state.url`. */
export interface DatabaseAddress {
  /** Location for messages, without user, password and options. */
  readonly location: string;
  /** The address without its TLS options. */
  readonly connectionString: string;
  /** The user; undefined if the address has none. */
  readonly user: string | undefined;
  readonly tls: Tls;
}

interface Tls {
  readonly mode: (typeof MODES)[number];
  /** The PEM file of the certificate authorities; `system` means the authorities that Node trusts. */
  readonly root: string | undefined;
  readonly certificate: string | undefined;
  readonly key: string | undefined;
}

const MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'] as const;
const TLS_OPTIONS = ['ssl', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'uselibpqcompat'];
const EXAMPLE = 'postgres://USER:PASSWORD@HOST:5432/DATABASE';

/**
 * Parses an address.
 * @param setting the name of the setting, for messages.
 * @throws UserError if the address is not set, is not a PostgreSQL address or has an unknown sslmode. The message omits the address.
 */
export function addressOf(url: Secret | string, setting = 'state.url'): DatabaseAddress {
  const text = revealed('url', url);
  const parsed = parse(text);
  if (parsed === undefined) {
    const name = url instanceof Secret ? ` (${url.name})` : '';
    throw new UserError(`${setting}${name} is not the address of a PostgreSQL database`, {
      hint: `Write it as ${EXAMPLE}. Percent-encode special characters in the password, such as %40 for @.`,
    });
  }
  const options = parsed.searchParams;
  const host = options.get('host') ?? parsed.hostname;
  const user = options.get('user') ?? decodeURIComponent(parsed.username);
  const database = decodeURIComponent(parsed.pathname.slice(1)) || user;
  const port = options.get('port') ?? (parsed.port || '5432');
  const tls = tlsOf(options, host, setting);
  for (const option of TLS_OPTIONS) options.delete(option);
  if (host === '') parsed.hostname = 'localhost';
  return {
    location: `postgres://${decodeURIComponent(host) || 'localhost'}:${port}/${database}`,
    connectionString: parsed.href,
    user: user || undefined,
    tls,
  };
}

/** Returns the schema of an address that is a setting of a file. */
export function addressIn(file: 'project file' | 'fleet file') {
  return z
    .string()
    .refine((text) => parse(text) !== undefined, {
      error: 'expected an address such as postgres://user@db.example.com:5432/voxform',
    })
    .refine((text) => !hasPassword(text), {
      error: `the password must not be in the ${file}; use { $secret: NAME } or { $env: NAME }`,
    });
}

function hasPassword(text: string): boolean {
  const parsed = parse(text);
  return parsed !== undefined && (parsed.password !== '' || parsed.searchParams.has('password'));
}

/** Parses an address. Returns undefined if the text is not an address, or if special characters in the password make it ambiguous. */
function parse(text: string): URL | undefined {
  const parsed = URL.parse(text);
  if (parsed === null || !/^postgres(ql)?:$/.test(parsed.protocol)) return undefined;
  const isSplit = parsed.hash !== '' || /@/.test(parsed.pathname + parsed.search);
  return isSplit || !text.includes('://') || !isDecodable(parsed) ? undefined : parsed;
}

function isDecodable({ username, password, hostname, pathname }: URL): boolean {
  const text = [username, password, hostname, pathname].join(' ');
  return attempt(() => decodeURIComponent(text)) !== undefined;
}

/** Returns the TLS options with the defaults of libpq: TLS if the server supports it, without verifying its certificate. */
function tlsOf(options: URLSearchParams, host: string, setting: string): Tls {
  const root = options.get('sslrootcert') ?? undefined;
  const isSocket = host.startsWith('/') || host.toLowerCase().startsWith('%2f');
  const defaultMode = isSocket
    ? 'disable'
    : root === 'system' || options.get('ssl') === 'true'
      ? 'verify-full'
      : 'prefer';
  const sslMode = options.get('sslmode') ?? defaultMode;
  const mode = MODES.find((each) => each === sslMode);
  if (mode === undefined) {
    throw new UserError(`${setting}: unknown sslmode ${JSON.stringify(sslMode)}`, {
      hint: `Expected one of ${MODES.join(', ')}.`,
    });
  }
  const [certificate, key] = [options.get('sslcert') ?? undefined, options.get('sslkey') ?? undefined];
  return { mode, root, certificate, key };
}

/** Returns the options for a connection; false for a connection without TLS. @throws UserError if a file cannot be read. */
export function tlsOptions({ mode, root, certificate, key }: Tls): ConnectionOptions | false {
  if (mode === 'disable') return false;
  const ca = root === undefined || root === 'system' ? undefined : readFileOf('sslrootcert', root);
  if (mode === 'verify-ca' && ca === undefined) {
    throw new UserError('state.url: sslmode=verify-ca needs sslrootcert', {
      hint: 'Add sslrootcert=FILE, or use sslmode=verify-full.',
    });
  }
  const verifiesChain = mode.startsWith('verify') || (mode === 'require' && ca !== undefined);
  return {
    rejectUnauthorized: verifiesChain,
    ...(verifiesChain && mode !== 'verify-full' && { checkServerIdentity: () => undefined }),
    ...(ca !== undefined && { ca }),
    ...(certificate !== undefined && { cert: readFileOf('sslcert', certificate) }),
    ...(key !== undefined && { key: readFileOf('sslkey', key) }),
  };
}

function readFileOf(option: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new UserError(`state.url: cannot read ${option}: ${errorMessage(cause)}`, { cause });
  }
}
