import type { Environment } from '../manifests/secret-reader.ts';

export interface LogEntry {
  readonly level: 'warning' | 'info' | 'debug';
  readonly message: string;
}

export interface LoadOptions {
  /** The project folder; a relative path is seen from the folder that the process works in. */
  readonly cwd: string;
  /** Where secrets and `VOXFORM_…` variables are looked for, usually `process.env`. Nothing is, where it is left out. */
  readonly env?: Environment;
  /** The workspace meant; `VOXFORM_WORKSPACE` or the project's own choice where absent. */
  readonly workspace?: string;
  /** Told what voxform does. Nothing is printed. */
  log?(entry: LogEntry): void;
}

/** What every call to the platform takes. */
export interface CallOptions {
  /** Ends the call. What an apply has begun to write is finished first. */
  readonly signal?: AbortSignal;
}

/** A project with one workspace selected. Each call reads the files and the platform anew. */
export interface Project {
  /** Absolute path of the folder. */
  readonly root: string;
  readonly workspace: { readonly name: string; readonly id: string; readonly baseUrl: string };
}
