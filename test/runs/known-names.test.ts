import { describe, expect, it } from 'vitest';
import { kinds } from '../../src/kinds/index.ts';
import type { Resource } from '../../src/manifests/resource.ts';
import { knownNamesById, namesInManifests, namesInState } from '../../src/runs/export/manifest-names.ts';
import type { State } from '../../src/state/state.ts';

const inState = (resources: Readonly<Record<string, string>>) =>
  namesInState({
    resources: new Map(Object.entries(resources).map(([address, id]) => [address, { id }])),
  } as unknown as State);
const declared = (...resources: readonly (Partial<Resource> & { readonly name: string })[]) =>
  namesInManifests(
    resources.map((each) => ({ kind: 'PhoneNumber', spec: {}, ...each }) as unknown as Resource),
    kinds,
  );

describe('names of records', () => {
  it.each([
    {
      reason: 'a name in the state precedes a name in a manifest',
      sources: [inState({ 'PhoneNumber/old': 'n1' }), declared({ name: 'new', id: 'n1' })],
      kept: { n1: 'old' },
    },
    {
      reason: 'a manifest names a record by its id, or by its natural key in any spelling',
      sources: [declared({ name: 'main', spec: { number: '0301 2' } }, { name: 'other', id: 'n2' })],
      kept: { n1: 'main', n2: 'other' },
    },
    {
      reason: 'the first of two manifests for one record counts',
      sources: [declared({ name: 'a', spec: { number: '3012' } }, { name: 'b', id: 'n1' })],
      kept: { n1: 'a' },
    },
    {
      reason: 'a manifest without a natural key, or with an unknown one, names nothing',
      sources: [declared({ name: 'a' }, { name: 'b', spec: { number: '999' } })],
      kept: {},
    },
  ])('$reason', ({ sources, kept }) => {
    const known = sources.flatMap((names) => names.get('PhoneNumber') ?? []);
    const records = [
      { id: 'n1', key: '3012' },
      { id: 'n2', key: '77' },
    ];
    expect(Object.fromEntries(knownNamesById(known, records))).toEqual(kept);
  });
});
