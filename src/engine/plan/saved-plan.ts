import { createHash } from 'node:crypto';
import { kindNamed } from '../../kinds/index.ts';
import type { Kind } from '../../kinds/kind.ts';
import { checkSpec } from '../../manifests/check-spec.ts';
import { type Address, parseAddress } from '../../manifests/resource.ts';
import { UserError } from '../../problems/user-error.ts';
import { canonicalJson, type Json } from '../../values/json.ts';
import { unflatten } from '../../values/path.ts';
import { fromForms, Secret, specials, Unset, type Value } from '../../values/value.ts';
import type { PlanDocument, PlannedResource } from './plan-document.ts';

/** Adds a digest of the plan, which detects an edited or truncated file. */
export function withDigest(document: PlanDocument): PlanDocument {
  const { digest: _, ...rest } = document;
  return { ...rest, digest: digestOfPlan(rest) };
}

export function digestOfPlan(plan: object): string {
  const rest: Record<string, unknown> = { ...plan };
  delete rest.digest;
  // Converts to JSON first: a plan in memory and one from a file must give the same text.
  return createHash('sha256')
    .update(canonicalJson(JSON.parse(JSON.stringify(rest)) as Json))
    .digest('base64url');
}

/**
 * Refuses contents that `voxform plan` never writes: a digest detects damage, but not its author. No secret is read.
 * @throws UserError for the first finding.
 */
export function refuseInvalidContents(plan: PlanDocument): void {
  const seen = new Set<Address>();
  for (const planned of plan.resources) {
    const kind = kindNamed(planned.kind);
    for (const address of [planned.address, planned.previous_address ?? planned.address]) {
      if (parseAddress(address)?.kind !== kind.name) throw invalidContents(`the address ${JSON.stringify(address)}`);
    }
    if (seen.has(planned.address)) throw invalidContents(`${planned.address} twice`);
    seen.add(planned.address);
    refuseInvalidValues(planned, { kind, secrets: plan.secrets });
  }
}

interface Known {
  readonly kind: Kind;
  /** Fingerprints by name. */
  readonly secrets: Readonly<Record<string, string>>;
}

function refuseInvalidValues({ address, desired }: PlannedResource, { kind, secrets }: Known): void {
  if (desired === undefined) return;
  const leaves = Object.entries(desired).map(([path, forms]): [string, Value] => [
    path,
    fromForms(forms, (name) => new Secret(name, undefined)),
  ]);
  const spec = unflatten(leaves) as Value;
  for (const special of specials(spec)) {
    if (special instanceof Unset) throw invalidContents(`a variable without its value in ${address}`);
    // Without its fingerprint, a changed secret would not be detected.
    if (special instanceof Secret && !Object.hasOwn(secrets, special.name)) {
      throw invalidContents(`the secret ${JSON.stringify(special.name)} without its fingerprint in ${address}`);
    }
  }
  const [problem] = checkSpec(kind, spec, true).problems;
  if (problem !== undefined) throw invalidContents(`an invalid value in ${address} (${problem.message})`);
}

function invalidContents(what: string): UserError {
  return new UserError(`the plan is invalid: it contains ${what}`, {
    next: [{ action: 'save_plan' }],
  });
}
