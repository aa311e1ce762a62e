import type { Mode } from '../operator/workspace-status.ts';
import type { LocalPaths } from '../project/local-paths.ts';
import type { ProjectOrigin } from '../runs/drift-request/request-target.ts';

/** A project at a point in time. */
export interface ProjectVersion {
  /** Unchanged as long as no file of the project changes: the id of its Git tree or, in a folder, a digest of its files. */
  readonly version: string;
  /** The commit of the version; undefined for a source that is a folder. */
  readonly commit: string | undefined;
}

export interface FleetMember extends ProjectVersion {
  /** `SOURCE/PROJECT:WORKSPACE`, or `SOURCE:WORKSPACE` for the project at the root of a source. */
  readonly address: string;
  /** The name of the source in the fleet file. */
  readonly source: string;
  /** The project folder relative to the source, with slashes; `.` for the root. */
  readonly project: string;
  readonly workspace: string;
  /** The workspace id on the platform; undefined if this process does not have the environment variable that contains it. */
  readonly workspaceId: string | undefined;
  /** The normalized base URL; undefined if the process that fetched the source lacks the environment variable. */
  readonly baseUrl: string | undefined;
  readonly mode: Mode;
  /** Milliseconds between runs. */
  readonly interval: number;
  /** The reason why the workspace must not run, if any. */
  readonly refused?: string | undefined;
}

/** A folder with a project file in one version of its source. */
export interface FoundProject extends ProjectVersion {
  /** The folder relative to the source, with slashes; `.` for the root. */
  readonly project: string;
  readonly file: string;
  /** The reason why the project cannot be used, if any. */
  readonly problem: string | undefined;
  /** True for a folder that may contain projects but is too large to be searched. */
  readonly isUnknown?: boolean | undefined;
}

export interface FoundProjects {
  readonly commit: string | undefined;
  readonly projects: readonly FoundProject[];
  /** Reads the text of a valid project file. The text is not cached, because a source may have thousands of projects. */
  text(project: FoundProject): Promise<string>;
  /** Must be called after the last call of `text`. */
  close(): Promise<void>;
}

export interface DiscoveredProject extends ProjectVersion {
  readonly project: string;
  /**
   * The reason why the workspaces of the project are unknown, if any. Workspaces that are already known remain, and get this version:
   * their runs report the problem and use the last valid manifests.
   */
  readonly problem: string | undefined;
  /** True for a folder that could not be searched. Projects already known in it remain. */
  readonly isUnknown?: boolean | undefined;
  /** Empty if there is a problem. */
  readonly members: readonly FleetMember[];
}

/** The complete contents of a source at its newest version. Projects that are not listed are removed. */
export interface SourceContents {
  readonly source: string;
  /** The newest commit; undefined for a folder. */
  readonly commit: string | undefined;
  readonly projects: readonly DiscoveredProject[];
  /** Warnings, such as patterns without a match. */
  readonly warnings: readonly string[];
}

/** A project whose workspaces are unknown, and the reason. */
export interface BrokenProject {
  /** `SOURCE/PROJECT`. */
  readonly project: string;
  readonly problem: string;
}

/** A folder with the files of a version. The files never change. */
export interface ProjectCheckout extends ProjectVersion {
  readonly folder: string;
}

export interface WantedProject extends ProjectVersion {
  readonly source: string;
  readonly project: string;
}

/** The sources of a fleet in one process. Each repository is cloned once, however many workspaces it has. */
export interface Sources {
  /** All sources in the order of the fleet file. */
  readonly all: readonly {
    readonly name: string;
    /** The name of the source in messages, without secrets: `main of https://…` or a folder. */
    readonly shown: string;
    /** Identifies the repository or folder and the project patterns, because two fleets may use the same name for different sources. */
    readonly identity: string;
    /** Milliseconds between two fetches. */
    readonly interval: number;
  }[];
  /**
   * Fetches the newest version of a source and returns its contents.
   * @throws UserError if the source cannot be reached.
   */
  discover(source: string, signal: AbortSignal): Promise<SourceContents>;
  /** Returns the projects of a repository at a commit. The caller must close the result. @throws UserError if there is no such commit. */
  at(source: string, commit: string, signal: AbortSignal): Promise<FoundProjects>;
  /**
   * Returns the files of a version, or of the newest available version if the wanted version no longer exists. Fetches only if this
   * machine lacks the files.
   * @throws UserError if no version is available.
   */
  checkout(wanted: WantedProject, signal: AbortSignal): Promise<ProjectCheckout>;
  /** Returns the folders for the state, secrets and rescue files of a project. */
  local(source: string, project: string): LocalPaths;
  /** Returns the repository of a project and the project's path in the repository. */
  origin(source: string, project: string): ProjectOrigin;
  /** Removes the files of all other versions. `versions` must contain every version that a row of the source refers to. */
  keep(source: string, versions: ReadonlySet<string>, signal: AbortSignal): Promise<void>;
}
