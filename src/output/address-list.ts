import type { PlannedResource } from '../engine/plan/plan-document.ts';

/** The number of addresses to name before the rest is counted. */
const MOST = 12;

export interface NamedOptions {
  readonly most?: number;
  /** The option or command that lists all; empty if there is none. */
  readonly lists?: string;
}

/** `Agent/a, Agent/b and 95 more (--full lists them)`, from names in display form. */
export function addressList(
  names: readonly string[],
  full = false,
  { most = MOST, lists = '--full' }: NamedOptions = {},
): string {
  const shown = full || names.length <= most + 1 ? names : names.slice(0, most);
  const rest = names.length - shown.length;
  const how = lists === '' ? '' : ` (${lists} lists them)`;
  return `${shown.join(', ')}${rest > 0 ? ` and ${rest} more${how}` : ''}`;
}

/** `name, role and 3 more`: up to a maximum, then the number of others. */
export function listed(names: readonly string[], most: number): string {
  const more = names.length - most;
  return more <= 0 ? names.join(', ') : `${names.slice(0, most).join(', ')} and ${more} more`;
}

/** True if no address may be left out: a decision is needed, a record is released, or drift is overwritten. */
export function mustNameAll(resources: readonly PlannedResource[]): boolean {
  return resources.some(
    ({ action, steps = [], missing, changes }) =>
      (action !== 'update' && action !== 'adopt' && action !== 'create') ||
      missing === true ||
      steps.length > 0 ||
      changes.some(({ cause }) => cause === 'both'),
  );
}
