import type { PlannedResource } from '../engine/plan/plan-document.ts';
import type { NextStep } from '../problems/next-step.ts';
import { appliedActions } from './action-words.ts';
import { named } from './named.ts';
import { stepText, type WorkspaceFlag } from './next-steps.ts';
import { plural } from './plural.ts';

/** A manual step that many resources of a kind need. */
export interface SharedStep {
  /** Without the resources, e.g. `Publish 300 agents in the dashboard:` */
  readonly text: string;
  readonly resources: readonly PlannedResource[];
}

/** So many must need a step before it is said once. */
const FEWEST = 8;
/** So many addresses are named before the rest is counted. */
const MOST_NAMED = 3;

interface Formats {
  text?(text: string): string;
  code?(address: string): string;
}

/** `Publish 300 agents in the dashboard: Agent/a, Agent/b, Agent/c and 297 more (--full lists them)` */
export function sharedStepText(
  { text, resources }: SharedStep,
  { text: formatted = String, code = String }: Formats = {},
): string {
  const names = resources.map(({ address }) => code(address));
  return `${formatted(text)} ${named(names, false, { most: MOST_NAMED })}`;
}

/** The steps that many of the resources need, and the resources without them. Where a person must decide, steps stay with their resource. */
export function sharedSteps(
  resources: readonly PlannedResource[],
  { full, workspaceFlag }: { readonly full: boolean; readonly workspaceFlag: WorkspaceFlag },
): { readonly shared: readonly SharedStep[]; readonly resources: readonly PlannedResource[] } {
  if (full) return { shared: [], resources };
  // Whether it is the first time that a record is published makes no other step of it.
  const keyOf = ({ kind }: PlannedResource, step: NextStep) =>
    `${kind} ${step.action === 'publish' ? step.action : stepText(step, workspaceFlag)}`;
  const held = resources
    .filter(isApplied)
    .flatMap((resource) => (resource.steps ?? []).map((step) => ({ resource, step })));
  const many = [...Map.groupBy(held, ({ resource, step }) => keyOf(resource, step))].filter(
    ([, holders]) => holders.length >= FEWEST,
  );
  const taken = new Set(many.map(([key]) => key));
  return {
    shared: many.map(([, holders]) => ({
      text: textOf(
        holders.map(({ resource }) => resource),
        holders[0]?.step,
        workspaceFlag,
      ),
      resources: holders.map(({ resource }) => resource),
    })),
    resources: resources.map((resource) => {
      const { steps = [], ...rest } = resource;
      const left = steps.filter((step) => !isApplied(resource) || !taken.has(keyOf(resource, step)));
      if (left.length === steps.length) return resource;
      return left.length === 0 ? rest : { ...rest, steps: left };
    }),
  };
}

function textOf(
  resources: readonly PlannedResource[],
  step: NextStep | undefined,
  flag: WorkspaceFlag,
): string {
  const who = plural(resources.length, nounOf(resources[0]?.kind ?? ''));
  if (step === undefined) return who;
  return step.action === 'publish' ? `Publish ${who} in the dashboard:` : `${who}: ${stepText(step, flag)}`;
}

/** `PhoneNumber` as `phone number`. */
function nounOf(kind: string): string {
  return kind.replace(/\B[A-Z]/g, ' $&').toLowerCase();
}

function isApplied({ action }: PlannedResource): boolean {
  return appliedActions.some((each) => each === action);
}
