import type { NextStep } from '../../problems/next-step.ts';
import { UserError } from '../../problems/user-error.ts';
import { isDeeperThan, isObject } from '../../values/json.ts';
import { isPlanLike, PLAN_FORMAT_VERSION } from './plan-actions.ts';
import { digestOfPlan } from './plan-digest.ts';
import type { PlanDocument } from './plan-document.ts';
import { planDocument } from './plan-schema.ts';

/** The maximum nesting depth of a plan. The maximum for manifests is less than half of this. */
const MAX_DEPTH = 250;

const NEWER_HINT = 'Use that version, or plan again with this one.';

/** Matches the first bytes of files from common encryption tools. */
const ENCRYPTED_HEADER =
  /^(?:-----BEGIN (?:PGP MESSAGE|AGE ENCRYPTED FILE)|age-encryption\.org|\$ANSIBLE_VAULT|Salted__|U2FsdGVkX1)/;

/**
 * Parses a saved plan.
 * @throws UserError if the file is encrypted, is not a plan in JSON, has another format, was made by a newer version, or was edited.
 */
export function parseSavedPlan(
  text: string,
  { file, version }: { readonly file: string; readonly version: string },
): PlanDocument {
  const next: readonly NextStep[] = [{ action: 'save_plan' }];
  const encrypted = () => new UserError(`${file} is encrypted`, { hint: 'Decrypt it first.' });
  if (ENCRYPTED_HEADER.test(text)) throw encrypted();
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch (cause) {
    throw new UserError(`${file} is not a saved plan: it is not JSON`, { next, cause });
  }
  if (isObject(data) && isObject(data.sops)) throw encrypted();
  if (!isPlanLike(data)) throw new UserError(`${file} is not a saved plan`, { next });
  const planVersion = typeof data.voxform_version === 'string' ? data.voxform_version : undefined;
  if (data.format_version !== PLAN_FORMAT_VERSION) {
    throw new UserError(
      `${file} has plan format ${data.format_version}; this version of voxform reads format ${PLAN_FORMAT_VERSION}`,
      data.format_version < PLAN_FORMAT_VERSION ? { next } : { hint: NEWER_HINT },
    );
  }
  if (planVersion !== undefined && isNewer(planVersion, version)) {
    throw new UserError(`${file} was made by voxform ${planVersion}; this is voxform ${version}`, { hint: NEWER_HINT });
  }
  if (isDeeperThan(data, MAX_DEPTH)) {
    throw new UserError(`${file} is not a saved plan: its values are nested too deeply`, { next });
  }
  if (data.digest === undefined || data.digest !== digestOfPlan(data)) {
    throw new UserError(`${file} was edited, redacted or damaged since it was made`, { next });
  }
  const parsed = planDocument.safeParse(data);
  if (!parsed.success) throw new UserError(`${file} is not a saved plan`, { next, cause: parsed.error });
  // The parsed copy may have a different order of fields.
  return data as unknown as PlanDocument;
}

/** Returns true if version `a` is newer than `b`. Compares only the three numbers. Returns false if `a` is invalid. */
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
