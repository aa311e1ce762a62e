import type { FailPoint } from '../state/backends/local.ts';
import type { Redactor } from '../values/redactor.ts';
import type { Interrupts } from './interrupts.ts';
import type { Log } from './log.ts';
import type { Terminal } from './terminal.ts';

/** What every command gets beside its own arguments and flags. */
export interface Context {
  /** Absolute path of the folder to work in, `--chdir` worked in. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** `--workspace` */
  readonly workspace: string | undefined;
  readonly quiet: boolean;
  readonly verbose: boolean;
  readonly terminal: Terminal;
  readonly log: Log;
  readonly interrupts: Interrupts;
  readonly redactor: Redactor;
  now(): Date;
  /** Where a test makes the run die. */
  readonly failPoint: ((name: FailPoint) => void) | undefined;
}

/** Carries a command out and gives the exit code. */
export type Action = (context: Context) => Promise<number>;

/** Puts a command's action into the frame that sets its context up and turns its errors into messages and exit codes. */
export type Start = (action: Action) => Promise<void>;
