import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dependenciesOf, inDependencyOrder } from '../../../src/engine/decide/order.ts';
import type { Resource } from '../../../src/manifests/resource.ts';
import { Join } from '../../../src/values/value.ts';
import { agent, number, ref, user } from '../resources.ts';

const resources: fc.Arbitrary<Resource[]> = fc
  .array(fc.array(fc.nat({ max: 15 }), { maxLength: 4 }), { maxLength: 16 })
  .chain((edges) => {
    // The order of names is independent of the order of references.
    const name = (index: number): string => `a${(index * 7) % 17}`;
    const all = edges.map((targets, index) =>
      agent(name(index), {
        llm_config: { tools: targets.filter((target) => target < index).map((target) => ref(`Agent/${name(target)}`)) },
      }),
    );
    return fc.shuffledSubarray(all, { minLength: all.length });
  });

function ordered(all: readonly Resource[]): string[] {
  const declared = new Set(all.map(({ address }) => address));
  const dependencies = new Map(all.map((resource) => [resource.address, dependenciesOf(resource, declared)]));
  return inDependencyOrder(all, dependencies).map(({ address }) => address);
}

describe('inDependencyOrder', () => {
  it('puts each resource once after its dependencies', () => {
    fc.assert(
      fc.property(resources, (all) => {
        const order = ordered(all);
        expect([...order].sort()).toEqual(all.map(({ address }) => address).sort());
        const declared = new Set(order);
        for (const resource of all) {
          for (const each of dependenciesOf(resource, declared)) {
            expect(order.indexOf(each)).toBeLessThan(order.indexOf(resource.address));
          }
        }
      }),
    );
  });

  it('does not depend on the order of resources', () => {
    fc.assert(
      fc.property(resources, (all) => {
        const sorted = [...all].sort((a, b) => (a.address < b.address ? -1 : 1));
        expect(ordered(all)).toEqual(ordered(sorted));
      }),
    );
  });

  it('sorts independent resources by address', () => {
    expect(ordered([agent('c'), agent('a'), agent('b')])).toEqual(['Agent/a', 'Agent/b', 'Agent/c']);
  });

  it('is fast if every resource refers to every other', () => {
    const count = 150;
    const all = Array.from({ length: count }, (_, index) =>
      agent(`a${count - index}`, {
        llm_config: { tools: Array.from({ length: index }, (__, other) => ref(`Agent/a${count - other}`)) },
      }),
    );
    expect(ordered(all)).toEqual(all.map(({ address }) => address));
  });

  it('follows a chain of any length', () => {
    const count = 10_000;
    const all = Array.from({ length: count }, (_, index) =>
      agent(`a${index}`, { llm_config: { tools: index === 0 ? [] : [ref(`Agent/a${index - 1}`)] } }),
    );
    expect(ordered(all.toReversed())).toEqual(all.map(({ address }) => address));
  });
});

describe('dependenciesOf', () => {
  it('returns each declared resource once to which the spec refers', () => {
    const found = dependenciesOf(
      user('ada', {
        agent_ids: [ref('Agent/b'), ref('Agent/a'), ref('Agent/b'), ref('Agent/elsewhere')],
        role: new Join(['x', ref('Agent/c'), ref('KnowledgeBase/FAQ')], ''),
      }),
      new Set(['Agent/a', 'Agent/b', 'Agent/c', 'WorkspaceUser/ada']),
    );
    expect(found).toEqual(['Agent/a', 'Agent/b', 'Agent/c']);
  });

  it('excludes the resource itself', () => {
    const self = number('n', { number: '+49301', nickname: ref('PhoneNumber/n') });
    expect(dependenciesOf(self, new Set([self.address]))).toEqual([]);
  });
});
