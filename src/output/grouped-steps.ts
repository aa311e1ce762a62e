import { recordUrl } from '../engine/plan/dashboard-links.ts';
import { writes } from '../engine/plan/plan-actions.ts';
import { isUnconfirmed, type PlanDocument, type PlannedResource } from '../engine/plan/plan-document.ts';
import { nounOf } from '../manifests/resource.ts';
import type { NextStep } from '../problems/next-step.ts';
import { UNCONFIRMED_CREATE_STEPS } from '../problems/unconfirmed-steps.ts';
import { commandFor, type WorkspaceSelection } from '../problems/workspace-command.ts';
import { addressList } from './address-list.ts';
import { isTask, stepText } from './next-steps.ts';
import { plural } from './plural.ts';

/** A manual step that many resources of a kind share. */
export interface SharedStep<O extends StepOwner = PlannedResource> {
  /** The step without the addresses, e.g. `Publish 300 agents in the dashboard`. */
  readonly text: string;
  readonly resources: readonly O[];
  /** The command that lists the resources after an apply, such as `status --only unpublished`. */
  readonly command: string;
  /** Present if the resources have different values. */
  readonly table?: StepTable;
  /** The URL of the list of these records in the dashboard. */
  readonly url?: string | undefined;
  /** The text after the addresses. */
  readonly after?: string;
}

interface StepTable {
  readonly titles: readonly string[];
  /** One row for each resource, with its address last. */
  readonly rows: readonly (readonly string[])[];
  /** The dashboard URLs in the order of the rows. Absent if no row has one. */
  readonly urls?: readonly string[];
}

/** Returns the table, with the links as its last column if there are any. */
export function withLinks<Cell>({ titles, rows, urls }: StepTable, link: (url: string) => Cell) {
  return {
    titles: urls === undefined ? titles : [...titles, 'Link'],
    rows: rows.map((cells, index) => [...cells, ...(urls === undefined ? [] : [link(urls[index] ?? '')])]),
  };
}

/** The minimum number of resources for a shared step. */
export const MIN_IN_TABLE = 8;
/** The maximum number of addresses to list. The others are only counted. */
export const MAX_NAMED = 3;

export interface Formats {
  text?(text: string): string;
  code?(address: string): string;
}

export interface SharedStepOptions extends Formats {
  /** Present after an apply, which cannot be repeated with --full. */
  readonly applied?: { readonly selection: WorkspaceSelection };
  link?(url: string | undefined): string;
}

/** Returns a string such as `Publish 300 agents in the dashboard: Agent/a, Agent/b, Agent/c and 297 more (--full lists them)`. */
export function sharedStepText(
  { text, resources, table, command, url, after }: SharedStep<StepOwner>,
  { text: formatted = String, code = String, applied, link = String }: SharedStepOptions = {},
): string {
  if (table !== undefined) return `${formatted(text)}:`;
  const names = resources.map(({ address }) => code(address));
  const end = text.endsWith('.') ? '' : ':';
  const lists = applied && { lists: commandFor(`voxform ${command}`, applied.selection) };
  const line = `${formatted(text)}${end} ${addressList(names, false, { max: MAX_NAMED, ...lists })}`;
  const linked = url === undefined ? line : `${line} ${link(url)}`.trimEnd();
  return after === undefined ? linked : `${linked}. ${formatted(after)}`;
}

export interface Steps {
  readonly shared: readonly SharedStep[];
  /** The resources without their shared steps. Resources that a shared step describes completely are omitted. */
  readonly resources: readonly PlannedResource[];
  /** Returns a resource without its shared steps, or undefined if it is omitted. */
  without(resource: PlannedResource): PlannedResource | undefined;
}

/** Collects the steps that many resources share. A step that needs a decision stays with its resource. */
export function sharedSteps(
  resources: readonly PlannedResource[],
  { full, ...options }: StepOptions & { readonly full: boolean },
): Steps {
  if (full) return { shared: [], resources, without: (resource) => resource };
  const ownedSteps = resources.flatMap((resource) =>
    (resource.steps ?? [])
      .filter((step) => isTask(step) && (writes.has(resource.action) || isFullyDescribed(resource)))
      .map((step) => ({ resource, step })),
  );
  const many = stepsOfMany(ownedSteps, options);
  const unconfirmed = unconfirmedOf(resources, options);
  const isUnconfirmedShared = new Set(unconfirmed.flatMap((each) => each.resources));
  const taken = Map.groupBy(
    many.flatMap(({ holders }) => holders),
    ({ resource }) => resource.address,
  );
  const without = (resource: PlannedResource): PlannedResource | undefined => {
    if (isUnconfirmedShared.has(resource)) return undefined;
    const { steps = [], ...rest } = resource;
    const own = taken.get(resource.address) ?? [];
    const remaining = steps.filter((step) => !own.some((each) => each.step === step));
    if (remaining.length === steps.length) return resource;
    if (remaining.length > 0) return { ...rest, steps: remaining };
    return writes.has(resource.action) ? rest : undefined;
  };
  return {
    shared: [...unconfirmed, ...many.map(({ shared }) => shared)],
    resources: resources.flatMap((resource) => without(resource) ?? []),
    without,
  };
}

