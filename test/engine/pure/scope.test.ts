import { describe, expect, it } from 'vitest';
import { refuseUnknown, scopeOf } from '../../../src/engine/decide/scope.ts';
import { UserError } from '../../../src/problems/user-error.ts';
import { agent, number, ref, user } from '../resources.ts';
import { entryOf, stateOf } from './facts.ts';

const resources = [
  agent('a', {}, { labels: { team: 'support', tier: 'one' } }),
  agent('b', { llm_config: { tools: [ref('Agent/a')] } }, { labels: { team: 'support' } }),
  number('n', { number: '+49301', inbound_agent_id: ref('Agent/b') }),
  user('ada', { agent_ids: [ref('KnowledgeBase/FAQ')] }, { labels: { team: 'sales' } }),
  agent('new', {}, { previousNames: ['old', 'older'] }),
];
const state = stateOf(
  { 'Agent/a': entryOf({}), 'Agent/left': entryOf({}), 'Agent/old': entryOf({}) },
  { pending: new Map([['Agent/lost', { since: '2030-01-01T00:00:00Z', recorded: {} }]]) },
);

function scope(targets: string[], labels: Record<string, string> = {}): string[] | undefined {
  const found = scopeOf({ targets, labels }, { resources, state });
  return found === undefined ? undefined : [...found].sort();
}

describe('what a run is about', () => {
  it('is everything when nothing is selected', () => {
    expect(scope([])).toBeUndefined();
  });

  it('is a target by itself where targets are meant alone', () => {
    const selection = { targets: ['PhoneNumber/n'], labels: {}, alone: true };
    expect([...(scopeOf(selection, { resources, state }) ?? [])]).toEqual(['PhoneNumber/n']);
  });

  it.each([
    { reason: 'a target alone', targets: ['Agent/a'], addresses: ['Agent/a'] },
    { reason: 'a glob of what the state alone has', targets: ['*/l*'], addresses: ['Agent/left', 'Agent/lost'] },
    {
      reason: 'a glob with all that its matches refer to',
      targets: ['PhoneNumber/*'],
      addresses: ['Agent/a', 'Agent/b', 'PhoneNumber/n'],
    },
    {
      reason: 'a target with all that it refers to',
      targets: ['PhoneNumber/n'],
      addresses: ['Agent/a', 'Agent/b', 'PhoneNumber/n'],
    },
    { reason: 'what only the state knows', targets: ['Agent/left'], addresses: ['Agent/left'] },
    { reason: 'an open create', targets: ['Agent/lost'], addresses: ['Agent/lost'] },
    { reason: 'nothing that is only looked up', targets: ['WorkspaceUser/ada'], addresses: ['WorkspaceUser/ada'] },
    { reason: 'a resource by the name that it had before', targets: ['Agent/old'], addresses: ['Agent/new'] },
    { reason: 'several', targets: ['Agent/a', 'Agent/left'], addresses: ['Agent/a', 'Agent/left'] },
    { reason: 'labels', targets: [], labels: { team: 'support' }, addresses: ['Agent/a', 'Agent/b'] },
    { reason: 'labels, all of them', targets: [], labels: { team: 'support', tier: 'one' }, addresses: ['Agent/a'] },
    {
      reason: 'labels and a target beside them',
      targets: ['Agent/left'],
      labels: { team: 'sales' },
      addresses: ['Agent/left', 'WorkspaceUser/ada'],
    },
  ])('is $reason', ({ targets, labels, addresses }) => {
    expect(scope(targets, labels)).toEqual(addresses);
  });

  it('refuses a target that nothing knows, with the nearest that is', () => {
    expect(() => scope(['Agent/lft'])).toThrow(UserError);
    expect(() => scope(['Agent/lft'])).toThrow('did you mean "Agent/left"?');
  });

  it('refuses labels that nothing has, those of every object too', () => {
    expect(() => scope([], { team: 'sale' })).toThrow('no manifest matches the selector team=sale');
    expect(() => scope([], { constructor: 'x' })).toThrow(UserError);
  });

  it('names the option with an unknown address', () => {
    expect(() => refuseUnknown(['x'], new Set(), '--allow-replace')).toThrow('--allow-replace x');
  });
});
