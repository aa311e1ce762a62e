import { expect, it } from 'vitest';
import { kindCounts } from '../../src/output/plural.ts';

it('counts resources by kind, for any order and number', () => {
  const kinds = ['PhoneNumber', ...Array.from({ length: 10 }, () => 'Webhook'), 'Agent', 'Agent'];
  expect(kindCounts(kinds.map((kind) => ({ kind })))).toBe('2 Agent, 1 PhoneNumber, 10 Webhook');
  expect(kindCounts([])).toBe('');
});
