import type { ProjectVersion } from '../member.ts';

/** A folder with a project file, at the newest version of its source. */
export interface FoundProject extends ProjectVersion {
  /** With slashes; `.` for the root. */
  readonly project: string;
  /** Name of the project file. */
  readonly file: string;
  /** Why it cannot be used. */
  readonly problem: string | undefined;
  /** True for a folder that may hold projects, but is too large to be searched. */
  readonly isUnknown?: boolean | undefined;
}

export interface FoundProjects {
  readonly commit: string | undefined;
  readonly projects: readonly FoundProject[];
  /** The text of a project file that can be used. It is not kept: a source may have thousands. */
  text(project: FoundProject): Promise<string>;
  /** To be called when no more texts are read. */
  close(): Promise<void>;
}

/** The files of a version: the one that was asked for, or where that is gone the newest one. */
export interface CheckedOut extends ProjectVersion {
  /** Absolute path. */
  readonly folder: string;
}

/** One kind of source, as `Sources` uses it. */
export interface SourceReader {
  /** For messages; names no secret. */
  readonly shown: string;
  /** @throws UserError where it cannot be reached. */
  newest(signal: AbortSignal): Promise<FoundProjects>;
  /** @throws UserError where neither that version nor a newer one can be had. */
  checkout(project: string, wanted: ProjectVersion, signal: AbortSignal): Promise<CheckedOut>;
  keep(versions: ReadonlySet<string>): Promise<void>;
}
