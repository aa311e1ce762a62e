import type { PlanDocument } from '../engine/plan/plan-document.ts';
import type { AppliedRow } from '../operator/plan-after.ts';
import { shellWord } from '../problems/shell-word.ts';
import { commandFor, type Reach } from '../problems/workspace-command.ts';
import type { SyncStatus } from '../runs/sync-status.ts';
import type { Orphan } from '../state/state-document.ts';

/** How a workspace stands. Only the first needs nobody. */
export const standings = [
  'in-sync',
  'waiting',
  'failed',
  'invalid',
  'drifted',
  'pending',
  'stale',
  'paused',
  'vanished',
  'never-run',
] as const;

export type Standing = (typeof standings)[number];

/** Without one of these nothing is shown as current that is older. */
export const STALE_AFTER_INTERVALS = 3;

export interface WorkspaceRow {
  /** Unique, the last part of its path on the page. */
  readonly address: string;
  readonly standing: Standing;
  /** Since when it stands so. */
  readonly since: Date | undefined;
  /** When the platform was read last. */
  readonly checkedAt: Date | undefined;
  /** True where that is too long ago to be believed, however the workspace stands. */
  readonly isOld: boolean;
  /** A clause: what needs somebody; empty where nothing does. */
  readonly summary: string;
  readonly source: string;
  readonly mode: string;
}

/** What a person must see to: records that may exist twice or be lost, refused plans, and orphans and steps where nothing else is wrong. */
export const needs = ['records', 'refused', 'steps'] as const;

export type Need = (typeof needs)[number];

export const listOrders = ['standing', 'address', 'since', 'checked'] as const;

export interface ListQuery {
  readonly status: Standing | undefined;
  readonly needs: Need | undefined;
  readonly source: string | undefined;
  /** Of one of its resources, as `team=sales`. */
  readonly label: string | undefined;
  /** Part of the address. */
  readonly q: string | undefined;
  readonly sort: (typeof listOrders)[number];
  /** From 1. */
  readonly page: number;
}

/** Which resources of a workspace are listed. */
export interface ResourceQuery {
  /** Words, all of which the address, the id or the detail contains. */
  readonly q: string | undefined;
  readonly status: string | undefined;
  /** From 1. */
  readonly page: number;
}

export const ROWS_PER_PAGE = 50;
export const ORPHAN_GONE = 'This orphan is not on the list any more.';

export const UNREAD = 'The resources are not known until a run has read the platform.';

/** @param id of the orphan. */
export function closingOutside(location: string, id: string, reach: Reach): string {
  const command = commandFor(`voxform orphans close ${shellWord(id)} --because deleted`, reach);
  return `The state is ${location}, outside the database of the fleet. Close with: ${command}`;
}

export interface WorkspaceList {
  /** Those of the page asked for, at most `ROWS_PER_PAGE`. */
  readonly rows: readonly WorkspaceRow[];
  /** That the query fits, on all pages. */
  readonly found: number;
  readonly total: number;
  readonly sources: readonly string[];
}

/** A fact with its name; a moment is shown with its age, an address as a link. */
export type Fact = readonly [name: string, value: string | Date | URL];

/** Workspaces that need a person for one reason. */
export interface Attention {
  /** What the list is filtered by to find them all. */
  readonly by:
    | { readonly status: Standing; readonly needs?: undefined }
    | { readonly needs: Need; readonly status?: undefined };
  /** Without those of a more urgent reason, cut. */
  readonly rows: readonly WorkspaceRow[];
  readonly found: number;
  readonly isCut: boolean;
}

export interface Overview {
  /** Of all workspaces; those that are absent are none. */
  readonly counts: ReadonlyMap<Standing, number>;
  /** The most urgent reason first. */
  readonly attention: readonly Attention[];
  /** The longest unchecked first, cut. */
  readonly stale: readonly Attention[];
  /** Projects whose workspaces are not known, and why. */
  readonly broken: readonly { readonly project: string; readonly problem: string }[];
  readonly facts: readonly Fact[];
}

/** A resource as the last run left it. */
export interface ResourceRow {
  readonly address: string;
  readonly id: string | null;
  /** `recorded`: managed, and the plan that told more is not kept. */
  readonly status: SyncStatus | 'failed' | 'skipped' | 'recorded';
  /** A clause; empty where all is well. */
  readonly detail: string;
}

export interface ListedRun {
  /** Unique in its workspace. */
  readonly id: string;
  readonly began: Date;
  /** Undefined while it runs, and where it never said that it ended. */
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
  /** What became of `plan`; `gone` where it is no longer kept. */
  readonly planState?: string | undefined;
  readonly facts: readonly Fact[];
  readonly problems: readonly string[];
  readonly resources: readonly AppliedRow[];
  /** That are not listed. */
  readonly more: number;
}

/** What is wrong, with its lines. */
export interface ShownProblem {
  readonly heading: string;
  readonly lines: readonly string[];
}

export interface WorkspaceDetail extends WorkspaceRow {
  readonly facts: readonly Fact[];
  readonly running: boolean;
  readonly nextRun: Date | undefined;
  readonly problems: readonly ShownProblem[];
  /** Why changes are not applied. */
  readonly held: string | undefined;
  readonly resources: readonly ResourceRow[];
  /** What the last run found left to do, as of `checkedAt`; undefined where the platform was not read yet. */
  readonly left: PlanDocument | undefined;
  /** The saved plan: it waits, is approved, or was rejected and no other took its place. It shows what was true when it was made. */
  readonly saved: SavedPlan | undefined;
  /** What commands add to select this workspace, e.g. ` -w staging`. */
  readonly reach: Reach;
  /** Open ones. */
  readonly orphans: readonly Orphan[];
  /** Addresses of records in the dashboard, by kind. */
  readonly dashboard: PlanDocument['dashboard'];
  /** Where the state lies, as messages call it, if that cannot be read or changed from the page: the rest is what the last run told. */
  readonly outside?: string | undefined;
  /** True where no run has told yet which resources there are. */
  readonly isUnread?: boolean;
  /** The newest first, cut. */
  readonly runs: readonly ListedRun[];
  /** Why the history and the orphans are not there. */
  readonly stateProblem: string | undefined;
  /** By resource: the calls of its versions, where somebody asked for them. */
  readonly impacts?: ReadonlyMap<string, ShownImpact>;
  /** What can be done with it now. */
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

export const actionNames = [
  'run',
  'approve',
  'reject',
  'pause',
  'resume',
  'close-orphan',
  'compare-calls',
] as const;

export type ActionName = (typeof actionNames)[number];

export interface ActionRequest {
  readonly action: ActionName;
  readonly address: string;
  /** The plan, the id of the orphan, or the address of the resource that the person was shown. */
  readonly of: string | undefined;
  /** Why: of a closed orphan one of the state's reasons, of a pause a person's own words. */
  readonly because: string | undefined;
  /** The person. */
  readonly by: string;
}

/** What the page shows, and what can be done on it. */
export interface PageSource {
  /** Its name, at the top of every page. */
  readonly title: string;
  /** The one workspace, where there is only one and its name is known. */
  only(): string | undefined;
  overview(): Promise<Overview>;
  workspaces(query: ListQuery): Promise<WorkspaceList>;
  workspace(address: string): Promise<WorkspaceDetail | undefined>;
  run(address: string, id: string): Promise<RunDetail | undefined>;
  /** Changes whenever a page of this workspace, or without an address any page, would show something else. Cheap. */
  version(address: string | undefined): Promise<string>;
  /** @throws UserError where it cannot be done, or no longer. */
  act(request: ActionRequest): Promise<void>;
}
