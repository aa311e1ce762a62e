import type { ShownRecord } from '../../kinds/kind.ts';
import { idKey, type Resource } from '../../manifests/resource.ts';
import { PlatformError } from '../../platform/platform-error.ts';
import { UserError } from '../../problems/user-error.ts';
import { isMasked, secretTexts } from '../../state/fingerprint.ts';
import { managedRecords } from '../../state/state.ts';
import { isTainted } from '../../values/value.ts';
import type { Plan } from '../decide/make-plan.ts';
import type { PlanWarning } from '../plan/plan-document.ts';
import { type NamedRoutes, namedRoutes, type RoutingKind, routingKinds, withRoutes } from '../plan/routes.ts';
import { type ObserveOptions, readList } from './read-records.ts';

/**
 * Adds the routes of each changing record to the plan. Reads further lists if needed. If a list cannot be read, adds a warning, and only
 * the routes that the changing records themselves contain.
 * @param desired all resources of the manifests.
 * @throws PlatformError if the run was interrupted. Other failures to read a list become warnings.
 */
export async function planWithRoutes(plan: Plan, desired: readonly Resource[], options: ObserveOptions): Promise<Plan> {
  const lists = new Map<string, readonly ShownRecord[]>(plan.observed.lists);
  const named = new Map<string, NamedRoutes>();
  const warnings: PlanWarning[] = [];
  for (const kind of routingKinds(plan.document)) {
    if (lists.has(kind.name)) continue;
    if (!options.refresh) {
      warnings.push(unknownRoutes(kind, 'a plan without refresh does not read them'));
      continue;
    }
    try {
      lists.set(kind.name, await readList(kind, options));
    } catch (error) {
      const failure = error instanceof UserError ? error.cause : error;
      if (!(failure instanceof PlatformError)) throw error;
      if (failure.reason === 'aborted') throw error;
      const { method, path, status } = failure.facts;
      const outcome = status === undefined ? failure.reason : `answered ${status}`;
      const reason = `reading them failed (${method} ${path}: ${outcome})`;
      const fallback = namedRoutes(kind, plan.document, (address) => {
        const observation = plan.observed.records.get(address);
        return observation?.status === 'shown' ? observation.record : undefined;
      });
      named.set(kind.name, fallback.named);
      warnings.push(fallback.isComplete ? unknownUse(kind, reason) : unknownRoutes(kind, reason));
    }
  }
  if (lists.size === 0 && warnings.length === 0) return plan;
  const addresses = managedRecords(options.state);
  for (const { address, kind, id } of plan.document.resources) {
    if (id !== null) addresses.set(idKey(kind, id), address);
  }
  const addressOf = (kind: string, id: string) => addresses.get(idKey(kind, id));
  const isSecret = secretFields(desired, options);
  const document = withRoutes(plan.document, {
    lists,
    named,
    addressOf,
    withoutSecrets: (kind, record) => {
      const address = addressOf(kind, record.id);
      const fields = Object.entries(record).filter(([field, value]) => !isSecret(address, field, value));
      return { ...Object.fromEntries(fields), id: record.id };
    },
  });
  return { ...plan, document: { ...document, warnings: [...document.warnings, ...warnings] } };
}

function unknownRoutes({ routes: { noun } }: RoutingKind, reason: string): PlanWarning {
  return { address: null, message: `the ${noun}s that use the changed resources are not known: ${reason}` };
}

function unknownUse({ routes: { noun, ways } }: RoutingKind, reason: string): PlanWarning {
  const directions = Object.values(ways).join(' or ');
  return { address: null, message: `how ${noun}s use the changed resources (${directions}) is not known: ${reason}` };
}

/** The minimum length of a secret that is searched for inside values. Shorter secrets also occur in ordinary words. */
const MIN_SEARCHED_LENGTH = 8;

/** Returns a predicate for fields that a manifest or the state marks as secret, and for values that contain a secret. */
function secretFields(
  desired: readonly Resource[],
  { state }: ObserveOptions,
): (address: string | undefined, field: string, value: unknown) => boolean {
  const declared = new Map(desired.map((resource) => [resource.address, resource]));
  const secrets = new Set(desired.flatMap(({ spec }) => secretTexts(spec)));
  const searched = [...secrets].filter((secret) => secret.length >= MIN_SEARCHED_LENGTH);
  return (address = '', field, value) => {
    const entry = state.resources.get(address);
    return (
      isTainted(declared.get(address)?.spec[field] ?? null) ||
      isMasked(entry?.recorded[field]) ||
      isMasked(entry?.observed[field]) ||
      secrets.has(String(value)) ||
      (typeof value === 'string' && searched.some((secret) => value.includes(secret)))
    );
  };
}
