import type { PlanDocument, PlannedChange } from '../engine/plan/plan-document.ts';
import type { Freeze, ListedFreeze } from '../fleet/rows/freeze-rows.ts';
import type { ListedPull, PullRow, PullsProblem, ShownPullPlan } from '../fleet/rows/pull-rows.ts';
import type { SearchHit } from '../fleet/rows/search-rows.ts';
import type { AppliedRow } from '../operator/plan-after.ts';
import type { ShownWorkspace } from '../operator/shown-workspace.ts';
import type { Need, WorkspaceStatus } from '../operator/workspace-status.ts';
import { shellWord } from '../problems/shell-word.ts';
import { commandFor, type Reach } from '../problems/workspace-command.ts';
import type { SyncStatus } from '../runs/sync-status.ts';
import type { Orphan } from '../state/state-document.ts';
import type { Json } from '../values/json.ts';

export interface WorkspaceRow {
  /** Unique; the last part of its path on the page. */
  readonly address: string;
  readonly status: WorkspaceStatus;
  /** Since when it has this status. */
  readonly since: Date | undefined;
  /** When the platform was last read. */
  readonly checkedAt: Date | undefined;
  /** True if that is too long ago, regardless of the status. */
  readonly isOld: boolean;
  /** A clause about what needs attention; empty if nothing does. */
  readonly summary: string;
  readonly source: string;
  readonly mode: string;
}

export const listOrders = ['status', 'address', 'since', 'due'] as const;

export interface ListQuery {
  readonly status: WorkspaceStatus | undefined;
  readonly needs: Need | undefined;
  readonly source: string | undefined;
  /** A label of one of its resources, as `team=sales`. */
  readonly label: string | undefined;
  /** The beginning of the address, or of a word of it. */
  readonly q: string | undefined;
  readonly sort: (typeof listOrders)[number];
  /** Only later addresses, in their order. */
  readonly after?: string | undefined;
  /** Starts at 1. */
  readonly page: number;
  /** The number of rows of a page. */
  readonly limit: number;
}

/** Selects the listed resources of a workspace. */
export interface ResourceQuery {
  /** Words that the address, the id or the detail contains. */
  readonly q: string | undefined;
  readonly kind: string | undefined;
  readonly status: string | undefined;
  /** Starts at 1. */
  readonly page: number;
}

export const ROWS_PER_PAGE = 50;
export const ORPHAN_GONE = 'This orphan is no longer on the list.';

export const UNREAD = 'The resources are not known until a run has read the platform.';

/** @param id of the orphan. */
export function closingOutside(location: string, id: string, reach: Reach): string {
  const command = commandFor(`voxform orphans close ${shellWord(id)} --because deleted`, reach);
  return `The page cannot change the state ${location}. Close with: ${command}`;
}

/** The minimum length of a text to search for. */
export const LEAST_SEARCHED = 2;

export interface SearchResult {
  readonly hits: readonly SearchHit[];
  /** True if there may be more. */
  readonly isCut: boolean;
}

export interface WorkspaceList {
  /** Those of the requested page. */
  readonly rows: readonly WorkspaceRow[];
  /** The number of matches on all pages. A number above `MOST_COUNTED` means that there are more. */
  readonly found: number;
  readonly total: number;
  readonly sources: readonly string[];
}

/** A named fact. A time is shown with its age, an address as a link. */
export type Fact = readonly [name: string, value: string | Date | URL];

/** Workspaces that need attention for one reason. */
export interface Attention {
  /** The filter that finds all of them. */
  readonly by:
    | { readonly status: WorkspaceStatus; readonly needs?: undefined }
    | { readonly needs: Need; readonly status?: undefined };
  /** Without those of a more urgent reason; shortened. */
  readonly rows: readonly WorkspaceRow[];
  readonly found: number;
  readonly isCut: boolean;
}

export interface Overview {
  /** Numbers of all workspaces; absent ones are zero. */
  readonly counts: ReadonlyMap<WorkspaceStatus, number>;
  /** Most urgent reason first. */
  readonly attention: readonly Attention[];
  /** Longest unchecked first; shortened. */
  readonly stale: readonly Attention[];
  /** Projects with unknown workspaces, and the reasons. */
  readonly broken: readonly { readonly project: string; readonly problem: string }[];
  /** Of the last day; none without a fleet. */
  readonly trends: readonly Trend[];
  /** Of the fleet, newest first; shortened. */
  readonly freezes: readonly ListedFreeze[];
  readonly facts: readonly Fact[];
}

/** Ended runs, failed ones, and those that found drift. */
export const trendNames = ['runs', 'failed', 'drifted'] as const;

/** Counts per hour, the current one last. */
export interface Trend {
  readonly name: (typeof trendNames)[number];
  readonly counts: readonly number[];
}

/** A resource after the last run. */
export interface ResourceRow {
  readonly address: string;
  readonly id: string | null;
  /** `recorded`: managed, but the plan with more details is not kept. */
  readonly status: SyncStatus | 'failed' | 'skipped' | 'recorded';
  /** A clause; empty if nothing needs attention. */
  readonly detail: string;
}

export interface ListedRun {
  /** Unique in its workspace. */
  readonly id: string;
  readonly began: Date;
  /** Undefined while it runs, and if its end was never reported. */
  readonly seconds: number | undefined;
  readonly result: string;
  readonly command: string;
  readonly who: string | undefined;
  readonly askedBy: string | undefined;
  readonly summary: string;
  /** The id of the saved plan that it made, decided or applied. */
  readonly plan?: string | undefined;
}

export interface RunDetail extends ListedRun {
  /** The outcome of `plan`; `gone` if it is no longer kept. */
  readonly planState?: string | undefined;
  readonly facts: readonly Fact[];
  readonly problems: readonly string[];
  readonly resources: readonly AppliedRow[];
  /** The number of those not listed. */
  readonly more: number;
}

