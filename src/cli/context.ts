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

/** The parts of the process that a command line uses. Tests replace them. */
export interface Host extends Omit<TerminalOptions, 'color' | 'redactor'> {
  /** The arguments of `voxform`, starting with the name of a command. */
  readonly args: readonly string[];
  readonly cwd: string;
  readonly interrupts: Interrupts;
  /** Learns the secrets of the run. If absent, the run creates its own. */
  readonly redactor?: Redactor;
  now(): Date;
  /** Called at the named points of state writes, where a test kills the run. */
  readonly failPoint?: ((name: FailPoint) => void) | undefined;
}

/** The environment of every command, without the command's own arguments and flags. */
export interface Context extends RunContext {
  /** All workspaces of `--workspace`. If there are several, `workspace` is absent. */
  readonly workspaces: readonly string[];
  /** The folder in which the command was started. `-C` is relative to it. */
  readonly startFolder: string;
  /** The environment for settings on the command line. It is set only if `env` is a restricted environment for the project. */
  readonly commandLineEnv?: RunContext['env'];
  readonly quiet: boolean;
  readonly verbose: boolean;
  readonly terminal: Terminal;
  readonly log: Log;
  readonly interrupts: Interrupts;
  /** Receives the progress of reads. If it is set, none is printed to stderr. */
  readonly onProgress?: OnReadProgress;
  /** The output format of errors for commands without `--output`. */
  readonly errorFormat?: string;
  /** Runs another command line in this process. `given` and `host` override parts of its context and of its streams. */
  readonly run: (args: readonly string[], given: Partial<Context>, host?: Partial<Host>) => Promise<number>;
  /** Undefined if tracing is off. */
  readonly tracing?: Tracing | undefined;
}

export type CommandAction = (context: Context) => Promise<number>;

/** Sets up the context of a command, runs its action, and turns errors into messages and exit codes. */
export type Start = (action: CommandAction, traits?: CommandTraits) => Promise<void>;

interface CommandTraits {
  /** The command accepts several workspaces. */
  readonly severalWorkspaces?: true;
  /** The command performs many runs, and reports their starts and ends itself. */
  readonly ownRuns?: true;
  /** The command needs no project. No project file is searched for, and no `.env` is read. */
  readonly withoutProject?: boolean;
}

/** An action that returns its exit code. No value means success. */
type LoadedAction<Given> = (context: Context, given: Given) => Promise<number> | Promise<void>;

/** Creates the action of a command from a function that is loaded on use. `given` has the flags, and the arguments by name. */
type Perform = <Given>(
  load: () => Promise<LoadedAction<Given>>,
  traits?: CommandTraits | ((given: Given) => CommandTraits),
) => (...parsed: unknown[]) => Promise<void>;

interface CommandEntry {
  readonly summary: string;
  /** The traits of the command and its subcommands. */
  readonly traits?: CommandTraits;
  /** Defines arguments, flags and subcommands. Called only if the command is run or its help is printed. */
  readonly define: (command: Command, perform: Perform) => unknown;
}

export type CommandTable = Readonly<Record<string, CommandEntry>>;

export function createPerform(start: Start, common: CommandTraits = {}): Perform {
  return <Given>(
    load: () => Promise<LoadedAction<Given>>,
    traits: CommandTraits | ((given: Given) => CommandTraits) = {},
  ) =>
    (...parsed: unknown[]) => {
      const given = flagsAndArguments(parsed.at(-1) as Command) as Given;
      const own = typeof traits === 'function' ? traits(given) : traits;
      return start(
        async (context) => {
          const action = await load();
          return (await action(context, given)) ?? ExitCode.ok;
        },
        { ...common, ...own },
      );
    };
}

/** Returns all flags and arguments by name, including the flags of parent commands, which may follow a subcommand. */
function flagsAndArguments(command: Command): object {
  const { registeredArguments, processedArgs } = command;
  const operands = registeredArguments.map((each, index) => [each.name(), processedArgs[index]]);
  return { ...command.optsWithGlobals(), ...Object.fromEntries(operands) };
}
