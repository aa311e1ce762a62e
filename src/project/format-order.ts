import { envelopeSchema, manifestSchema } from '../manifests/envelope.ts';
import { type KeyOrder, schemaOrder } from '../manifests/formatting/key-order.ts';
import type { KindSchema } from '../manifests/kind-schema.ts';
import { parseAddress } from '../manifests/resource.ts';
import { isObject, type Json } from '../values/json.ts';
import { projectSchema } from './project-schema.ts';

type Kinds = ReadonlyMap<string, KindSchema>;

/** The key order of a manifest. The spec of an unknown kind is unchanged. */
export function manifestOrder(document: Json, kinds: Kinds): KeyOrder | undefined {
  const name = isObject(document) ? document.kind : undefined;
  const kind = typeof name === 'string' ? kinds.get(name) : undefined;
  return schemaOrder(kind === undefined ? envelopeSchema : manifestSchema(kind));
}

/** The key order of `voxform.yaml`, with its patches and defaults. */
export function projectOrder(kinds: Kinds): KeyOrder | undefined {
  const specs = (kindOf: (key: string) => string | undefined): KeyOrder => ({
    keys: [],
    inner: (key) => schemaOrder(kinds.get(kindOf(String(key)) ?? '')?.spec),
  });
  const defaults = specs((key) => key);
  const patches = specs((key) => parseAddress(key)?.kind);
  const order = schemaOrder(projectSchema());
  const within = (
    outer: KeyOrder | undefined,
    key: string,
    inner: (own: KeyOrder | undefined) => KeyOrder | undefined,
  ) =>
    outer === undefined
      ? undefined
      : { ...outer, inner: (at: string | number) => (at === key ? inner(outer.inner(at)) : outer.inner(at)) };
  const withWorkspaces = within(order, 'workspaces', (workspaces) =>
    workspaces === undefined
      ? undefined
      : { ...workspaces, inner: (name) => within(workspaces.inner(name), 'patches', () => patches) },
  );
  return within(withWorkspaces, 'defaults', () => defaults);
}
