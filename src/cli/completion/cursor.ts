import type { Argument, Command, Option } from 'commander';

/** The kind of word that is expected at the end of an incomplete command line. */
type CompletionWanted =
  | { readonly type: 'command' }
  | { readonly type: 'flag' }
  | {
      readonly type: 'value';
      readonly of: Option | Argument;
      /** The text before the value, such as `--output=`. */
      readonly lead: string;
    }
  | { readonly type: 'nothing' };

export interface CompletionCursor {
  /** The command, or subcommand, that the preceding words select. */
  readonly command: Command;
  readonly wanted: CompletionWanted;
  /** The part of the last word that is already typed, without the `lead`. */
  readonly text: string;
  /** The preceding arguments of the command. */
  readonly operands: readonly string[];
  /** The latest value of each preceding flag, by long name. Flags without a value have an empty string. */
  readonly flags: ReadonlyMap<string, string>;
}

/** Reads a command line as the parser does, but accepts invalid command lines. The last word is incomplete. */
export function cursorIn(program: Command, words: readonly string[]): CompletionCursor {
  const reader = new Reader(program);
  for (const word of words.slice(0, -1)) reader.take(word);
  return reader.at(words.at(-1) ?? '');
}

/** Reads a command line word by word, as the parser does. */
export class Reader {
  #command: Command;
  readonly #operands: string[] = [];
  readonly #flags = new Map<string, string>();
  /** The preceding flag, if it expects a value. */
  #open: Option | undefined;
  #onlyOperands = false;

  constructor(program: Command) {
    this.#command = program;
  }

  /** The command, or subcommand, that the words so far select. */
  get command(): Command {
    return this.#command;
  }

  /** Returns true if the next word would be a flag, and not the value of the preceding flag. */
  readsFlag(word: string): boolean {
    const isFlag = word.startsWith('-') && word !== '-' && !this.#onlyOperands;
    return isFlag && (this.#open === undefined || this.#open.variadic);
  }

  take(word: string): void {
    const open = this.#open;
    const isFlag = this.readsFlag(word);
    if (open !== undefined && !isFlag) {
      this.#flags.set(nameOf(open), word);
      if (!open.variadic) this.#open = undefined;
      return;
    }
    this.#open = undefined;
    if (word === '--') this.#onlyOperands = true;
    else if (isFlag) this.#flag(word);
    else this.#operand(word);
  }

  at(word: string): CompletionCursor {
    const wanted = this.#wanted(word);
    const text = wanted.type === 'value' ? word.slice(wanted.lead.length) : word;
    return { command: this.#command, wanted, text, operands: this.#operands, flags: this.#flags };
  }

  #wanted(word: string): CompletionWanted {
    const open = this.#open;
    const isFlag = word.startsWith('-') && !this.#onlyOperands;
    if (open !== undefined && !(isFlag && open.variadic)) return { type: 'value', of: open, lead: '' };
    const lead = isFlag ? /^--[^=]+=/.exec(word)?.[0] : undefined;
    if (lead !== undefined) {
      const option = this.optionOf(lead.slice(0, -1));
      return option === undefined || option.isBoolean() ? { type: 'nothing' } : { type: 'value', of: option, lead };
    }
    if (isFlag) return { type: 'flag' };
    if (this.#command.commands.length > 0 && this.#operands.length === 0) return { type: 'command' };
    const argument = argumentAt(this.#command, this.#operands.length);
    return argument === undefined ? { type: 'nothing' } : { type: 'value', of: argument, lead: '' };
  }

  #operand(word: string): void {
    const isName = this.#operands.length === 0;
    const next = isName ? this.#command.commands.find((command) => command.name() === word) : undefined;
    if (next !== undefined) this.#command = next;
    // `help` before a command does not change its completion.
    else if (word !== 'help' || this.#command.commands.length === 0) this.#operands.push(word);
  }

  #flag(word: string): void {
    const [name = '', value] = word.startsWith('--') ? word.split(/=(.*)/s, 2) : [word];
    const option = this.optionOf(name);
    if (option !== undefined) this.#flags.set(nameOf(option), value ?? '');
    if (option !== undefined && !option.isBoolean() && value === undefined) this.#open = option;
    if (option === undefined && !word.startsWith('--')) this.#short(word.slice(1));
  }

  /** Reads combined short flags such as `-qC dir` and `-Cdir`. */
  #short(letters: string): void {
    for (const [index, letter] of [...letters].entries()) {
      const option = this.optionOf(`-${letter}`);
      if (option === undefined) return;
      const value = letters.slice(index + 1);
      if (option.isBoolean()) this.#flags.set(nameOf(option), '');
      else {
        this.#flags.set(nameOf(option), value);
        if (value === '') this.#open = option;
        return;
      }
    }
  }

  /** Returns the flag with this long or short name, of the command or of its parents. */
  optionOf(name: string): Option | undefined {
    for (let command: Command | null = this.#command; command !== null; command = command.parent) {
      const found = command.options.find(({ long, short }) => name === long || name === short);
      if (found !== undefined) return found;
    }
    return undefined;
  }
}

function nameOf({ long, short }: Option): string {
  return long ?? short ?? '';
}

function argumentAt({ registeredArguments }: Command, index: number): Argument | undefined {
  const last = registeredArguments.at(-1);
  return registeredArguments[index] ?? (last?.variadic ? last : undefined);
}
