import type { Environment } from '../manifests/secret-reader.ts';

export interface LogEntry {
  readonly level: 'warning' | 'info' | 'debug';
  readonly message: string;
}

export interface LoadOptions {
  /** The project folder. A relative path begins in the working directory of the process. */
  readonly cwd: string;
  /** The environment with secrets and `VOXFORM_…` variables, usually `process.env`. Default: empty. */
  readonly env?: Environment;
  /** The workspace. Default: `VOXFORM_WORKSPACE` or the default of the project. */
  readonly workspace?: string;
  /** Receives all messages. The library prints nothing. */
  log?(entry: LogEntry): void;
}

/** Options of every call to the platform. */
export interface CallOptions {
  /** Aborts the call. An apply finishes its writes in flight first. */
  readonly signal?: AbortSignal;
}

/** A project with one selected workspace. Each call reads the files and the platform again. */
export interface Project {
  /** Absolute path of the folder. */
  readonly root: string;
  readonly workspace: { readonly name: string; readonly id: string; readonly baseUrl: string };
}
