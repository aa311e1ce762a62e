import type { PlanResult } from '../engine/engine.ts';
import { writes } from '../engine/plan/plan-actions.ts';
import type { PlanDocument, PlannedResource, Violation } from '../engine/plan/plan-document.ts';
import { revalidatePlan } from '../engine/revalidate-plan.ts';
import { parseAddress, type Resource } from '../manifests/resource.ts';
import type { Subject } from '../policies/rule-variables.ts';
import { denials, refuseInvalidWaivers, waived } from '../policies/waivers.ts';
import { UserError } from '../problems/user-error.ts';
import { InvalidManifests } from '../project/invalid-project.ts';
import { unflatten } from '../values/path.ts';
import { fromForms, Secret } from '../values/value.ts';
import type { OpenWorkspace } from './open-workspace.ts';
import { commonPlanInput, type PlanContext, type Planning, planWorkspace } from './planning.ts';
import type { PlanningOptions } from './run-context.ts';

/** Plans all resources in scope, with routes and policy violations. */
export async function planWithViolations(planning: Planning): Promise<PlanResult> {
  const { opened, desired, options } = planning;
  const planned = await planWorkspace({ ...planning, options: { ...options, routes: true } });
  return withViolations(planned, { opened, desired, waiver: options.waiver });
}

/**
 * Adds the policy violations to a plan.
 * @throws UserError for a waiver of an unknown rule, or of a rule that cannot be waived.
 */
export async function withViolations(
  planned: PlanResult,
  { opened, desired, waiver }: Pick<Planning, 'opened' | 'desired'> & Pick<PlanningOptions, 'waiver'>,
): Promise<PlanResult> {
  const { rules } = opened.ruleSet;
  const declared = new Map(desired.map((resource) => [resource.address, resource]));
  const document = withLabels(planned.plan.document, declared);
  if (rules.length === 0 && waiver === undefined) return withDocument(planned, document);
  const subjects = document.resources.map((resource) => subjectOf(resource, declared.get(resource.address)));
  const allViolations = await violationsOf(document, subjects, opened);
  const { rules: names = [], because = '' } = waiver ?? {};
  refuseInvalidWaivers(names, rules);
  // The reason is redacted, because it is stored in the plan and the history.
  const reason = opened.withoutSecrets(because);
  const { violations, unneeded } = waived(allViolations, names, reason);
  const warnings = unneeded.map((name) => ({
    address: null,
    message: `--waive ${name} has no effect: this policy denies nothing.`,
  }));
  return withDocument(planned, { ...document, violations, warnings: [...warnings, ...document.warnings] });
}

/**
 * Checks that a saved plan is still current, and adds the current policy violations of its writes. Waivers of the saved plan remain valid
 * if the rule can still be waived.
 * @throws UserError if the plan is stale or was denied.
 */
export async function revalidatedPlan(surroundings: PlanContext, saved: PlanDocument): Promise<PlanResult> {
  const { opened } = surroundings;
  const secret = await opened.secretsOf(saved);
  const planned = await revalidatePlan({ ...commonPlanInput(surroundings), saved, secret });
  const { document } = planned.plan;
  refuseDenied(document);
  const { rules, diagnostics } = await opened.loadRules();
  if (diagnostics.length > 0) throw new InvalidManifests(diagnostics);
  const { violations: earlier = [], resources } = document;
  if (rules.length === 0) return planned;
  const written = resources.filter(({ action }) => writes.has(action));
  const subjects = written.map((each) => subjectOf(each, savedResource(each)));
  const allViolations = await violationsOf(document, subjects, opened);
  const reasons = new Map(earlier.map(({ id, waived: because }) => [id, because]));
  const current = allViolations.map((each) => {
    const because = reasons.get(each.id);
    return because === undefined || each.waivable === false ? each : { ...each, waived: because };
  });
  const addresses = new Set(written.map(({ address }) => address));
  const others = earlier.filter(({ address }) => !addresses.has(address));
  return withDocument(planned, { ...document, violations: [...current, ...others] });
}

/** Adds the labels to the plan, because the rules are evaluated again when a saved plan is applied. */
function withLabels(document: PlanDocument, declared: ReadonlyMap<string, Resource>): PlanDocument {
  const resources = document.resources.map((resource) => {
    const { labels = {} } = declared.get(resource.address) ?? {};
    return Object.keys(labels).length === 0 ? resource : { ...resource, labels };
  });
  return { ...document, resources };
}

function withDocument(planned: PlanResult, document: PlanDocument): PlanResult {
  return { ...planned, plan: { ...planned.plan, document } };
}

async function violationsOf(
  { summary }: PlanDocument,
  subjects: readonly Subject[],
  { ruleSet: { rules }, project: { root }, workspace, sources, context }: OpenWorkspace,
): Promise<readonly Violation[]> {
  if (rules.length === 0) return [];
  const { violationsIn } = await import('../policies/judge.ts');
  const plan = { summary, now: context.now() };
  return violationsIn(subjects, rules, { root, sources, workspace, plan, signal: context.interrupts.stop });
}

/** @param declared undefined if there is no manifest. The labels and the spec are empty then. */
function subjectOf(planned: PlannedResource, declared: Pick<Resource, 'labels' | 'spec'> | undefined): Subject {
  const { address, kind, source } = planned;
  const { labels = {}, spec = {} } = declared ?? {};
  return { address, kind, name: parseAddress(address)?.name ?? '', labels, spec, source, planned };
}

/** Returns the labels and the spec that the saved plan contains. */
function savedResource({ desired, labels = {} }: PlannedResource): Pick<Resource, 'labels' | 'spec'> {
  const secret = (name: string) => new Secret(name, undefined);
  const leaves = Object.entries(desired ?? {}).map(([path, forms]) => [path, fromForms(forms, secret)] as const);
  return { labels, spec: unflatten(leaves) as Resource['spec'] };
}

/** @throws UserError if a rule denies the plan and is not waived. */
export function refuseDenied({ violations, digest }: Pick<PlanDocument, 'violations' | 'digest'>): void {
  const denied = denials(violations);
  if (denied.length === 0) return;
  const rules = [...new Set(denied.map(({ rule }) => rule))];
  const isWaivable = denied.every(({ waivable }) => waivable !== false);
  const saved = digest === undefined ? {} : ({ saved_plan: true } as const);
  throw new UserError(`nothing was written: ${describeDenials(denied)}`, {
    hint: 'Change the manifests to comply with the policies.',
    next: isWaivable ? [{ action: 'waive', rules, ...saved }] : [],
  });
}

const MAX_NAMED = 3;

/** Describes denials, for example `denied by calls-end (Agent/a, Agent/b)`. */
export function describeDenials(denied: readonly Violation[]): string {
  const parts = [...Map.groupBy(denied, ({ rule }) => rule)].map(([rule, ofRule]) => {
    const addresses = ofRule.slice(0, MAX_NAMED).map(({ address }) => address);
    const more = ofRule.length - addresses.length;
    return `${rule} (${addresses.join(', ')}${more > 0 ? ` and ${more} more` : ''})`;
  });
  return `denied by ${parts.join(', ')}`;
}
