import type { Command } from 'commander';
import { ExitCode } from '../problems/user-error.ts';
import type { Context, Start, Takes } from './context.ts';

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
