import { describe, expect, it } from 'vitest';
import { renderError } from '../../src/output/errors.ts';
import { type ExchangeFacts, PlatformError, type PlatformErrorReason } from '../../src/platform/platform-error.ts';
import { UserError } from '../../src/problems/user-error.ts';
import { VERSION } from '../../src/version.ts';
import { evil, plainStyle, unsafe, widest } from './sample-styles.ts';

const style = plainStyle();

function platformError(reason: PlatformErrorReason, facts: Partial<ExchangeFacts> = {}): PlatformError {
  const { status } = facts;
  const all = { method: 'GET', path: '/api/v1/agents/1', outcome: 'not-done' as const, ...facts };
  return new PlatformError(reason, all, `GET /api/v1/agents/1: ${status ?? reason}`);
}

describe('error', () => {
  it('of a user has a hint and no stack', () => {
    const error = new UserError('there is no voxform.yaml in this folder', {
      hint: 'Go to the folder of the project, or make a new one: voxform init. The option -C changes the folder, too.',
    });
    expect(renderError(error, style)).toBe(`error: there is no voxform.yaml in this folder
hint:  Go to the folder of the project, or make a new one: voxform init. The
       option -C changes the folder, too.
`);
  });

  it('of several lines is separated from our text', () => {
    expect(renderError(new UserError('two problems\na.yaml:1  one\n::error::two'), style)).toBe(`error: two problems
       a.yaml:1  one
       | ::error::two
`);
  });

  it.each([
    { error: platformError('status', { status: 401 }), hint: /API key was rejected/ },
    { error: platformError('status', { status: 403 }), hint: /lacks permission/ },
    { error: platformError('gateway', { status: 403 }), hint: /firewall in front of the platform refuses/ },
    { error: platformError('status', { status: 404 }), hint: /base_url and workspace_id/ },
    { error: platformError('status', { status: 410 }), hint: /base_url and workspace_id/ },
    {
      error: platformError('status', { method: 'PUT', status: 422, field: 'name' }),
      hint: /rejected name: change it in the manifest/,
    },
    { error: platformError('status', { status: 429 }), hint: /limits\.concurrency/ },
    { error: platformError('status', { status: 502, outcome: 'lost' }), hint: /may have succeeded/ },
    { error: platformError('network'), hint: /check the workspace's base_url \(https:\/\/x\)/ },
    { error: platformError('network', { undecodable: true }), hint: /could not be decompressed; check/ },
    { error: platformError('timeout'), hint: /limits\.timeout_seconds/ },
    {
      error: platformError('malformed'),
      hint: /response does not match the API documentation; check that .* without \/api\/v1/,
    },
    { error: platformError('redirect'), hint: /does not follow redirects/ },
    { error: platformError('cursor-loop'), hint: /voxform cannot use this response/ },
  ])('of the platform has a hint: $error.message', ({ error, hint }) => {
    const text = renderError(error, style, { baseUrl: 'https://x' });
    const said = text.replace(/\n {7}/g, ' ');
    expect(said).toMatch(/^error: GET \/api\/v1\/agents\/1: /);
    expect(said).toMatch(hint);
    expect(text).not.toMatch(/^\s+at /m);
    expect(widest(text)).toBeLessThanOrEqual(80);
  });

  it('of a read does not mention the manifest', () => {
    const error = platformError('status', { status: 422, field: 'cursor' });
    expect(renderError(error, style)).toBe('error: GET /api/v1/agents/1: 422\n');
  });

  it("of the platform contains the request id, for the platform's operator", () => {
    const error = platformError('status', { status: 418, requestId: 'req-1' });
    expect(renderError(error, style)).toBe('error: GET /api/v1/agents/1: 418\n       request id: req-1\n');
  });

  it('of our own code has its stack, its causes, and a link to report it', () => {
    const error = new TypeError('x is not a function', { cause: new Error('deep down') });
    const text = renderError(error, style, { command: 'voxform plan', issues: 'https://example.com/issues' });
    expect(text).toMatch(/^error: this is a bug in voxform: TypeError: x is not a function\n/);
    expect(text).toMatch(/errors\.test\.ts:\d+/);
    expect(text).toMatch(/caused by: Error: deep down/);
    expect(text).toMatch(/report it at https:\/\/example\.com\/issues/);
    expect(text).toContain(`version: voxform ${VERSION}\n  command: voxform plan\n`);
  });

  it('shows its causes on request, and no stack', () => {
    const cause = new Error('why', { cause: new Error('and why that') });
    const text = renderError(new UserError('no', { cause }), style, { verbose: true });
    expect(text).toBe('error: no\ncause: why\ncause: and why that\n');
  });

  it.each([
    { reason: 'a thrown value that is not an error', thrown: evil },
    { reason: 'a bug', thrown: new Error(evil, { cause: evil }) },
    { reason: 'a user error', thrown: new UserError(evil, { hint: evil }) },
  ])('lets no external text control the terminal: $reason', ({ thrown }) => {
    const text = renderError(thrown, style, { command: evil, verbose: true });
    expect(text).not.toMatch(unsafe);
    expect(text).not.toMatch(/^\s*::error::forged/m);
  });
});

describe('secret in an error', () => {
  const secret = 'correct horse\tbattery staple';
  const redact = (text: string) => text.replaceAll(secret, '(secret)');
  const long = 'word '.repeat(14);

  it.each([
    { reason: 'of a user', error: new UserError(`${long}${secret}`, { hint: `${long}${secret}` }) },
    { reason: 'of our own code', error: new TypeError(`${long}${secret}`, { cause: new Error(secret) }) },
    { reason: 'of a value that is not an error', error: `${long}${secret}` },
  ])('$reason is redacted before its lines are wrapped', ({ error }) => {
    const text = renderError(error, style, { verbose: true, redact });
    expect(text).toContain('(secret)');
    expect(text).not.toMatch(/correct|horse|battery|staple/);
  });
});
