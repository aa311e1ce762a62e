import type { FoundProjects, ProjectVersion } from '../member.ts';

/** A folder with the files of the requested version, or of the newest version if the requested version no longer exists. */
export interface Checkout extends ProjectVersion {
  /** The absolute path of the folder. */
  readonly folder: string;
}

/** Reads one kind of source: a Git repository or a folder. */
export interface SourceReader {
  /** The name of the source in messages, without secrets. */
  readonly shown: string;
  /** Returns the projects at the newest version. @throws UserError if the source cannot be reached. */
  newest(signal: AbortSignal): Promise<FoundProjects>;
  /** Returns the projects at a commit of a Git repository. @throws UserError if the commit does not exist or cannot be fetched. */
  at?(commit: string, signal: AbortSignal): Promise<FoundProjects>;
  /** @throws UserError if neither this version nor a newer one is available. */
  checkout(project: string, wanted: ProjectVersion, signal: AbortSignal): Promise<Checkout>;
  /** Removes the files of all other versions. */
  keep(versions: ReadonlySet<string>, signal: AbortSignal): Promise<void>;
}
