import type { RunContext } from '../runs/run-context.ts';
import type { Interrupts } from './interrupts.ts';
import type { Log } from './log.ts';
import type { Tracing } from './spans.ts';
import type { Terminal } from './terminal.ts';

/** What every command gets beside its own arguments and flags. */
export interface Context extends RunContext {
  /** All that the command line names, each once. With several of them `workspace` is absent. */
  readonly workspaces: readonly string[];
  /** Folder that the command was called in: `-C` leads from there to `cwd`. */
  readonly calledIn: string;
  /** Environment of settings on the command line, where those of the project must not read all of it; `env` where absent. */
  readonly typedEnv?: RunContext['env'];
  readonly quiet: boolean;
  readonly verbose: boolean;
  readonly terminal: Terminal;
  readonly log: Log;
  readonly interrupts: Interrupts;
  /** Runs another command line in this process, with a part of the context given. */
  readonly run: (args: readonly string[], given: Partial<Context>) => Promise<number>;
  /** Undefined where nobody asked for it. */
  readonly tracing?: Tracing | undefined;
}

export type CommandAction = (context: Context) => Promise<number>;

/** Puts a command's action into the frame that sets its context up and turns its errors into messages and exit codes. */
export type Start = (action: CommandAction, takes?: Takes) => Promise<void>;

/** What is unusual about a command. */
export interface Takes {
  readonly severalWorkspaces?: true;
  /** It has many runs, and says itself when one begins and ends. */
  readonly ownRuns?: true;
  /** It needs no project: none is looked for above, and no `.env` is read. */
  readonly withoutProject?: boolean;
}
