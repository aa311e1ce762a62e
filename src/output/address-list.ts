import type { PlannedResource } from '../engine/plan/plan-document.ts';

/** The maximum number of addresses to list. The others are only counted. */
const MAX_LISTED = 12;

export interface AddressListOptions {
  readonly max?: number;
  /** The option or command that lists all addresses, or an empty string if there is none. */
  readonly lists?: string;
}

/** Returns a list such as `Agent/a, Agent/b and 95 more (--full lists them)`. The caller must format and escape the names. */
export function addressList(
  names: readonly string[],
  full = false,
  { max = MAX_LISTED, lists = '--full' }: AddressListOptions = {},
): string {
  const shown = full || names.length <= max + 1 ? names : names.slice(0, max);
  const rest = names.length - shown.length;
  const hint = lists === '' ? '' : ` (${lists} lists them)`;
  return `${shown.join(', ')}${rest > 0 ? ` and ${rest} more${hint}` : ''}`;
}

/** Returns a list such as `name, role and 3 more`. */
export function listed(names: readonly string[], max: number): string {
  const more = names.length - max;
  return more <= 0 ? names.join(', ') : `${names.slice(0, max).join(', ')} and ${more} more`;
}

/** True if a list must contain all addresses: a resource needs a decision, a record is released, or drift is overwritten. */
export function mustListAll(resources: readonly PlannedResource[]): boolean {
  return resources.some(
    ({ action, steps = [], missing, changes }) =>
      (action !== 'update' && action !== 'adopt' && action !== 'create') ||
      missing === true ||
      steps.length > 0 ||
      changes.some(({ cause }) => cause === 'both'),
  );
}
