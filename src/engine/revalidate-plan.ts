import { kindNamed } from '../kinds/index.ts';
import type { Kind } from '../kinds/kind.ts';
import { checkSpec } from '../manifests/check-spec.ts';
import { type Address, parseAddress, type Resource } from '../manifests/resource.ts';
import { UserError } from '../problems/user-error.ts';
import { createFingerprints } from '../state/fingerprint.ts';
import type { State } from '../state/state.ts';
import { jsonEqual } from '../values/json.ts';
import { unflatten } from '../values/path.ts';
import { fromForms, Secret, symbolicLeaves, Unset, type Value } from '../values/value.ts';
import { type PlanResult, planFor } from './engine.ts';
import type { PlanRequest } from './observe/observe.ts';
import { writes } from './plan/plan-actions.ts';
import type { PlanDocument, PlannedChange, PlannedResource } from './plan/plan-document.ts';

interface RevalidateInput
  extends Omit<
    PlanRequest,
    'desired' | 'selection' | 'refresh' | 'allowRecreate' | 'evenIfAll' | 'allowReplace' | 'retryIgnored' | 'guards'
  > {
  readonly saved: PlanDocument;
  /** Returns the secret with this name. Throws `UserError` if it is not set. */
  secret(name: string): Secret;
}

/**
 * Reads the platform again for a saved plan, and returns the plan with everything that an apply needs. Writes nothing.
 * @throws UserError if the plan is for another workspace, or if the state, a secret or a record to be written has changed.
 */
export async function revalidatePlan(input: RevalidateInput): Promise<PlanResult> {
  const { saved, workspace, state } = input;
  assertSameWorkspace(saved, workspace);
  assertSameState(saved, state);
  validateContents(saved);
  await assertSameSecrets(input);

  const written = saved.resources.filter(({ action }) => writes.has(action));
  const unwritten = saved.resources.filter((each) => each.source !== null && !writes.has(each.action));
  const planned = await planFor({
    ...input,
    desired: [
      ...written.filter(({ desired }) => desired !== undefined).map((each) => resourceOf(each, input)),
      // An empty list of targets would select everything.
      ...(written.length === 0 ? [] : unwritten.map(placeholder)),
    ],
    selection: { targets: written.map(({ address }) => address), labels: {} },
    refresh: saved.refreshed,
    allowRecreate: written.filter(({ recreates }) => recreates !== undefined).map(({ address }) => address),
    // The check for missing records already ran when the plan was made, on more records than are read now.
    evenIfAll: true,
    allowReplace: [],
    retryIgnored: saved.resources.some(({ changes }) => changes.some((change) => change.not_applied)),
    guards: { maxChangedPercent: 100, minResources: 0 },
  });
  const current = new Map(planned.plan.document.resources.map((each) => [each.address, each]));
  const changed = written.filter((each) => !isSame(each, current.get(each.address))).map(({ address }) => address);
  if (changed.length > 0) {
    throw new UserError(`the plan is stale: ${changed.join(', ')} changed on the platform; nothing was written`, {
      hint: 'Plan again and review the changes.',
    });
  }
  // Placeholders lack the manifest's values, so their records must not become state entries.
  const addresses = new Set(written.map(({ address }) => address));
  const settled = new Map([...planned.plan.settled].filter(([address]) => addresses.has(address)));
  return { ...planned, plan: { ...planned.plan, document: saved, settled } };
}

function assertSameWorkspace(saved: PlanDocument, workspace: RevalidateInput['workspace']): void {
  if (saved.workspace_id === workspace.id && saved.base_url === workspace.baseUrl) return;
  throw new UserError(
    `the plan is for workspace ${saved.workspace_id} at ${saved.base_url} (${saved.workspace}), but ${workspace.id} at ${workspace.baseUrl} (${workspace.name}) is selected`,
    { next: [{ action: 'select_workspace', workspace: saved.workspace }] },
  );
}

function assertSameState(saved: PlanDocument, state: State): void {
  if (saved.state.lineage !== state.lineage) {
    throw new UserError('the plan was made from another state', {
      hint: 'Check `state` in voxform.yaml, then plan again.',
    });
  }
  if (saved.state.serial > state.serial) {
    throw new UserError(`the state (serial ${state.serial}) is older than the plan (serial ${saved.state.serial})`, {
      hint: 'Check `state` in voxform.yaml, restore the latest state, then plan again.',
    });
  }
  if (saved.state.serial !== state.serial) {
    throw new UserError(
      `the plan is stale: it was made from state serial ${saved.state.serial}, and the state is now at serial ${state.serial}`,
      { hint: 'Plan again.' },
    );
  }
}

