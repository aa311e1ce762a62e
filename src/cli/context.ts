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
  /** The command-line arguments after `voxform`. */
  readonly args: readonly string[];
  readonly cwd: string;
  readonly interrupts: Interrupts;
  /** Collects the secrets of the run, which it redacts from all output. If absent, the run creates its own redactor. */
  readonly redactor?: Redactor;
  now(): Date;
  /** Called at named points of state writes. Tests use it to kill the run there. */
  readonly failPoint?: ((name: FailPoint) => void) | undefined;
}

/** The inputs of every command, except its own arguments and flags. */
export interface Context extends RunContext {
  /** All values of `--workspace`. If there are several, `workspace` is undefined. */
  readonly workspaces: readonly string[];
  /** The folder in which the command was started. `-C` is relative to it. */
  readonly startFolder: string;
  /** The environment for settings on the command line. Set only if `env` is the restricted environment of a project. */
  readonly commandLineEnv?: RunContext['env'];
  readonly quiet: boolean;
  readonly verbose: boolean;
  readonly terminal: Terminal;
  readonly log: Log;
  readonly interrupts: Interrupts;
  /** Called with the progress of reads. If it is set, no progress is printed to stderr. */
  readonly onProgress?: OnReadProgress;
  /** The output format of errors for commands without `--output`. */
  readonly errorFormat?: string;
  /** Runs another command line in this process. `given` overrides parts of its context, and `host` parts of its host. */
  readonly run: (args: readonly string[], given: Partial<Context>, host?: Partial<Host>) => Promise<number>;
  readonly tracing?: Tracing | undefined;
}

export type CommandAction = (context: Context) => Promise<number>;

/** Sets up the context of a command, runs its action, and turns errors into messages and exit codes. */
export type Start = (action: CommandAction, traits?: CommandTraits) => Promise<void>;

interface CommandTraits {
  readonly acceptsWorkspaces?: true;
  /** The command starts runs that are reported and traced individually, so the command itself is not. */
  readonly ownRuns?: true;
  /** The command needs no project. No project file is searched for, and no `.env` is read. */
  readonly withoutProject?: boolean;
}

/** The action of a command. It returns the exit code; undefined means success. */
type LoadedAction<Given> = (context: Context, given: Given) => Promise<number> | Promise<void>;

/** Creates the action of a command, whose code is loaded on first use. `given` contains the flags and arguments by name. */
type Perform = <Given>(
  load: () => Promise<LoadedAction<Given>>,
  traits?: CommandTraits | ((given: Given) => CommandTraits),
) => (...parsed: unknown[]) => Promise<void>;

interface CommandEntry {
  readonly summary: string;
  /** The traits of the command and its subcommands. */
  readonly traits?: CommandTraits;
  /** Defines arguments, flags and subcommands. Not called if the command line does not contain the name of the command. */
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
      const ownTraits = typeof traits === 'function' ? traits(given) : traits;
      return start(
        async (context) => {
          const action = await load();
          return (await action(context, given)) ?? ExitCode.ok;
        },
        { ...common, ...ownTraits },
      );
    };
}

/** Returns all flags and arguments by name, including the flags of parent commands, which users may type after a subcommand. */
function flagsAndArguments(command: Command): object {
  const { registeredArguments, processedArgs } = command;
  const operands = registeredArguments.map((each, index) => [each.name(), processedArgs[index]]);
  return { ...command.optsWithGlobals(), ...Object.fromEntries(operands) };
}