export type StepOwner = Pick<PlannedResource, 'address' | 'kind' | 'url'>;

interface OwnedStep<O extends StepOwner> {
  readonly resource: O;
  readonly step: NextStep;
}

/** Returns a shared step for each kind with many unknown creates without candidates. */
function unconfirmedOf(resources: readonly PlannedResource[], { selection, dashboard }: StepOptions): SharedStep[] {
  const byKind = Map.groupBy(resources.filter(isUnconfirmed), ({ kind }) => kind);
  return [...byKind].flatMap(([kind, creates]): SharedStep[] =>
    creates.length < MIN_IN_TABLE
      ? []
      : [
          {
            text: `Look up ${plural(creates.length, nounOf(kind))} whose creates were not confirmed`,
            resources: creates,
            command: 'plan --full',
            url: recordUrl({ dashboard }, { kind, id: null }),
            after: UNCONFIRMED_CREATE_STEPS.map((step) => stepText(step, selection)).join('. '),
          },
        ],
  );
}

interface StepOptions extends Pick<PlanDocument, 'dashboard'> {
  readonly selection: WorkspaceSelection;
}

/** Returns the steps that many resources share, together with these resources. */
export function stepsOfMany<O extends StepOwner>(
  ownedSteps: readonly OwnedStep<O>[],
  { selection, dashboard }: StepOptions,
): { readonly holders: readonly OwnedStep<O>[]; readonly shared: SharedStep<O> }[] {
  // The first and later publications of records count as the same step, and so do different values of a field.
  const keyOf = ({ resource: { kind }, step }: OwnedStep<O>) =>
    `${kind} ${step.action === 'publish' ? step.action : isSetting(step) ? 'sets' : stepText(step, selection)}`;
  return [...Map.groupBy(ownedSteps, keyOf).values()].flatMap((holders) => {
    const owners = new Map(holders.map(({ resource }) => [resource.address, resource]));
    const [first] = holders;
    if (first === undefined || owners.size < MIN_IN_TABLE) return [];
    const { kind } = first.resource;
    const shared = {
      ...wordsOf(holders, plural(owners.size, nounOf(kind)), selection),
      resources: [...owners.values()],
      url: recordUrl({ dashboard }, { kind, id: null }),
    };
    return [{ holders, shared }];
  });
}

function wordsOf(
  holders: readonly OwnedStep<StepOwner>[],
  subject: string,
  selection: WorkspaceSelection,
): Pick<SharedStep, 'text' | 'command' | 'table'> {
  const [{ step } = {}] = holders;
  const command = 'plan --full';
  if (step === undefined) return { text: subject, command };
  if (isSetting(step)) return { text: `Change ${subject} in the dashboard`, command: 'plan', table: tableOf(holders) };
  if (step.action !== 'publish') return { text: `${subject}: ${stepText(step, selection)}`, command };
  const [meanwhile] = holders.flatMap(({ step: each }) => (each.action === 'publish' ? (each.meanwhile ?? []) : []));
  const text = `Publish ${subject} in the dashboard${meanwhile === undefined ? '' : ` (${meanwhile})`}`;
  return { text, command: 'status --only unpublished' };
}

/** Returns a table with a column for each field. The cell of an unchanged field is empty. */
function tableOf(holders: readonly OwnedStep<StepOwner>[]): StepTable {
  const settings = holders.flatMap(({ resource: { address, url = '' }, step }) =>
    isSetting(step) ? [{ address, url, ...step.sets }] : [],
  );
  const fields = [...new Set(settings.map(({ field }) => field))];
  const groups = [...Map.groupBy(settings, ({ address }) => address)];
  const urls = groups.map(([, [first]]) => first?.url ?? '');
  const rows = groups.map(([address, sets]) => {
    const cells = fields.map((field) => {
      const own = sets.find((each) => each.field === field);
      return own === undefined ? '' : (own.value ?? '(none)');
    });
    return [sets[0]?.record ?? '', ...cells, address];
  });
  const noun = nounOf(holders[0]?.resource.kind ?? '');
  const titles = [noun, ...fields, 'address'].map((title) => title.charAt(0).toUpperCase() + title.slice(1));
  return { titles, rows, ...(urls.some((url) => url !== '') && { urls }) };
}

type Setting = Extract<NextStep, { readonly action: 'dashboard' }> & {
  readonly sets: NonNullable<Extract<NextStep, { readonly action: 'dashboard' }>['sets']>;
};

function isSetting(step: NextStep): step is Setting {
  return step.action === 'dashboard' && step.sets !== undefined;
}

/** True if the steps describe the resource completely: all its changes are manual, or its id is wrong. */
function isFullyDescribed(resource: PlannedResource): boolean {
  const { action, changes, steps = [], notices = [], previous_address: was } = resource;
  if (notices.length > 0 || was !== undefined) return false;
  if (action === 'blocked') return steps.some((step) => step.action === 'correct_id');
  return (
    action === 'manual' &&
    steps.every(isSetting) &&
    changes.every((change) => change.manual && change.cause !== 'both' && change.referents === undefined)
  );
}
