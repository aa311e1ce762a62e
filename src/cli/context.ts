import type { Command } from 'commander';
import type { OnReadProgress } from '../engine/observe/read-records.ts';
import { ExitCode } from '../problems/user-error.ts';
import type { RunContext } from '../runs/run-context.ts';
import type { FailPoint } from '../state/backends/backend.ts';
import type { Redactor } from '../values/redactor.ts';
import type { Interrupts } from './interrupts.ts';
import type { Log } from './log.ts';
import type { Tracing } from './open-telemetry.ts';
import type { Terminal, TerminalOptions } from './terminal.ts';

/** The process, for the command line. */
export interface Host extends Omit<TerminalOptions, 'color' | 'redactor'> {
  /** The arguments after the name of the command. */
  readonly args: readonly string[];
  readonly cwd: string;
  readonly interrupts: Interrupts;
  /** Receives the secrets of the run; a new one if absent. */
  readonly redactor?: Redactor;
  now(): Date;
  /** Called at the named points of state writes, where a test kills the run. */
  readonly failPoint?: ((name: FailPoint) => void) | undefined;
}

/** The environment of every command besides its own arguments and flags. */
export interface Context extends RunContext {
  /** All requested workspaces. `workspace` is absent if there are several. */
  readonly workspaces: readonly string[];
  /** The folder that the command was called in. `-C` is relative to it. */
  readonly calledIn: string;
  /** The environment for settings on the command line, if projects get only a part of it; `env` if absent. */
  readonly typedEnv?: RunContext['env'];
  readonly quiet: boolean;
  readonly verbose: boolean;
  readonly terminal: Terminal;
  readonly log: Log;
  readonly interrupts: Interrupts;
  /** Receives the progress of reads in place of stderr. */
  readonly onProgress?: OnReadProgress;
  /** The format of errors of a command without `--output`. */
  readonly errorFormat?: string;
  /** Runs another command line in this process, with a part of the context, on other streams. */
  readonly run: (args: readonly string[], given: Partial<Context>, host?: Partial<Host>) => Promise<number>;
  /** Undefined if it is off. */
  readonly tracing?: Tracing | undefined;
}

export type CommandAction = (context: Context) => Promise<number>;

/** Sets up the context of a command, and turns its errors into messages and exit codes. */
export type Start = (action: CommandAction, takes?: Takes) => Promise<void>;

interface Takes {
  readonly severalWorkspaces?: true;
  /** It has many runs, and reports their starts and ends itself. */
  readonly ownRuns?: true;
  /** It needs no project: none is searched for, and no `.env` is read. */
  readonly withoutProject?: boolean;
}

/** Returns an exit code; 0 if undefined. */
type LoadedAction<Given> = (context: Context, given: Given) => Promise<number> | Promise<void>;

/** Creates the action of a command from a function that is loaded on use. It gets the flags, and the arguments by name. */
type Perform = <Given>(
  load: () => Promise<LoadedAction<Given>>,
  takes?: Takes | ((given: Given) => Takes),
) => (...parsed: unknown[]) => Promise<void>;

interface CommandEntry {
  readonly summary: string;
  /** Of the command and its subcommands. */
  readonly takes?: Takes;
  /** Called only if the command is used or shown. */
  readonly define: (command: Command, perform: Perform) => unknown;
}

export type CommandTable = Readonly<Record<string, CommandEntry>>;

export function performing(start: Start, common: Takes = {}): Perform {
  return <Given>(load: () => Promise<LoadedAction<Given>>, takes: Takes | ((given: Given) => Takes) = {}) =>
    (...parsed: unknown[]) => {
      const given = givenTo(parsed.at(-1) as Command) as Given;
      const own = typeof takes === 'function' ? takes(given) : takes;
      return start(
        async (context) => {
          const action = await load();
          return (await action(context, given)) ?? ExitCode.ok;
        },
        { ...common, ...own },
      );
    };
}

/** A group of commands accepts its flags at any position. */
function givenTo(command: Command): object {
  const { registeredArguments, processedArgs } = command;
  const named = registeredArguments.map((each, index) => [each.name(), processedArgs[index]]);
  return { ...command.optsWithGlobals(), ...Object.fromEntries(named) };
}
