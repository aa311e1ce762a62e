import { kindOf, type Resource, recordKey } from '../../manifests/resource.ts';
import { isMasked, secretTexts } from '../../state/fingerprint.ts';
import { isTainted } from '../../values/value.ts';
import type { ObserveOptions } from '../observe/observe-options.ts';
import { readRoutes } from '../observe/read-routes.ts';
import type { Plan } from './plan.ts';
import { withRoutes } from './routes.ts';

export interface RoutesWanted {
  /** Everything that the manifests declare. */
  readonly desired: readonly Resource[];
  readonly options: ObserveOptions;
}

/** The plan with what leads to each record that changes; reads the lists that were not read for the plan. */
export async function planWithRoutes(plan: Plan, { desired, options }: RoutesWanted): Promise<Plan> {
  const { lists, warnings } = await readRoutes(plan.document, plan.observed.lists, options);
  if (lists.size === 0 && warnings.length === 0) return plan;
  const addresses = new Map(
    [...options.state.resources].map(([address, { id }]) => [recordKey(kindOf(address), id), address]),
  );
  for (const { address, kind, id } of plan.document.resources) {
    if (id !== null) addresses.set(recordKey(kind, id), address);
  }
  const addressOf = (kind: string, id: string) => addresses.get(recordKey(kind, id));
  const isSecret = secretFields(desired, options);
  const document = withRoutes(plan.document, {
    kinds: options.kinds,
    lists,
    addressOf,
    sayable: (kind, record) => {
      const address = addressOf(kind, record.id);
      const fields = Object.entries(record).filter(([field, value]) => !isSecret(address, field, value));
      return { ...Object.fromEntries(fields), id: record.id };
    },
  });
  return { ...plan, document: { ...document, warnings: [...document.warnings, ...warnings] } };
}

/** In characters: shorter secrets are found in innocent words too. */
const longSecret = 8;

/** Tells fields that a manifest or the state knows as secret, and values that hold a secret of the manifests. */
function secretFields(
  desired: readonly Resource[],
  { state }: ObserveOptions,
): (address: string | undefined, field: string, value: unknown) => boolean {
  const declared = new Map(desired.map((resource) => [resource.address, resource]));
  const secrets = new Set(desired.flatMap(({ spec }) => secretTexts(spec)));
  const long = [...secrets].filter((secret) => secret.length >= longSecret);
  return (address = '', field, value) => {
    const entry = state.resources.get(address);
    return (
      isTainted(declared.get(address)?.spec[field] ?? null) ||
      isMasked(entry?.recorded[field]) ||
      isMasked(entry?.observed[field]) ||
      secrets.has(String(value)) ||
      (typeof value === 'string' && long.some((secret) => value.includes(secret)))
    );
  };
}
