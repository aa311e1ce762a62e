import type { Fault } from '../../src/emulator/faults.ts';

/** A fault between the command and the platform, and the expected outcome. */
export interface WireFault {
  readonly name: string;
  readonly fault: Fault;
  /** The number of consecutive requests with the fault. Default: 1. */
  readonly times?: number;
  /** The outcome of a read or a PUT: it is retried and succeeds, or fails with this message. */
  readonly read: 'retried' | RegExp;
  /** The outcome of a create: retried, certainly not done, or unknown. */
  readonly create: 'retried' | 'not done' | 'unknown';
  readonly short?: boolean;
}

const html = (status: number, title: string): Fault => ({
  status,
  headers: { 'content-type': 'text/html' },
  body: `<html><head><title>${title}</title></head><body><h1>${title}</h1><hr>gateway</body></html>`,
});

const retryDate = (): string => new Date(Date.now() + 1_500).toUTCString();

export function wireFaults(elsewhere: string): readonly WireFault[] {
  return [
    { name: '429', fault: { status: 429 }, read: 'retried', create: 'retried' },
    {
      name: '429 with Retry-After in seconds',
      fault: { status: 429, headers: { 'retry-after': '1' }, body: { message: 'slow down' } },
      read: 'retried',
      create: 'retried',
    },
    {
      name: '429 with Retry-After as a date',
      fault: { status: 429, headers: { 'retry-after': retryDate() } },
      read: 'retried',
      create: 'retried',
    },
    {
      name: '429 with a Retry-After of an hour',
      fault: { status: 429, headers: { 'retry-after': '3600' } },
      read: /asks for another pause of 3600 s/,
      create: 'not done',
    },
    ...[500, 502, 503, 504].map(
      (status): WireFault => ({
        name: `${status} with HTML`,
        fault: html(status, 'Something went wrong'),
        read: 'retried',
        create: 'unknown',
      }),
    ),
    {
      name: '504 after the commit',
      fault: { status: 504, body: '<html>late</html>', commit: true },
      read: 'retried',
      create: 'unknown',
    },
    {
      name: 'persistent 500',
      fault: html(500, 'Internal error'),
      times: 40,
      read: /500 .*after 5 tries/,
      create: 'unknown',
    },
    { name: 'cut before the commit', fault: { cut: 'before' }, read: 'retried', create: 'unknown' },
    {
      name: 'cut after the commit',
      fault: { cut: 'after' },
      short: true,
      read: 'retried',
      create: 'unknown',
    },
    { name: 'slow drip', fault: { drip: 2 }, read: 'retried', create: 'retried' },
    { name: 'drip slower than the timeout', fault: { drip: 400 }, read: 'retried', create: 'unknown' },
    { name: 'truncated JSON', fault: { truncate: 40 }, read: 'retried', create: 'unknown' },
    {
      name: 'incomplete JSON',
      fault: { status: 200, body: '{"data":{"id":"01J', headers: { 'content-type': 'application/json' } },
      read: /invalid or truncated JSON/,
      create: 'unknown',
    },
    {
      name: 'wrong content type',
      fault: { ...html(200, 'Welcome to the portal'), commit: true },
      read: /an HTML page, not JSON/,
      create: 'unknown',
    },
    {
      name: 'empty 200',
      fault: { emptyBody: true },
      read: /the response is empty/,
      create: 'unknown',
    },
    ...[302, 307].map(
      (status): WireFault => ({
        name: `redirect ${status}`,
        fault: { status, headers: { location: `${elsewhere}/api/v1/agents` } },
        read: /not followed/,
        create: status === 307 ? 'not done' : 'unknown',
      }),
    ),
    { name: '422', fault: { status: 422, body: { message: 'no' } }, read: /422 no/, create: 'not done' },
    {
      name: '409, as after an earlier create',
      fault: { status: 409, body: { message: 'exists' } },
      read: /409 exists/,
      create: 'unknown',
    },
    { name: '403', fault: { status: 403 }, read: /403/, create: 'not done' },
  ];
}
