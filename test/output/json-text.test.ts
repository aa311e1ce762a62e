import { expect, it } from 'vitest';
import { snakeCased } from '../../src/output/json-text.ts';

it('writes names of fields in snake_case, and leaves kinds and values', () => {
  const document = { checkedAt: 'checkedAt', last: [{ dashboard: { PhoneNumber: 'https://a.example.com' } }] };
  const written = { checked_at: 'checkedAt', last: [{ dashboard: { PhoneNumber: 'https://a.example.com' } }] };
  expect(snakeCased(document)).toEqual(written);
});
