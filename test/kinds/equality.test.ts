import { describe, expect, it } from 'vitest';
import { sameValue } from '../../src/engine/compare.ts';
import { kinds } from '../../src/kinds/index.ts';

describe("each kind's own equality", () => {
  it.each([
    ['PhoneNumber', 'number', '+49 (30) 123-45', 493012345, true, 'digits count'],
    ['PhoneNumber', 'number', '004930', '4930', true, 'leading zeros do not'],
    ['PhoneNumber', 'number', '4930', '4931', false, 'other digits are another number'],
    ['PhoneNumber', 'nickname', ' Desk ', 'Desk', true, 'nobody can put blanks back by hand'],
    ['PhoneNumber', 'nickname', 'Desk', 'desk', false, 'case counts in a name'],
    [
      'WorkspaceUser',
      'email',
      'Ada@Example.com',
      ' ada@example.COM',
      true,
      'case does not count in an address',
    ],
    ['WorkspaceUser', 'modules', ['agents', 'analytics'], ['analytics', 'agents'], true, 'modules are a set'],
    ['WorkspaceUser', 'agent_ids', ['a'], [], false, 'an empty set is another'],
    ['Webhook', 'url', 'https://Example.com', 'https://example.com/', true, 'one place, two spellings'],
    ['Webhook', 'url', 'https://example.com/a', 'https://example.com/A', false, 'paths have case'],
    ['Webhook', 'payload', { a: [1, 2] }, { a: [2, 1] }, false, 'a payload is taken as it is'],
    ['Agent', 'llm_config.knowledge_base_ids', ['a', 'b'], ['b', 'a'], true, 'knowledge bases are a set'],
    ['Agent', 'llm_config.tools', [1, 2], [2, 1], false, 'tools have an order'],
    ['Agent', 'tts_config.backchannel_words', ['a', 'b'], ['b', 'a'], false, 'words have an order'],
  ])('%s %s: %j and %j are the same: %s, because %s', (kind, path, a, b, same, reason) => {
    expect(sameValue(kinds.get(kind)?.fields[path] ?? {}, a, b), reason).toBe(same);
  });
});
