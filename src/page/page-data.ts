import type { PlanDocument, PlannedChange } from '../engine/plan/plan-document.ts';
import type { Comparison } from '../fleet/rows/comparison-rows.ts';
import type { Freeze, ListedFreeze } from '../fleet/rows/freeze-rows.ts';
import type { WorkspaceFilter } from '../fleet/rows/page-rows.ts';
import type { ListedPull, PullRow, PullsProblem, ShownPullPlan } from '../fleet/rows/pull-rows.ts';
import type { SearchHit } from '../fleet/rows/search-rows.ts';
import type { AppliedRow } from '../operator/plan-after.ts';
import type { ShownWorkspace } from '../operator/shown-workspace.ts';
import type { Need, WorkspaceStatus } from '../operator/workspace-status.ts';
import { shellWord } from '../problems/shell-word.ts';
import { commandFor, type WorkspaceSelection } from '../problems/workspace-command.ts';
import type { SyncStatus } from '../runs/sync-status.ts';
import type { Orphan } from '../state/state-document.ts';
import type { Json } from '../values/json.ts';

export interface WorkspaceRow {
  /** Unique. The path of the workspace page ends with the address. */
  readonly address: string;
  readonly status: WorkspaceStatus;
  /** The time when the workspace entered this status. */
  readonly since: Date | undefined;
  /** The time of the last read of the platform. */
  readonly checkedAt: Date | undefined;
  /** True if the last read is too long ago, regardless of the status. */
  readonly isOld: boolean;
  /** Describes the problem that needs attention; empty if there is none. */
  readonly summary: string;
  readonly source: string;
  readonly mode: string;
}

export const listOrders = ['status', 'address', 'since', 'due'] as const;

export interface ListQuery extends WorkspaceFilter {
  /** Selects workspaces whose address, or a word in it, starts with this string. */
  readonly q: string | undefined;
  readonly sort: (typeof listOrders)[number];
  /** The number of the page, starting at 1. */
  readonly page: number;
}

/** Selects the listed resources of a workspace. */
export interface ResourceQuery {
  /** Words that must occur in the address, the id, the status or the details. */
  readonly q: string | undefined;
  readonly kind: string | undefined;
  readonly status: string | undefined;
  /** The number of the page, starting at 1. */
  readonly page: number;
}

export const ROWS_PER_PAGE = 50;
export const ORPHAN_NOT_FOUND = 'This orphan is no longer listed.';
export const RUN_NOT_FOUND = 'There is no such run. Only the latest runs are kept.';
export const NO_SUCH_PAGE = 'There is no such page.';

export const RESOURCES_UNKNOWN = 'The resources are unknown until a run has read the platform.';

/** Explains how to close an orphan in a state that the page cannot change. @param id the id of the orphan. */
export function closeElsewhereHint(location: string, id: string, selection: WorkspaceSelection): string {
  const command = commandFor(`voxform orphans close ${shellWord(id)} --because deleted`, selection);
  return `The page cannot change the state ${location}. Close the orphan with: ${command}`;
}

/** The minimum number of characters in a search. */
export const MIN_SEARCH_LENGTH = 2;

export interface SearchResult {
  readonly hits: readonly SearchHit[];
  /** True if there may be more matches. */
  readonly isTruncated: boolean;
}

export interface WorkspaceList {
  /** The rows of the requested page. */
  readonly rows: readonly WorkspaceRow[];
  /** The number of matches on all pages. Counting stops above `MAX_COUNTED`. */
  readonly found: number;
  readonly total: number;
  readonly sources: readonly string[];
}

/** A named fact. Times are shown with their age, and URLs as links. */
export type Fact = readonly [name: string, value: string | Date | URL];

export interface AttentionList {
  /** The filter that selects all workspaces with this reason. */
  readonly filter:
    | { readonly status: WorkspaceStatus; readonly needs?: undefined }
    | { readonly needs: Need; readonly status?: undefined };
  /** The first workspaces. Workspaces with a more urgent reason are omitted. */
  readonly rows: readonly WorkspaceRow[];
  readonly found: number;
  readonly isTruncated: boolean;
}

