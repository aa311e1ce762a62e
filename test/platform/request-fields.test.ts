import { expect, it } from 'vitest';
import { knownField } from '../../src/platform/records/request-fields.ts';

it.each([
  { path: 'name', known: 'name' },
  { path: 'prompt_config.prompt', known: 'prompt_config.prompt' },
  { path: 'agent_ids.3', known: 'agent_ids.3' },
  { path: 'body.llm_config.temperature', known: 'llm_config.temperature', reason: 'a wrapper is omitted' },
  { path: 'Support', known: undefined, reason: 'a value in place of a field' },
  { path: 'llm_config.Support', known: undefined, reason: 'a value below a field' },
  { path: '15550100', known: undefined, reason: 'a number alone is not an index' },
  { path: '', known: undefined },
])('knows the part of $path that requests contain ($reason)', ({ path, known }) => {
  expect(knownField(path)).toBe(known);
});
