import type { ProjectVersion } from '../member.ts';

/** A folder with a project file, at the newest version of its source. */
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

/** The files of the requested version, or of the newest one if that is gone. */
export interface CheckedOut extends ProjectVersion {
  /** Absolute path. */
  readonly folder: string;
}

/** A kind of source, for `Sources`. */
export interface SourceReader {
  /** For messages, without secrets. */
  readonly shown: string;
  /** @throws UserError if it cannot be reached. */
  newest(signal: AbortSignal): Promise<FoundProjects>;
  /** @throws UserError if neither this version nor a newer one is available. */
  checkout(project: string, wanted: ProjectVersion, signal: AbortSignal): Promise<CheckedOut>;
  keep(versions: ReadonlySet<string>): Promise<void>;
}
