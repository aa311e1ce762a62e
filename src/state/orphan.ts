import { type Address, kindOf } from '../manifests/resource.ts';
import type { Orphan } from './state-document.ts';

/** The orphan that a record becomes when its address is no longer its own. */
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
