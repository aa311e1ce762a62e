import type { Action } from '../engine/plan/plan-actions.ts';
import { isNotApplied, type PlanDocument, type PlannedResource } from '../engine/plan/plan-document.ts';
import { plural } from './plural.ts';

/** How an action is called and drawn, the same in every rendering. */
interface WordsOfAction {
  /** As Terraform draws it, where Terraform has such an action. */
  readonly symbol: string;
  readonly heading: string;
  /** What the heading leaves open, where the reasons of its resources do not say it. */
  readonly explanation?: string;
  /** In `Plan: 1 to create.` */
  readonly count: string;
  /** In `Applied: 1 created.` */
  readonly done: string;
}

export const actionWords: Readonly<Record<Action, WordsOfAction>> = {
  create: { symbol: '+', heading: 'Create', count: 'to create', done: 'created' },
  adopt: { symbol: '=', heading: 'Adopt', count: 'to adopt', done: 'adopted' },
  update: { symbol: '~', heading: 'Update', count: 'to update', done: 'updated' },
  replace: { symbol: '-/+', heading: 'Replace', count: 'to replace', done: 'replaced' },
  forget: {
    symbol: '.',
    heading: 'Forget',
    explanation: 'no longer declared; existing records stay as orphans',
    count: 'to forget',
    done: 'forgotten',
  },
  manual: {
    symbol: '!',
    heading: 'Manual',
    explanation: 'the API cannot do these; do them in the dashboard',
    count: 'manual',
    done: 'manual',
  },
  blocked: {
    symbol: 'x',
    heading: 'Blocked',
    explanation: 'left unchanged until you decide',
    count: 'blocked',
    done: 'blocked',
  },
  unknown: { symbol: '?', heading: 'Unknown', count: 'unknown', done: 'unknown' },
  noop: { symbol: ' ', heading: 'Unchanged', count: 'unchanged', done: 'unchanged' },
};

/** What an apply does, in the order in which it is shown. */
export const appliedActions = ['create', 'adopt', 'update', 'replace', 'forget'] as const satisfies Action[];
/** What an apply leaves to a person. */
export const pendingActions = ['manual', 'blocked', 'unknown'] as const satisfies Action[];
/** The order of the groups. */
export const shownActions: readonly Action[] = [...appliedActions, ...pendingActions];

/** The resources of each action, in the plan's order. */
export function byAction(
  resources: readonly PlannedResource[],
): (action: Action) => readonly PlannedResource[] {
  const groups = Map.groupBy(resources, (resource) => resource.action);
  return (action) => groups.get(action) ?? [];
}

/** `1 to create, 2 to update`; empty where there is nothing of these actions. */
export function counts(summary: PlanDocument['summary'], actions: readonly Action[]): string {
  return actions
    .filter((action) => summary[action] > 0)
    .map((action) => `${summary[action]} ${actionWords[action].count}`)
    .join(', ');
}

const wordsByName: Readonly<Record<string, WordsOfAction | undefined>> = actionWords;

/** `2 to create, 1 not applied`: of actions and statuses, without what is in sync. */
export function countWords(found: Readonly<Record<string, number>>): string[] {
  return Object.entries(found)
    .filter(([name, count]) => count > 0 && name !== 'in_sync' && name !== 'noop')
    .map(([name, count]) => `${count} ${wordsByName[name]?.count ?? name.replaceAll('_', ' ')}`);
}

/** `2 created, 1 closed`: of what was done, also where no plan has such an action. */
export function doneWords(done: Readonly<Record<string, number>>): string[] {
  const past = (action: string) => `${action}${action.endsWith('e') ? 'd' : 'ed'}`;
  return Object.entries(done).map(
    ([action, count]) => `${count} ${wordsByName[action]?.done ?? past(action)}`,
  );
}

/** The closing sentences of a plan, e.g. `Plan: 1 to create, 2 to update.` and `3 manual, 41 unchanged.` */
export function planSummary(plan: PlanDocument): string[] {
  const { summary, resources } = plan;
  const applied = counts(summary, ['create', 'update', 'replace', 'adopt', 'forget']);
  const kept = notAppliedIn(resources);
  const noop = summary.noop - kept;
  const rest = [
    counts(summary, pendingActions),
    ...(kept === 0 ? [] : [`${kept} not applied by the platform`]),
    counts({ ...summary, noop }, ['noop']),
  ]
    .filter((part) => part !== '')
    .join(', ');
  if (applied !== '') return [`Plan: ${applied}.`, ...(rest === '' ? [] : [`${rest}.`])];
  if (counts(summary, pendingActions) !== '') return ['No changes to apply.', `${rest}.`];
  if (summary.noop === 0) return ['No changes.', 'No resources are declared.'];
  const unverified = resources.reduce((sum, { unverified = [] }) => sum + unverified.length, 0);
  const inSync = noop === 1 ? '1 resource is in sync' : `${noop} resources are in sync`;
  return [
    'No changes.',
    ...(kept === 0 ? [] : [`${kept} not applied by the platform.`]),
    ...(noop === 0
      ? []
      : [`${inSync}${unverified === 0 ? '' : ` (${plural(unverified, 'field')} unverified)`}.`]),
  ];
}

/** Of the resources with nothing to do, those in which the platform kept its own value of something. */
export function notAppliedIn(resources: readonly PlannedResource[]): number {
  return resources.filter((each) => each.action === 'noop' && isNotApplied(each)).length;
}
