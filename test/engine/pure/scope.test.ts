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

describe('scopeOf', () => {
  it('returns undefined without a selection', () => {
    expect(scope([])).toBeUndefined();
  });

  it('returns only the targets with alone', () => {
    const selection = { targets: ['PhoneNumber/n'], labels: {}, alone: true };
    expect([...(scopeOf(selection, { resources, state }) ?? [])]).toEqual(['PhoneNumber/n']);
  });

  it.each([
    { reason: 'a single target', targets: ['Agent/a'], addresses: ['Agent/a'] },
    {
      reason: 'a glob that only matches entries of the state',
      targets: ['*/l*'],
      addresses: ['Agent/left', 'Agent/lost'],
    },
    {
      reason: 'a glob with the dependencies of its matches',
      targets: ['PhoneNumber/*'],
      addresses: ['Agent/a', 'Agent/b', 'PhoneNumber/n'],
    },
    {
      reason: 'a target with its dependencies',
      targets: ['PhoneNumber/n'],
      addresses: ['Agent/a', 'Agent/b', 'PhoneNumber/n'],
    },
    { reason: 'an address that is only in the state', targets: ['Agent/left'], addresses: ['Agent/left'] },
    { reason: 'an unknown create', targets: ['Agent/lost'], addresses: ['Agent/lost'] },
    {
      reason: 'no references that are only looked up',
      targets: ['WorkspaceUser/ada'],
      addresses: ['WorkspaceUser/ada'],
    },
    { reason: 'a resource by its earlier name', targets: ['Agent/old'], addresses: ['Agent/new'] },
    { reason: 'several targets', targets: ['Agent/a', 'Agent/left'], addresses: ['Agent/a', 'Agent/left'] },
    { reason: 'labels', targets: [], labels: { team: 'support' }, addresses: ['Agent/a', 'Agent/b'] },
    { reason: 'all of several labels', targets: [], labels: { team: 'support', tier: 'one' }, addresses: ['Agent/a'] },
    {
      reason: 'labels and a target',
      targets: ['Agent/left'],
      labels: { team: 'sales' },
      addresses: ['Agent/left', 'WorkspaceUser/ada'],
    },
  ])('returns $reason', ({ targets, labels, addresses }) => {
    expect(scope(targets, labels)).toEqual(addresses);
  });

  it('rejects an unknown target and suggests the nearest one', () => {
    expect(() => scope(['Agent/lft'])).toThrow(UserError);
    expect(() => scope(['Agent/lft'])).toThrow('did you mean "Agent/left"?');
  });

  it('rejects labels without a match, also names of object properties', () => {
    expect(() => scope([], { team: 'sale' })).toThrow('no manifest matches the selector team=sale');
    expect(() => scope([], { constructor: 'x' })).toThrow(UserError);
  });

  it('prints the option with an unknown address', () => {
    expect(() => refuseUnknown(['x'], new Set(), '--allow-replace')).toThrow('--allow-replace x');
  });
});
