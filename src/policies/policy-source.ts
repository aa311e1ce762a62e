import type { Policy } from '../project/policy-schema.ts';

/** Rules of one file. */
export interface PolicySource {
  /** Whose rules they are: those of a file and of a fleet stand beside whatever a project says. */
  readonly of: 'project' | 'file' | 'fleet';
  /** As reports name it. */
  readonly file: string;
  /** Absolute. */
  readonly path: string;
  readonly policies: readonly Policy[];
}

/** A file that `--policy` names. */
export interface PolicyFile {
  /** Absolute. */
  readonly path: string;
  /** As it was named. */
  readonly file: string;
}

/** Rules from outside of the project, which it cannot weaken. */
export interface OtherPolicies {
  /** Read again by each run. */
  readonly files: readonly PolicyFile[];
  readonly fleet?: PolicySource | undefined;
}
