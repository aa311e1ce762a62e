import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Redactor } from '../../src/values/redactor.ts';

function redactor(...secrets: readonly string[]): Redactor {
  const knows = new Redactor();
  for (const secret of secrets) knows.add(secret);
  return knows;
}

function numbered(text: string, count: number): string {
  return Array.from({ length: count }, (_, index) => `${text}${index}`).join('');
}

const SECRET = 'sk/live+9"é\\Z&=?x7';

describe('redaction of a secret', () => {
  it.each([
    { reason: 'unchanged', text: SECRET },
    { reason: 'in JSON', text: JSON.stringify({ a: SECRET }).slice(6, -2) },
    { reason: 'in JSON inside JSON', text: JSON.stringify(JSON.stringify({ a: 'kö"y-12345' })), secret: 'kö"y-12345' },
    { reason: 'in JSON as PHP writes it', text: 'sk\\/live+9\\"\\u00e9\\\\Z&=?x7' },
    { reason: 'in a path', text: encodeURIComponent(SECRET) },
    {
      reason: 'in a path, in lower case',
      text: encodeURIComponent(SECRET).toLowerCase(),
      secret: SECRET.toLowerCase(),
    },
    { reason: 'in a query', text: new URLSearchParams({ a: SECRET }).toString().slice(2) },
    { reason: 'in base64', text: Buffer.from(SECRET).toString('base64').replace(/=+$/, '') },
    { reason: 'in base64 for URLs', text: Buffer.from(SECRET).toString('base64url') },
    { reason: 'in JSON in a query', text: encodeURIComponent(JSON.stringify(SECRET).slice(1, -1)) },
    { reason: 'in JSON in base64', text: Buffer.from(JSON.stringify({ a: SECRET })).toString('base64') },
    { reason: 'in HTML', text: 'sk/live+9&quot;é\\Z&amp;=?x7' },
    { reason: 'in JSON in a cell of CSV', text: JSON.stringify(SECRET).slice(1, -1).replaceAll('"', '""') },
    { reason: "in YAML's single quotes", text: "it''s-a-secret", secret: "it's-a-secret" },
    { reason: 'without its final line break', text: 'abcdef', secret: 'abcdef\n' },
  ])('covers it $reason', ({ text, secret = SECRET }) => {
    const result = redactor(secret).redact(`before ${text} after`);
    expect(result).toMatch(/^before .*\(secret\).* after$/);
    expect(result).not.toContain(secret);
    expect(result).not.toContain(text);
  });

  it('covers base64 at any position in a longer text', () => {
    for (const user of ['', 'a', 'ab', 'abc', 'abcd']) {
      const header = Buffer.from(`${user}:${SECRET}:x`).toString('base64');
      const result = redactor(SECRET).redact(header);
      expect(result).toContain('(secret)');
      expect(Buffer.from(result.replace('(secret)', ''), 'base64').toString('latin1')).not.toContain('live');
    }
  });

  it('covers each long line of the secret', () => {
    const pem = '-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\r\nab12\n-----END KEY-----\n';
    expect(redactor(pem).redact('line MIIEvQIBADANBgkqhkiG9w0BAQEFAASC, ab12')).toBe('line (secret), ab12');
  });

  it.each([
    { reason: 'of one character', secret: 'a'.repeat(100_000) },
    { reason: 'of one line', secret: 'MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n'.repeat(4_000) },
  ])('ends soon for a long secret that repeats itself, $reason', ({ secret }) => {
    expect(redactor(secret).redact(`<${secret}${secret}> ${secret}`)).toBe('<(secret)> (secret)');
  });

  it('covers the whole secret if it begins with another or overlaps it', () => {
    expect(redactor('abcd', 'abcdefgh').redact('<abcdefgh>')).toBe('<(secret)>');
    expect(redactor('abcdefgh', 'abcd').redact('<abcdefgh> <abcd>')).toBe('<(secret)> <(secret)>');
    expect(redactor('abcdef', 'defghi', 'hijk').redact('<abcdefghijk>')).toBe('<(secret)>');
  });

  it('covers any position, with any other secrets', () => {
    const secrets = fc.array(fc.string({ unit: 'grapheme', minLength: 4, maxLength: 20 }), {
      minLength: 1,
      maxLength: 4,
    });
    const around = fc.stringMatching(/^[ -~\n]{0,10}$/);
    fc.assert(
      fc.property(secrets, around, around, (known, before, after) => {
        const knows = redactor(...known);
        const mark = redactor(...known).redact('(secret)') === '(secret)';
        // A secret that is part of the redaction mark cannot be distinguished from it.
        fc.pre(mark);
        for (const secret of known) {
          const result = knows.redact(`${before}${secret}${after}`);
          expect(result.replaceAll('(secret)', '\u0000')).not.toContain(secret);
          expect(result).toContain('(secret)');
        }
      }),
    );
  });
});

describe('text without secrets', () => {
  it.each([
    { reason: 'no secret is known', secrets: [], text: 'any text' },
    { reason: 'the secret is too short', secrets: ['', 'a', 'abc'], text: 'a abc abcabc' },
    { reason: 'it resembles a pattern', secrets: ['a.c*', '^....$', '[a-z]+'], text: 'abcc 1234 word' },
  ])('is unchanged if $reason', ({ secrets, text }) => {
    expect(redactor(...secrets).redact(text)).toBe(text);
  });

  it.each([
    { reason: 'text', secret: numbered('key ', 10_000) },
    { reason: 'bytes that each encoding spells longer', secret: numbered('\u0000\u0001', 1000) },
    { reason: 'other scripts', secret: numbered('ä€😀', 1000) },
  ])('is redacted if a secret is very long: $reason', ({ secret }) => {
    const knows = redactor(secret, `${secret.slice(0, 100)}-other`);
    const text = `a ${secret} b ${JSON.stringify(secret)} c`;
    expect(knows.redact(text)).toBe('a (secret) b "(secret)" c');
    expect(knows.redact(`a ${secret.slice(0, 100)} b`)).toBe(`a ${secret.slice(0, 100)} b`);
  });

  it('is redacted if a secret is added later', () => {
    const knows = redactor('first-one');
    expect(knows.redact('first-one second-one')).toBe('(secret) second-one');
    knows.add('second-one');
    expect(knows.redact('first-one second-one')).toBe('(secret) (secret)');
  });
});
