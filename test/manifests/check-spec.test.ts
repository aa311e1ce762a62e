import { describe, expect, it } from 'vitest';
import { kinds } from '../../src/kinds/index.ts';
import { checkSpec } from '../../src/manifests/check-spec.ts';
import { Secret, type Value } from '../../src/values/value.ts';

function messages(kindName: string, spec: Value): readonly string[] {
  const kind = kinds.get(kindName);
  if (kind === undefined) throw new Error(`no kind ${kindName}`);
  return checkSpec(kind, spec, true).problems.map(({ message }) => message);
}

const secret = new Secret('KEY', undefined);
const url = 'https://example.com';

describe('unknown field', () => {
  it('is reported even if its value is a secret', () => {
    expect(messages('Agent', { name: 'day', llm_config: { api_kye: secret } })).toEqual([
      'unknown field "api_kye"; did you mean "api_key"?',
    ]);
  });

  it('offers no fix that would repeat a field', () => {
    const webhook = kinds.get('Webhook');
    if (webhook === undefined) throw new Error('no webhooks');
    const spec = { url: 'https://a.example.com', retries: 1, retires: 2 };
    expect(checkSpec(webhook, spec, true).problems).toEqual([
      expect.objectContaining({ message: 'unknown field "retires"; did you mean "retries"?', fix: undefined }),
    ]);
  });
});

describe('a form that produces a string', () => {
  it.each([
    ['Agent', { llm_config: { tools: secret } }, 'tools must be a list'],
    ['Webhook', { url, payload: secret }, 'payload must be an object'],
    ['Webhook', { url, payload: { data: secret } }, 'data must be an object'],
  ])('is refused in place of a list or an object of %s', (kind, spec, problem) => {
    expect(messages(kind, spec)).toEqual([`${problem}, but $secret produces a string`]);
  });

  it.each([
    ['Agent', { llm_config: { tools: [secret, { to: secret }] } }],
    ['Webhook', { url, payload: { data: { key: secret }, event: secret, more: secret } }],
  ])('is accepted within tools and a payload of %s', (kind, spec) => {
    expect(messages(kind, spec)).toEqual([]);
  });
});
