import { type Address, kindOf } from '../manifests/resource.ts';
import type { Orphan } from './state-document.ts';

/** What a record becomes as its address lets go of it. */
export function orphanOf(
  address: Address,
  { id, reason, since, natural_key, closed }: Omit<Orphan, 'kind' | 'address'>,
): Orphan {
  return {
    kind: kindOf(address),
    id,
    address,
    reason,
    since,
    ...(natural_key !== undefined && { natural_key }),
    ...(closed !== undefined && { closed }),
  };
}
