import { DAMAGED_ENCODING } from './inflate.ts';
import type { ProxySettings } from './proxy.ts';

const UNTRUSTED = 'has a certificate of an unknown authority; to trust it, set ca_file';
const NO_TLS = 'does not speak TLS on this port; the address may need http instead of https';

const NETWORK_WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'refused the connection',
  ENOTFOUND: 'is not a known host name',
  EAI_AGAIN: 'could not be resolved',
  EHOSTUNREACH: 'cannot be reached',
  ENETUNREACH: 'cannot be reached',
  UND_ERR_CONNECT_TIMEOUT: 'did not accept the connection in time',
  ETIMEDOUT: 'did not accept the connection in time',
  ECONNRESET: 'closed the connection',
  EPIPE: 'closed the connection',
  UND_ERR_SOCKET: 'closed the connection',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'closed the connection in the middle of the response',
  [DAMAGED_ENCODING]: 'sent a compressed response that cannot be decoded',
  UND_ERR_DESTROYED: 'was disconnected',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'has a self-signed certificate; to trust it, set ca_file',
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  CERT_HAS_EXPIRED: 'has an expired certificate',
  CERT_NOT_YET_VALID: 'has a certificate that is not valid yet; check the clock of this machine',
  ERR_TLS_CERT_ALTNAME_INVALID: 'has a certificate for another host name',
  ERR_SSL_WRONG_VERSION_NUMBER: NO_TLS,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: NO_TLS,
};

/** Describes a failure as a phrase that follows the name of the host. Returns undefined for an unknown code. */
export function networkReason(code: string | undefined): string | undefined {
  return code === undefined ? undefined : NETWORK_WORDS[code];
}

interface ConnectRefusal {
  readonly status: number;
  /** Host and port. */
  readonly target: string;
}

/** Returns the name of a status, such as `Not Found`. */
export function nameOfStatus(status: number): string | undefined {
  // Loading node:http loads a dozen modules of Node, so it is loaded only after a failure.
  return process.getBuiltinModule('node:http').STATUS_CODES[status];
}

/** Returns the message for a proxy that refused to connect. */
export function proxyRefusal(
  { shown, credentials, variable }: ProxySettings,
  { status, target }: ConnectRefusal,
): string {
  if (status === 407) {
    return credentials === undefined
      ? `the proxy ${shown} requires a user name and a password (407); set them in ${variable}`
      : `the proxy ${shown} rejected the user name and password in ${variable} (407)`;
  }
  return `the proxy ${shown} did not connect to ${target}: ${status} ${nameOfStatus(status) ?? ''}`.trimEnd();
}
