import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readErrorBody } from '../../src/platform/error-body.ts';

const plain = (text: string) => text;
const read = (body: unknown) =>
  readErrorBody(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)), plain);

describe('error body', () => {
  it.each<{ reason: string; body: unknown; expected: object }>([
    { reason: 'nothing', body: '', expected: {} },
    { reason: 'an empty object', body: {}, expected: {} },
    { reason: 'null', body: 'null', expected: {} },
    { reason: 'a message', body: { message: 'Not found.' }, expected: { detail: 'Not found.' } },
    { reason: 'an error text', body: { error: 'no such agent' }, expected: { detail: 'no such agent' } },
    {
      reason: 'an error code beside a message',
      body: { error: 'not_found', message: 'no such agent' },
      expected: { code: 'not_found', detail: 'no such agent' },
    },
    {
      reason: 'an error object',
      body: { error: { code: 'E42', message: 'no such agent' } },
      expected: { code: 'E42', detail: 'no such agent' },
    },
    {
      reason: 'fields with lists of strings below a heading',
      body: { message: 'The given data was invalid.', errors: { name: ['is too long', 'is odd'], url: ['is bad'] } },
      expected: { field: 'name', detail: 'name: is too long; name: is odd; url: is bad' },
    },
    {
      reason: 'fields with strings',
      body: { errors: { 'llm_config.model': 'is unknown' } },
      expected: { field: 'llm_config.model', detail: 'llm_config.model: is unknown' },
    },
    {
      reason: 'fields without an envelope',
      body: { role: ['is required'] },
      expected: { field: 'role', detail: 'role: is required' },
    },
    {
      reason: 'a list of locations',
      body: { detail: [{ loc: ['body', 'llm_config', 'model'], msg: 'field required', type: 'missing' }] },
      expected: { code: 'missing', field: 'llm_config.model', detail: 'llm_config.model: field required' },
    },
    {
      reason: 'problem details',
      body: { type: 'https://errors.example/limit', title: 'Too long', status: 422, detail: 'name is over 255' },
      expected: { detail: 'name is over 255' },
    },
    {
      reason: 'problem details with parameters',
      body: { title: 'Invalid', 'invalid-params': [{ name: 'retries', reason: 'must be at most 10' }] },
      expected: { field: 'retries', detail: 'retries: must be at most 10' },
    },
    {
      reason: 'errors with pointers',
      body: { errors: [{ source: { pointer: '/data/attributes/name' }, detail: 'is taken', code: 'taken' }] },
      expected: { code: 'taken', field: 'name', detail: 'name: is taken' },
    },
    { reason: 'a list of strings', body: ['one', 'two'], expected: { detail: 'one; two' } },
    {
      reason: 'a list of messages',
      body: [{ message: 'one', field: 'a' }, { message: 'two' }],
      expected: { field: 'a', detail: 'a: one; two' },
    },
    { reason: 'a list as the message', body: { message: ['one', 'two'] }, expected: { detail: 'one; two' } },
    { reason: 'a JSON string', body: '"no"', expected: { detail: 'no' } },
    { reason: 'an unknown shape', body: { a: { b: 1 } }, expected: { detail: '{"a":{"b":1}}' } },
    { reason: 'text', body: 'upstream\r\n  timed out\n', expected: { detail: 'upstream timed out' } },
    { reason: 'truncated JSON', body: '{"message":"no', expected: { detail: '{"message":"no' } },
    {
      reason: 'an HTML page with a title',
      body: '<!DOCTYPE html><html><head><title>502 Bad&nbsp;Gateway</title></head><body>x</body></html>',
      expected: { detail: '502 Bad Gateway' },
    },
    {
      reason: 'an HTML page without a title',
      body: '<html><style>b{}</style><script>evil()</script><p>Sorry &amp; bye</p>',
      expected: { detail: 'Sorry & bye' },
    },
    {
      reason: 'escape sequences and direction marks',
      body: { message: '\u001b[2J\u001b]0;pwned\u0007red \u202eevil\u0000\u009b31m' },
      expected: { detail: expect.not.stringMatching(/[\p{Cc}\p{Cf}]/u) },
    },
  ])('is summarized for $reason', ({ body, expected }) => {
    expect(read(body)).toEqual(expected);
  });

  it('is shortened to one line for any contents', { tags: ['long'] }, () => {
    const bodies = fc.oneof(
      fc.uint8Array({ maxLength: 400 }).map((bytes) => Buffer.from(bytes)),
      fc.jsonValue({ maxDepth: 6 }).map((value) => Buffer.from(JSON.stringify(value))),
      fc.string({ unit: 'binary', maxLength: 900 }).map((text) => Buffer.from(JSON.stringify({ message: text }))),
      fc.string({ maxLength: 300 }).map((text) => Buffer.from(`<html>${text}`)),
    );
    fc.assert(
      fc.property(bodies, (body) => {
        for (const part of Object.values(readErrorBody(body, plain))) {
          expect(part.length).toBeGreaterThan(0);
          expect(part.length).toBeLessThanOrEqual(300);
          expect(part).not.toMatch(/[\p{Cc}\u2028\u2029]/u);
          expect(part.isWellFormed()).toBe(true);
        }
      }),
    );
  });

  it.each([
    { reason: 'nested deeply', body: '['.repeat(30_000) + ']'.repeat(30_000) },
    { reason: 'tags that never close', body: '<title '.repeat(9000) },
    { reason: 'titles that never close', body: '<title>'.repeat(9000) },
    { reason: 'invalid entities', body: `<p>${'&#x110000;&#0;&unknown;'.repeat(2000)}` },
  ])('is harmless if it is $reason', ({ body }) => {
    expect(() => read(body)).not.toThrow();
  });

  it('is redacted before it is shortened', () => {
    const redact = (text: string) => text.replaceAll('s3cret-token', '(secret)');
    const text = `${'x'.repeat(290)} s3cret-token`;
    expect(readErrorBody(Buffer.from(JSON.stringify({ message: text })), redact).detail).not.toContain('s3c');
    const lines = (text: string) => text.replaceAll('key\nof lines', '(secret)');
    expect(readErrorBody(Buffer.from('bad key\nof lines'), lines).detail).toBe('bad (secret)');
    // An invisible character inside the secret.
    expect(readErrorBody(Buffer.from('s3cret\u200b-token'), redact).detail).toBe('(secret)');
  });
});

it('reveals no secret in an HTML page that looks like markup', () => {
  const redact = (text: string) => text.replaceAll('key <b> 1', '(secret)');
  const page = Buffer.from('<html><title>you sent key <b> 1</title></html>');
  expect(readErrorBody(page, redact).detail).toBe('you sent (secret)');
});