/** Errors with their lines. */
export interface ShownProblem {
  readonly heading: string;
  readonly lines: readonly string[];
}

/** A value, or words in its place. */
export type FieldSide = { readonly value: Json } | { readonly words: string };

export interface ComparedField {
  readonly path: string;
  readonly declared: FieldSide;
  /** Undefined if it is equal. */
  readonly live: FieldSide | undefined;
  /** What changed since the last apply; undefined for a field in sync. */
  readonly moved: PlannedChange['cause'] | undefined;
  /** The value last applied, if both sides changed. */
  readonly applied: FieldSide | undefined;
  readonly notes: readonly string[];
}

/** What only the page of a resource shows. */
export interface ResourceParts {
  readonly fields: readonly ComparedField[];
  /** False if only fields that differ are known. */
  readonly isWhole: boolean;
  /** Runs that changed it, newest first. The result and the summary are those of the resource. */
  readonly runs: readonly ListedRun[];
}

export interface WorkspaceDetail extends WorkspaceRow {
  /** The facts as data. */
  readonly shown: Omit<ShownWorkspace, 'last'>;
  readonly facts: readonly Fact[];
  readonly running: boolean;
  readonly nextRun: Date | undefined;
  readonly problems: readonly ShownProblem[];
  readonly held: string | undefined;
  readonly resources: readonly ResourceRow[];
  /** The remaining actions of the last run, as of `checkedAt`; undefined if the platform was not read yet. */
  readonly left: PlanDocument | undefined;
  /** The waiting, approved or last rejected saved plan. It shows the time when it was made. */
  readonly saved: SavedPlan | undefined;
  /** The flags of commands that select this workspace, such as ` -w staging`. */
  readonly reach: Reach;
  readonly orphans: readonly Orphan[];
  /** Dashboard addresses of records by kind. */
  readonly dashboard: PlanDocument['dashboard'];
  /** The address of a manifest on the host of its repository, with `{file}` and `{line}`. */
  readonly files?: string | undefined;
  /** The requested resource, if the workspace has it. */
  readonly resource?: ResourceParts | undefined;
  /** The location of a state that the page cannot read or change: everything else is from the last run. */
  readonly outside?: string | undefined;
  /** True if no run has reported its resources yet. */
  readonly isUnread?: boolean;
  /** Newest first; shortened. */
  readonly runs: readonly ListedRun[];
  /** Why history and orphans are missing. */
  readonly stateProblem: string | undefined;
  /** By resource: requested comparisons of calls. */
  readonly impacts?: ReadonlyMap<string, ShownImpact>;
  readonly actions: readonly ActionName[];
}

interface SavedPlan {
  readonly id: string;
  readonly madeAt: Date;
  readonly plan: PlanDocument;
}

export interface ShownImpact {
  readonly askedAt: Date;
  readonly askedBy: string;
  /** Markup; undefined while calls are read. */
  readonly html: string | undefined;
  readonly problem: string | undefined;
}

export const actionNames = ['run', 'approve', 'reject', 'pause', 'resume', 'close-orphan', 'compare-calls'] as const;

export type ActionName = (typeof actionNames)[number];

/** Actions on the whole fleet. */
export const freezeActions = ['freeze', 'unfreeze'] as const;

export type FreezeAction = (typeof freezeActions)[number];

/** Why an action on the fleet is not possible. */
export const needless: Readonly<Record<FreezeAction, string>> = {
  freeze: 'The fleet is frozen already.',
  unfreeze: 'The fleet is not frozen.',
};

export interface ActionRequest {
  readonly action: ActionName;
  readonly address: string;
  /** The plan, the id of the orphan, or the address of the resource on the page. */
  readonly of: string | undefined;
  /** For a closed orphan, one of the state's reasons; for a pause, the person's text. */
  readonly because: string | undefined;
  readonly by: string;
}

/** The contents and actions of the page. */
export interface PageSource {
  /** The title of every page. */
  readonly title: string;
  /** The only workspace, if there is one and its name is known. */
  only(): string | undefined;
  overview(): Promise<Overview>;
  workspaces(query: ListQuery): Promise<WorkspaceList>;
  /** @param resource whose parts are wanted too. */
  workspace(address: string, resource?: string): Promise<WorkspaceDetail | undefined>;
  run(address: string, id: string): Promise<RunDetail | undefined>;
  /** Changes with the contents of any page of this workspace, or without an address, of any page. Cheap. */
  version(address: string | undefined): Promise<string>;
  /** Workspaces and resources by the beginning of a name, an id or a phone number; undefined if there is one workspace. */
  search?(text: string): Promise<SearchResult>;
  /** @throws UserError if it is not possible, or no longer. */
  act(request: ActionRequest): Promise<void>;
  /** Undefined if there are none. */
  readonly pulls?: PullPages | undefined;
  /** Undefined if there is no fleet. */
  readonly freezing?: Freezing | undefined;
}

/** Stops all writes of a fleet. */
export interface Freezing {
  current(): Promise<Freeze | undefined>;
  /** @throws UserError if it is frozen already, or not frozen. */
  act(action: FreezeAction, decision: Pick<Freeze, 'by' | 'because'>): Promise<void>;
}

/** The pull requests of a fleet. */
export interface PullPages {
  /** Open ones first, then the latest; and problems of sources. */
  list(): Promise<{ readonly pulls: readonly ListedPull[]; readonly problems: readonly PullsProblem[] }>;
  one(
    source: string,
    number: number,
  ): Promise<{ readonly pull: PullRow; readonly plans: readonly ShownPullPlan[] } | undefined>;
}
