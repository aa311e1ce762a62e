import type { FoundProjects, ProjectVersion } from '../member.ts';

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
  /** The projects at a commit. Only for a Git repository. @throws UserError if it has no such commit or cannot be reached. */
  at?(commit: string, signal: AbortSignal): Promise<FoundProjects>;
  /** @throws UserError if neither this version nor a newer one is available. */
  checkout(project: string, wanted: ProjectVersion, signal: AbortSignal): Promise<CheckedOut>;
  keep(versions: ReadonlySet<string>): Promise<void>;
}
