import type { Command } from 'commander';
import { ExitCode } from '../problems/user-error.ts';
import type { Context, Start, Takes } from './context.ts';

/** Gives an exit code; 0 where it gives none. */
type LoadedAction<Given> = (context: Context, given: Given) => Promise<number> | Promise<void>;

/** Makes the action of a command from a function that is loaded when it runs: that gets the flags, and the arguments by their names. */
type Perform = <Given>(
  load: () => Promise<LoadedAction<Given>>,
  takes?: Takes | ((given: Given) => Takes),
) => (...parsed: unknown[]) => Promise<void>;

interface CommandEntry {
  readonly summary: string;
  /** Called only where the command is used or shown. */
  readonly define: (command: Command, perform: Perform) => unknown;
}

export type CommandTable = Readonly<Record<string, CommandEntry>>;

export function performing(start: Start): Perform {
  return <Given>(load: () => Promise<LoadedAction<Given>>, takes: Takes | ((given: Given) => Takes) = {}) =>
    (...parsed: unknown[]) => {
      const given = givenTo(parsed.at(-1) as Command) as Given;
      const unusual = typeof takes === 'function' ? takes(given) : takes;
      return start(async (context) => {
        const action = await load();
        return (await action(context, given)) ?? ExitCode.ok;
      }, unusual);
    };
}

/** The flags of a group of commands are taken by it wherever they stand. */
function givenTo(command: Command): object {
  const { registeredArguments, processedArgs } = command;
  const named = registeredArguments.map((each, index) => [each.name(), processedArgs[index]]);
  return { ...command.optsWithGlobals(), ...Object.fromEntries(named) };
}