async function assertSameSecrets({ saved, secret }: RevalidateInput): Promise<void> {
  const fingerprints = createFingerprints(saved.state.salt);
  const secretTexts = new Map(Object.keys(saved.secrets).map((name) => [name, secret(name).reveal()]));
  await fingerprints.prepare(secretTexts.values());
  const changed = [...secretTexts].filter(([name, text]) => fingerprints.of(text) !== saved.secrets[name]);
  if (changed.length === 0) return;
  throw new UserError(`these secrets changed since the plan was made: ${changed.map(([name]) => name).join(', ')}`, {
    hint: 'Run apply with the same secrets as plan, or plan again.',
  });
}

/** Restores a resource from the plan. */
function resourceOf(planned: PlannedResource, { state, secret }: RevalidateInput): Resource {
  const leaves = Object.entries(planned.desired ?? {}).map(([path, forms]): [string, Value] => [
    path,
    fromForms(forms, secret),
  ]);
  const recreatedOrphan = state.orphans.find(({ kind, id }) => kind === planned.kind && id === planned.recreates);
  const previousAddresses = [planned.previous_address, recreatedOrphan?.address].flatMap((address) => address ?? []);
  const known = [planned.address, planned.previous_address ?? planned.address];
  const isNew = !known.some((address) => state.resources.has(address) || state.pending.has(address));
  const identifiesRecord = planned.action === 'adopt' || planned.action === 'update';
  return {
    ...placeholder(planned),
    id: isNew && identifiesRecord ? (planned.id ?? undefined) : undefined,
    previousNames: previousAddresses.filter((address) => address !== planned.address).map(nameOf),
    ignoreDrift: planned.ignore_drift ?? [],
    // The plan may also replace the managed record with an existing one.
    mayReplace: planned.action === 'replace' || state.resources.get(planned.address)?.id !== planned.id,
    spec: unflatten(leaves) as Resource['spec'],
  };
}

/** Returns a resource without values, for an address that the plan does not write. */
function placeholder({ address, kind, source }: PlannedResource): Resource {
  return {
    address,
    kind,
    name: nameOf(address),
    labels: {},
    id: undefined,
    previousNames: [],
    ignoreDrift: [],
    mayReplace: false,
    spec: {},
    source: source ?? { file: '', line: 1 },
  };
}

function nameOf(address: Address): string {
  return address.slice(address.indexOf('/') + 1);
}

function isSame(saved: PlannedResource, current: PlannedResource | undefined): boolean {
  return (
    current !== undefined &&
    saved.action === current.action &&
    saved.id === current.id &&
    saved.recreates === current.recreates &&
    saved.observed_digest === current.observed_digest &&
    jsonEqual(saved.left_out ?? {}, current.left_out ?? {}) &&
    jsonEqual(saved.changes.map(withoutNames), current.changes.map(withoutNames))
  );
}

/** Removes the names, because this run does not look them up: a saved plan already contains the ids. */
function withoutNames({ names: _, ...change }: PlannedChange): PlannedChange {
  return change;
}

/**
 * Refuses contents that `voxform plan` never writes. The digest detects damage, but not forgery: anyone can compute it. Reads no secrets.
 * @throws UserError for the first problem.
 */
function validateContents(plan: PlanDocument): void {
  const seen = new Set<Address>();
  for (const planned of plan.resources) {
    const kind = kindNamed(planned.kind);
    for (const address of [planned.address, planned.previous_address ?? planned.address]) {
      if (parseAddress(address)?.kind !== kind.name)
        throw contentsError(`the address ${JSON.stringify(address)}, which is invalid for its kind`);
    }
    if (seen.has(planned.address)) throw contentsError(`${planned.address} twice`);
    seen.add(planned.address);
    validateValues(planned, { kind, secrets: plan.secrets });
  }
}

interface ValueContext {
  readonly kind: Kind;
  /** The fingerprints of secrets, by name. */
  readonly secrets: Readonly<Record<string, string>>;
}

function validateValues({ address, desired }: PlannedResource, { kind, secrets }: ValueContext): void {
  if (desired === undefined) return;
  const leaves = Object.entries(desired).map(([path, forms]): [string, Value] => [
    path,
    fromForms(forms, (name) => new Secret(name, undefined)),
  ]);
  const spec = unflatten(leaves) as Value;
  for (const leaf of symbolicLeaves(spec)) {
    if (leaf instanceof Unset) throw contentsError(`an unresolved variable in ${address}`);
    // Without its fingerprint, a changed secret would not be detected.
    if (leaf instanceof Secret && !Object.hasOwn(secrets, leaf.name)) {
      throw contentsError(`the secret ${JSON.stringify(leaf.name)} without its fingerprint in ${address}`);
    }
  }
  const [problem] = checkSpec(kind, spec, true).problems;
  if (problem !== undefined) throw contentsError(`an invalid value in ${address} (${problem.message})`);
}

function contentsError(problem: string): UserError {
  return new UserError(`the plan is invalid: it contains ${problem}`, {
    next: [{ action: 'save_plan' }],
  });
}
