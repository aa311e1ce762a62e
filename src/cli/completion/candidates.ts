import { Argument, type Command, type Option } from 'commander';
import { isRepeatable, takesItems } from '../flags.ts';
import { normalisedArgs } from '../normalise-args.ts';
import { type CompletionCursor, cursorIn } from './cursor.ts';

export interface CompletionWord {
  readonly value: string;
  readonly description: string;
}

/** What can be in a place: words that are known, or files or folders of the one that the command works in. */
type Candidates = readonly CompletionWord[] | 'files' | 'folders';

/** Looks up what only the project knows. Each gives nothing where there is nothing, or where it cannot be read. */
export interface CompletionSources {
  /** Of manifests and state. */
  addresses(): Promise<readonly CompletionWord[]>;
  /** Of the state alone. */
  managed(): Promise<readonly CompletionWord[]>;
  /** Unknown creates. */
  pending(): Promise<readonly CompletionWord[]>;
  /** Ids of records that are no longer managed. */
  orphans(): Promise<readonly CompletionWord[]>;
  /** Ids of past runs. */
  runs(): Promise<readonly CompletionWord[]>;
  workspaces(): Promise<readonly CompletionWord[]>;
  /** Addresses of the kind whose records `get` shows under a name. */
  readable(name: string): Promise<readonly CompletionWord[]>;
  recordTypes(): Promise<readonly CompletionWord[]>;
  /** What `get calls` compares with a value. */
  callFields(): Promise<readonly CompletionWord[]>;
  schemas(): Promise<readonly CompletionWord[]>;
  /** Paths that `explain` takes. */
  topics(): Promise<readonly CompletionWord[]>;
}

export interface Completion {
  readonly candidates: Candidates;
  readonly cursor: CompletionCursor;
}

/** What can follow on a command line; the last word is the one that is being typed. */
export async function complete(
  program: Command,
  words: readonly string[],
  sourcesFor: (cursor: CompletionCursor) => CompletionSources,
): Promise<Completion> {
  const typed = words.at(-1) ?? '';
  const cursor = cursorIn(program, [...normalisedArgs(program, words.slice(0, -1)), typed]);
  const all = await candidatesAt(cursor, sourcesFor(cursor));
  if (typeof all === 'string') return { candidates: all, cursor };
  const { text, wanted } = cursor;
  const isValue = wanted.type === 'value';
  const before = isValue && takesItems(wanted.of) ? text.slice(0, text.lastIndexOf(',') + 1) : '';
  const lead = `${isValue ? wanted.lead : ''}${before}`;
  const begun = text.slice(before.length);
  const fitting = all.filter(({ value }) => value.startsWith(begun) && isPlain(value));
  return { candidates: fitting.map((each) => ({ ...each, value: lead + each.value })), cursor };
}

/** True for a word that every shell takes as it is: what comes from files must not become a command. */
function isPlain(value: string): boolean {
  return /^[\w./@:,+=-]+$/.test(value);
}

async function candidatesAt(
  { command, wanted, operands, flags }: CompletionCursor,
  sources: CompletionSources,
): Promise<Candidates> {
  switch (wanted.type) {
    case 'nothing':
      return [];
    case 'command':
      return command
        .createHelp()
        .visibleCommands(command)
        .map((each) => ({ value: each.name(), description: each.summary() || each.description() }));
    case 'flag':
      return flagsOf(command, flags);
    case 'value':
      return valuesOf(wanted.of, { command, operands, sources });
    default:
      return wanted satisfies never;
  }
}

/** Those that were not given yet, and those that may be given again. */
function flagsOf(command: Command, given: ReadonlyMap<string, string>): CompletionWord[] {
  const help = command.createHelp();
  const options = [...help.visibleOptions(command), ...help.visibleGlobalOptions(command)];
  return options
    .filter((option) => !given.has(option.long ?? '') || isRepeatable(option))
    .map(({ long, short, description }) => ({ value: long ?? short ?? '', description }));
}

interface CompletionPlace {
  readonly command: Command;
  readonly operands: readonly string[];
  readonly sources: CompletionSources;
}

function valuesOf(of: Option | Argument, place: CompletionPlace): Candidates | Promise<Candidates> {
  const { command, operands, sources } = place;
  if (of.argChoices !== undefined) return of.argChoices.map((value) => ({ value, description: '' }));
  const slot = of instanceof Argument ? of.name() : (/[<[]([^>\].]+)/.exec(of.flags)?.[1] ?? '');
  const group = command.parent?.parent == null ? '' : `${command.parent.name()} `;
  switch (of instanceof Argument ? `${group}${command.name()} ${slot}` : `${of.long}`) {
    case 'state show address':
    case 'state rm address':
    case 'state mv from':
      return sources.managed();
    case 'orphans close ids':
      return sources.orphans();
    case 'history show run':
      return sources.runs();
    case 'state resolve address':
      return sources.pending();
    case 'get type':
      return sources.recordTypes();
    case 'get id':
      return sources.readable(operands[0] ?? '');
    case '--agent':
      return sources.readable('agents');
    case '--where':
      return sources.callFields();
    case 'schema name':
      return sources.schemas();
    case 'explain topic':
      return sources.topics();
    case 'state mv to':
      return sources.addresses();
    case '--workspace':
      return sources.workspaces();
    default:
      return bySlot(slot, sources);
  }
}

/** The names that help gives to values say what they are. */
function bySlot(slot: string, sources: CompletionSources): Candidates | Promise<Candidates> {
  switch (slot) {
    case 'address':
    case 'addresses':
      return sources.addresses();
    case 'workspace':
    case 'workspaces':
      return sources.workspaces();
    case 'file':
    case 'files':
    case 'plan-file':
      return 'files';
    case 'dir':
    case 'folder':
      return 'folders';
    default:
      return [];
  }
}
