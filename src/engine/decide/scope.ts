import { globMatcher } from '../../manifests/glob.ts';
import { type Address, isGlob, type Resource } from '../../manifests/resource.ts';
import { didYouMean } from '../../problems/suggest.ts';
import { ExitCode, UserError, usageError } from '../../problems/user-error.ts';
import type { State } from '../../state/state.ts';
import { dependenciesOf } from './order.ts';

/** Restricts a run to some resources. Without targets and labels, the run covers all resources. */
export interface Selection {
  readonly targets: readonly Address[];
  /** A resource must have all of these labels. */
  readonly labels: Readonly<Record<string, string>>;
  /** True to exclude the resources that the selected ones refer to. */
  readonly alone?: boolean;
}

/**
 * Returns the addresses in the scope of a run: the selected addresses and, unless `alone`, all addresses that they refer to. Returns
 * undefined if all are in scope. A target may be a glob or an earlier name. Only targets can select a state entry without a manifest.
 * @throws UserError for an unknown target and for labels that no resource has.
 */
export function scopeOf(
  { targets, labels, alone = false }: Selection,
  { resources, state }: { readonly resources: readonly Resource[]; readonly state: State },
): ReadonlySet<Address> | undefined {
  const wantedLabels = Object.entries(labels);
  if (targets.length === 0 && wantedLabels.length === 0) return undefined;
  const declared = new Map(resources.map((resource) => [resource.address, resource]));
  const known = new Set([...declared.keys(), ...state.resources.keys(), ...state.pending.keys()]);
  const named = targets.flatMap((target) => (isGlob(target) ? matching(target, known, '--target') : [target]));
  refuseUnknown(named, known, '--target');

  const hasLabels = (resource: Resource): boolean =>
    wantedLabels.every(([key, value]) => Object.hasOwn(resource.labels, key) && resource.labels[key] === value);
  const labeled = wantedLabels.length === 0 ? [] : resources.filter(hasLabels).map(({ address }) => address);
  if (wantedLabels.length > 0 && labeled.length === 0) {
    const selector = wantedLabels.map(([key, value]) => `${key}=${value}`).join(',');
    throw new UserError(`no manifest matches the selector ${selector}`, {
      hint: 'Labels are set under metadata.labels.',
    });
  }

  const addresses = new Set(declared.keys());
  const scope = new Set<Address>();
  const renamed = new Map<Address, Address>();
  for (const { kind, address, previousNames } of resources) {
    for (const name of previousNames) renamed.set(`${kind}/${name}`, address);
  }
  const current = named.map((target) => (declared.has(target) ? target : (renamed.get(target) ?? target)));
  const queue = [...current, ...labeled];
  for (const address of queue) {
    if (scope.has(address)) continue;
    scope.add(address);
    const resource = declared.get(address);
    if (resource !== undefined && !alone) queue.push(...dependenciesOf(resource, addresses));
  }
  return scope;
}

/** Returns the addresses that a glob matches. @throws UserError if there are none. */
export function matching(glob: string, known: Iterable<Address>, option: string): Address[] {
  const matches = globMatcher([glob], { dot: true });
  const addresses = [...known].filter((address) => matches(address));
  if (addresses.length > 0) return addresses;
  throw usageError(
    `${option} ${glob} matches no resource`,
    'Globs match addresses (Kind/name), such as Agent/support-* or PhoneNumber/*.',
  );
}

/** @throws UserError for an unknown address. The message suggests the most similar known address. */
export function refuseUnknown(
  addresses: Iterable<Address>,
  known: ReadonlySet<Address>,
  option?: string | undefined,
): void {
  for (const address of addresses) {
    if (known.has(address)) continue;
    const label = option === undefined ? address : `${option} ${address}`;
    throw new UserError(`${label}: no such resource${didYouMean(address, known)}`, {
      next: [{ action: 'list_addresses' }],
      exitCode: ExitCode.usage,
    });
  }
}