export interface Overview {
  /** The number of workspaces by status. A missing status means zero. */
  readonly counts: ReadonlyMap<WorkspaceStatus, number>;
  /** The workspaces that need attention, most urgent reason first. */
  readonly attention: readonly AttentionList[];
  /** The stale workspaces with the oldest checks, up to a limit. */
  readonly stale: readonly AttentionList[];
  /** Projects whose workspaces cannot be determined, and the reasons. */
  readonly broken: readonly { readonly project: string; readonly problem: string }[];
  /** Figures of the last day; empty outside of a fleet. */
  readonly trends: readonly Trend[];
  /** The latest freezes of the fleet, newest first. */
  readonly freezes: readonly ListedFreeze[];
  readonly facts: readonly Fact[];
}

/** `runs`: finished runs. `failed`: failed runs. `drifted`: runs that found drift. */
export const trendNames = ['runs', 'failed', 'drifted'] as const;

/** The number of runs in each hour, the current hour last. */
export interface Trend {
  readonly name: (typeof trendNames)[number];
  readonly counts: readonly number[];
}

/** A resource after the last run. */
export interface ResourceRow {
  readonly address: string;
  readonly id: string | null;
  /** `recorded` means that the state contains the resource, but its plan is no longer stored. */
  readonly status: SyncStatus | 'failed' | 'skipped' | 'recorded';
  /** Describes the problem that needs attention; empty if there is none. */
  readonly detail: string;
}

export interface ListedRun {
  /** Unique in the workspace. */
  readonly id: string;
  readonly began: Date;
  /** The duration; undefined while the run is in progress, or if its end was never reported. */
  readonly seconds: number | undefined;
  readonly result: string;
  readonly command: string;
  readonly user: string | undefined;
  readonly askedBy: string | undefined;
  readonly summary: string;
  /** The id of the saved plan that the run made or applied, or that a person approved or rejected. */
  readonly plan?: string | undefined;
}

export interface RunDetail extends ListedRun {
  /** The outcome of `plan`; `gone` if the plan is no longer stored. */
  readonly planState?: string | undefined;
  readonly facts: readonly Fact[];
  readonly problems: readonly string[];
  readonly resources: readonly AppliedRow[];
  /** The number of resources that are not listed. */
  readonly more: number;
}

export interface ShownProblem {
  readonly heading: string;
  readonly lines: readonly string[];
}

/** A value, or an explanation if there is none. */
export type FieldSide = { readonly value: Json } | { readonly words: string };

export interface ComparedField {
  readonly path: string;
  readonly declared: FieldSide;
  /** The value on the platform; undefined if equal to the declared value. */
  readonly live: FieldSide | undefined;
  /** The side that changed since the last apply; undefined for a field in sync. */
  readonly changedBy: PlannedChange['cause'] | undefined;
  /** The last applied value, if both sides changed. */
  readonly lastApplied: FieldSide | undefined;
  readonly notes: readonly string[];
}

/** The data that only the page of a resource shows. */
export interface ResourceDetail {
  readonly fields: readonly ComparedField[];
  /** False if only the fields that differ are known. */
  readonly isComplete: boolean;
  /** The runs that changed the resource, newest first. Each result and summary describes only this resource. */
  readonly runs: readonly ListedRun[];
}

