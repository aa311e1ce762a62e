import type { Mode } from '../operator/workspace-status.ts';
import type { LocalPaths } from '../project/local-paths.ts';
import type { ProjectOrigin } from '../runs/drift-request/request-target.ts';

/** A project at a point in time. */
export interface ProjectVersion {
  /** Equal as long as no file of the project changes: the id of its Git tree, or a digest of its files in a folder. */
  readonly version: string;
  /** The commit of the version; undefined in a folder. */
  readonly commit: string | undefined;
}

export interface FleetMember extends ProjectVersion {
  /** `SOURCE/PROJECT:WORKSPACE`, and `SOURCE:WORKSPACE` for the project at the root of a source. */
  readonly address: string;
  /** The name in the fleet file. */
  readonly source: string;
  /** The folder in the source, with slashes; `.` for its root. */
  readonly project: string;
  readonly workspace: string;
  /** Set only if the environment of this process contains it. */
  readonly workspaceId: string | undefined;
  /** Normalized; undefined if the process that fetched the source lacks the variable. */
  readonly baseUrl: string | undefined;
  readonly mode: Mode;
  /** Milliseconds between runs. */
  readonly interval: number;
  /** The reason why it must not run. */
  readonly refused?: string | undefined;
}

/** A folder with a project file, at some version of its source. */
export interface FoundProject extends ProjectVersion {
  /** With slashes; `.` for the root. */
  readonly project: string;
  readonly file: string;
  /** Why it cannot be used. */
  readonly problem: string | undefined;
  /** True for a folder that may contain projects but is too large to be searched. */
  readonly isUnknown?: boolean | undefined;
}

export interface FoundProjects {
  readonly commit: string | undefined;
  readonly projects: readonly FoundProject[];
  /** The text of a valid project file. It is not kept, because a source may have thousands. */
  text(project: FoundProject): Promise<string>;
  /** Called when no more texts are read. */
  close(): Promise<void>;
}

export interface DiscoveredProject extends ProjectVersion {
  readonly project: string;
  /**
   * The reason why its workspaces are unknown. Known ones remain and get the version too: their runs report the problem and use the last
   * valid manifests.
   */
  readonly problem: string | undefined;
  /** True for a folder that could not be searched: its known projects remain. */
  readonly isUnknown?: boolean | undefined;
  /** Empty if there is a problem. */
  readonly members: readonly FleetMember[];
}

/** The contents of a source at its newest version. Everything else is removed from it. */
export interface SourceContents {
  readonly source: string;
  /** Undefined for a folder. */
  readonly commit: string | undefined;
  readonly projects: readonly DiscoveredProject[];
  /** Warnings such as a pattern without a match. */
  readonly warnings: readonly string[];
}

/** A project with unknown workspaces, and the reason. */
export interface BrokenProject {
  /** `SOURCE/PROJECT`. */
  readonly project: string;
  readonly problem: string;
}

/** The files of a version. Nobody changes them. */
export interface ProjectCheckout extends ProjectVersion {
  readonly folder: string;
}

export interface WantedProject extends ProjectVersion {
  readonly source: string;
  readonly project: string;
}

/** The sources of a fleet in one process. Each repository exists once, however many workspaces it has. */
export interface Sources {
  /** All sources in the order of the fleet file. */
  readonly all: readonly {
    readonly name: string;
    /** Name without secrets: `main of https://…`, or a folder. */
    readonly shown: string;
    /** Everything that determines its projects, as text: two fleets may use one name for different sources. */
    readonly identity: string;
    /** Milliseconds between two fetches. */
    readonly interval: number;
  }[];
  /**
   * Fetches the newest version.
   * @throws UserError if it cannot be reached; then nothing changes.
   */
  discover(source: string, signal: AbortSignal): Promise<SourceContents>;
  /** The projects of a repository at a commit; closed by the caller. @throws UserError if the source has no such commit. */
  at(source: string, commit: string, signal: AbortSignal): Promise<FoundProjects>;
  /**
   * The files of a version. Fetches only what this process lacks. If the version is gone, the newest available one.
   * @throws UserError if there is none.
   */
  checkout(wanted: WantedProject, signal: AbortSignal): Promise<ProjectCheckout>;
  /** The folders for state, secrets and rescue files of a project. */
  local(source: string, project: string): LocalPaths;
  /** The path of a project in its repository. */
  origin(source: string, project: string): ProjectOrigin;
  /** Removes the files of all other versions. Must be called with those that rows of the source name. */
  keep(source: string, versions: ReadonlySet<string>): Promise<void>;
}
