import { createHash } from 'node:crypto';
import { kindNamed } from '../../kinds/index.ts';
import type { Kind } from '../../kinds/kind.ts';
import { checkSpec } from '../../manifests/check-spec.ts';
import { type Address, parseAddress } from '../../manifests/resource.ts';
import type { NextStep } from '../../problems/next-step.ts';
import { UserError } from '../../problems/user-error.ts';
import { canonicalJson, isDeeperThan, isObject, type Json } from '../../values/json.ts';
import { unflatten } from '../../values/path.ts';
import { fromForms, Secret, specials, Unset, type Value } from '../../values/value.ts';
import {
  PLAN_FORMAT_VERSION,
  type PlanDocument,
  type PlannedResource,
  planDocument,
} from './plan-document.ts';

/** Of a plan: manifests nest their values less than half as deep. */
const DEEPEST = 250;

const NEWER = 'Apply it with that version, or plan again with this one.';

/** The plan with a digest of itself, which detects a file that was edited or truncated. */
export function sealed(document: PlanDocument): PlanDocument {
  const { digest: _, ...rest } = document;
  return { ...rest, digest: digestOfPlan(rest) };
}

/**
 * Reads a saved plan back.
 * @throws UserError, a message of its own for each: not JSON, not a plan, of another format, of a newer version, edited.
 */
export function parseSavedPlan(
  text: string,
  { file, version }: { readonly file: string; readonly version: string },
): PlanDocument {
  const next: readonly NextStep[] = [{ action: 'save_plan' }];
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch (cause) {
    throw new UserError(`${file} is not a saved plan: it is not JSON`, { next, cause });
  }
  if (!isObject(data) || typeof data.format_version !== 'number' || !Array.isArray(data.resources)) {
    throw new UserError(`${file} is not a saved plan`, { next });
  }
  const madeBy = typeof data.voxform_version === 'string' ? data.voxform_version : undefined;
  if (data.format_version !== PLAN_FORMAT_VERSION) {
    throw new UserError(
      `${file} has plan format ${data.format_version}; this version of voxform reads format ${PLAN_FORMAT_VERSION}`,
      data.format_version < PLAN_FORMAT_VERSION ? { next } : { hint: NEWER },
    );
  }
  if (madeBy !== undefined && isNewer(madeBy, version)) {
    throw new UserError(`${file} was made by voxform ${madeBy}; this is voxform ${version}`, { hint: NEWER });
  }
  if (isDeeperThan(data, DEEPEST)) {
    throw new UserError(`${file} is not a saved plan: its values are nested too deeply`, { next });
  }
  if (data.digest === undefined || data.digest !== digestOfPlan(data)) {
    throw new UserError(`${file} was edited or damaged since it was made`, { next });
  }
  const parsed = planDocument.safeParse(data);
  if (!parsed.success) throw new UserError(`${file} is not a saved plan`, { next, cause: parsed.error });
  return parsed.data;
}

function digestOfPlan(plan: object): string {
  const rest: Record<string, unknown> = { ...plan };
  delete rest.digest;
  // Through JSON, so that a plan in memory and the same one read from a file give the same text.
  return createHash('sha256')
    .update(canonicalJson(JSON.parse(JSON.stringify(rest)) as Json))
    .digest('base64url');
}

/** Compares the three numbers of a version; what is no version is not newer. */
function isNewer(a: string, b: string): boolean {
  const [left, right] = [numbersOf(a), numbersOf(b)];
  for (const [index, number] of left.entries()) {
    const other = right[index] ?? 0;
    if (number !== other) return number > other;
  }
  return false;
}

function numbersOf(version: string): number[] {
  const match = /^(\d+)\.(\d+)\.(\d+)/.exec(version);
  return match === null ? [] : match.slice(1).map(Number);
}

/**
 * A digest tells that a plan was damaged, not who made it: this tells what `voxform plan` never writes. No secret is read.
 * @throws UserError for the first of it.
 */
export function refuseInvalidContents(plan: PlanDocument): void {
  const seen = new Set<Address>();
  for (const planned of plan.resources) {
    const kind = kindNamed(planned.kind);
    for (const address of [planned.address, planned.previous_address ?? planned.address]) {
      if (parseAddress(address)?.kind !== kind.name) throw odd(`the address ${JSON.stringify(address)}`);
    }
    if (seen.has(planned.address)) throw odd(`${planned.address} twice`);
    seen.add(planned.address);
    refuseOddValues(planned, { kind, secrets: plan.secrets });
  }
}

interface Known {
  readonly kind: Kind;
  /** Fingerprints by name. */
  readonly secrets: Readonly<Record<string, string>>;
}

function refuseOddValues({ address, desired }: PlannedResource, { kind, secrets }: Known): void {
  if (desired === undefined) return;
  const leaves = Object.entries(desired).map(([path, forms]): [string, Value] => [
    path,
    fromForms(forms, (name) => new Secret(name, undefined)),
  ]);
  const spec = unflatten(leaves) as Value;
  for (const special of specials(spec)) {
    if (special instanceof Unset) throw odd(`a variable without its value in ${address}`);
    // Without its fingerprint nobody could tell that it is still the one that the plan was made with.
    if (special instanceof Secret && !Object.hasOwn(secrets, special.name)) {
      throw odd(`the secret ${JSON.stringify(special.name)} without its fingerprint in ${address}`);
    }
  }
  const [problem] = checkSpec(kind, spec, true).problems;
  if (problem !== undefined) throw odd(`an invalid value in ${address} (${problem.message})`);
}

function odd(what: string): UserError {
  return new UserError(`the plan is invalid: it contains ${what}`, {
    next: [{ action: 'save_plan' }],
  });
}