export interface WorkspaceDetail extends WorkspaceRow {
  /** The stored data. `facts` contains a part of the data, formatted for the page. */
  readonly shown: Omit<ShownWorkspace, 'last'>;
  readonly facts: readonly Fact[];
  readonly running: boolean;
  readonly nextRun: Date | undefined;
  readonly problems: readonly ShownProblem[];
  readonly held: string | undefined;
  readonly resources: readonly ResourceRow[];
  /** The actions that remained after the last run, as of `checkedAt`; undefined if the platform was never read. */
  readonly remaining: PlanDocument | undefined;
  /** The pending, approved or most recently rejected plan. */
  readonly saved: SavedPlan | undefined;
  /** The command-line options that select this workspace, such as `-w staging`. */
  readonly selection: WorkspaceSelection;
  readonly orphans: readonly Orphan[];
  /** URL templates of the dashboard by kind. */
  readonly dashboard: PlanDocument['dashboard'];
  /** The URL template of a manifest on the host of its repository, with `{file}` and `{line}`. */
  readonly files?: string | undefined;
  /** The requested resource, if it exists. */
  readonly resource?: ResourceDetail | undefined;
  /** The location of the state, if the page cannot read or change the state. All other data is then from the last run. */
  readonly externalLocation?: string | undefined;
  /** True if no run has reported the resources yet. */
  readonly isUnread?: boolean;
  /** The latest runs, newest first. */
  readonly runs: readonly ListedRun[];
  /** The reason why history and orphans are not available; undefined if they are. */
  readonly stateProblem: string | undefined;
  /** The requested call comparisons by resource address. */
  readonly impacts?: ReadonlyMap<string, ShownComparison>;
  readonly actions: readonly ActionName[];
}

interface SavedPlan {
  readonly id: string;
  readonly madeAt: Date;
  readonly plan: PlanDocument;
}

export type ShownComparison = Pick<Comparison, 'askedAt' | 'askedBy' | 'html' | 'problem'>;

export const actionNames = ['run', 'approve', 'reject', 'pause', 'resume', 'close-orphan', 'compare-calls'] as const;

export type ActionName = (typeof actionNames)[number];

/** Actions on the whole fleet. */
export const freezeActions = ['freeze', 'unfreeze'] as const;

export type FreezeAction = (typeof freezeActions)[number];

/** The error messages for actions that are not possible in the current status of the fleet. */
export const freezeConflicts: Readonly<Record<FreezeAction, string>> = {
  freeze: 'The fleet is already frozen.',
  unfreeze: 'The fleet is not frozen.',
};

export interface ActionRequest {
  readonly action: ActionName;
  readonly address: string;
  /** The id of the plan or of the orphan, or the address of the resource. */
  readonly subject: string | undefined;
  /** The reason: one of `closingReasons` for a closed orphan, otherwise free text. */
  readonly reason: string | undefined;
  readonly by: string;
}

/** The contents and actions of the page. */
export interface PageSource {
  /** The title in the header of every page. */
  readonly title: string;
  /** Returns the address of the workspace, if there is only one and its name is known. */
  only(): string | undefined;
  overview(): Promise<Overview>;
  workspaces(query: ListQuery): Promise<WorkspaceList>;
  /** Returns a workspace; undefined if it does not exist. @param resource the address of a resource to include in full. */
  workspace(address: string, resource?: string): Promise<WorkspaceDetail | undefined>;
  run(address: string, id: string): Promise<RunDetail | undefined>;
  /** Returns a string that changes with the pages of the workspace; of all workspaces if undefined. It is polled, so it must be cheap. */
  version(address: string | undefined): Promise<string>;
  /** Finds workspaces and resources by the start of a name, an id or a phone number. Absent if there is only one workspace. */
  search?(text: string): Promise<SearchResult>;
  /** @throws UserError if the action is not possible, or no longer possible. */
  act(request: ActionRequest): Promise<void>;
  /** Absent if no source has pull requests. */
  readonly pulls?: PullPages | undefined;
  /** Absent outside of a fleet. */
  readonly freezing?: Freezing | undefined;
}

/** Freezes a fleet, which stops all writes, and resumes it. */
export interface Freezing {
  current(): Promise<Freeze | undefined>;
  /** @throws UserError if the fleet is already frozen, or is not frozen. */
  act(action: FreezeAction, decision: Pick<Freeze, 'by' | 'because'>): Promise<void>;
}

export interface PullPages {
  /** Returns the open pull requests, then the latest merged and closed ones, and the problems of sources. */
  list(): Promise<{ readonly pulls: readonly ListedPull[]; readonly problems: readonly PullsProblem[] }>;
  one(
    source: string,
    number: number,
  ): Promise<{ readonly pull: PullRow; readonly plans: readonly ShownPullPlan[] } | undefined>;
}
