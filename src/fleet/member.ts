import type { LocalPaths } from '../project/local-paths.ts';
import type { ProjectOrigin } from '../runs/drift-request/request-place.ts';

/** `report` tells, `apply` applies, `approve` applies what a person approved. */
export const fleetModes = ['report', 'apply', 'approve'] as const;

export type FleetMode = (typeof fleetModes)[number];

/** A project as it was at one time. */
export interface ProjectVersion {
  /** Equal as long as no file of the project differs: the id of its tree in Git, a digest of its files in a folder. */
  readonly version: string;
  /** Commit that the version was found in; undefined in a folder. */
  readonly commit: string | undefined;
}

export interface FleetMember extends ProjectVersion {
  /** `SOURCE/PROJECT:WORKSPACE`, and `SOURCE:WORKSPACE` for the project at the root of a source. */
  readonly address: string;
  /** Name in the fleet file. */
  readonly source: string;
  /** Folder in the source, with slashes; `.` for its root. */
  readonly project: string;
  readonly workspace: string;
  /** As far as the environment of this process sets them. */
  readonly workspaceId: string | undefined;
  readonly baseUrl: string | undefined;
  readonly mode: FleetMode;
  /** Milliseconds between runs. */
  readonly interval: number;
  /** Why it must not run. */
  readonly refused?: string | undefined;
}

/** A project that was found in a source. */
export interface DiscoveredProject extends ProjectVersion {
  readonly project: string;
  /**
   * Why its workspaces are not known. Those that were known before stay, and get the version too: their runs tell what is wrong, and
   * use the last good manifests.
   */
  readonly problem: string | undefined;
  /** True for a folder that could not be searched: projects in it stay as they were. */
  readonly isUnknown?: boolean | undefined;
  /** Empty where there is a problem. */
  readonly members: readonly FleetMember[];
}

/** All of a source at its newest version: what is not here has vanished from it. */
export interface SourceContents {
  readonly source: string;
  /** Undefined for a folder. */
  readonly commit: string | undefined;
  readonly projects: readonly DiscoveredProject[];
  /** Such as a pattern that matches nothing. */
  readonly warnings: readonly string[];
}

/** A project whose workspaces are not known, and why. */
export interface BrokenProject {
  /** `SOURCE/PROJECT`. */
  readonly project: string;
  readonly problem: string;
}

/** The files of a version, which nobody writes to again. */
export interface ProjectCheckout extends ProjectVersion {
  /** Absolute path of the project folder. */
  readonly folder: string;
}

export interface ProjectWanted extends ProjectVersion {
  readonly source: string;
  readonly project: string;
}

/** The sources of a fleet as one process holds them: each repository once, whatever it has of workspaces. */
export interface Sources {
  /** In the order of the fleet file. */
  readonly all: readonly {
    readonly name: string;
    /** Without a secret: `main of https://…`, or a folder. */
    readonly shown: string;
    /** All that decides what projects it has, for people to read: two fleets may give one name to different sources. */
    readonly identity: string;
    /** Milliseconds between two looks for a newer version. */
    readonly interval: number;
  }[];
  /**
   * Looks for the newest version.
   * @throws UserError where it cannot be reached, which changes nothing of what is known of it.
   */
  discover(source: string, signal: AbortSignal): Promise<SourceContents>;
  /**
   * The files of a version. The source is asked only for what this process lacks; where the version cannot be had any more, the
   * newest that can.
   * @throws UserError where there is none.
   */
  checkout(wanted: ProjectWanted, signal: AbortSignal): Promise<ProjectCheckout>;
  /** Where the state, secrets and rescue files of a project may lie. */
  local(source: string, project: string): LocalPaths;
  /** Where a project lies in its repository. */
  origin(source: string, project: string): ProjectOrigin;
  /** Removes the files of all versions but these, which are those that rows of the source name. */
  keep(source: string, versions: ReadonlySet<string>): Promise<void>;
}
