import type { Argument, Command, Option } from 'commander';

/** The place at the end of an incomplete command line. */
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
  /** The deepest command of the preceding words. */
  readonly command: Command;
  readonly wanted: CompletionWanted;
  /** The existing part of the word, without the `lead`. */
  readonly text: string;
  /** The preceding arguments of the command. */
  readonly operands: readonly string[];
  /** The preceding flags with their latest values, by long name; empty for flags without a value. */
  readonly flags: ReadonlyMap<string, string>;
}

/** Reads the words of a command line like the parser, but refuses nothing. */
export function cursorIn(program: Command, words: readonly string[]): CompletionCursor {
  const reader = new Reader(program);
  for (const word of words.slice(0, -1)) reader.take(word);
  return reader.at(words.at(-1) ?? '');
}

/** Follows the words of a command line like the parser. */
export class Reader {
  #command: Command;
  readonly #operands: string[] = [];
  readonly #flags = new Map<string, string>();
  #open: Option | undefined;
  #onlyOperands = false;

  constructor(program: Command) {
    this.#command = program;
  }

  /** The deepest command so far. */
  get command(): Command {
    return this.#command;
  }

  /** True if this word is a flag, not the value of the preceding one. */
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
    const next = this.#operands.length === 0 ? commandNamed(this.#command, word) : undefined;
    if (next !== undefined) this.#command = next;
    // Help of a command is completed like the command.
    else if (word !== 'help' || this.#command.commands.length === 0) this.#operands.push(word);
  }

  #flag(word: string): void {
    const [name = '', value] = word.startsWith('--') ? word.split(/=(.*)/s, 2) : [word];
    const option = this.optionOf(name);
    if (option !== undefined) this.#flags.set(nameOf(option), value ?? '');
    if (option !== undefined && !option.isBoolean() && value === undefined) this.#open = option;
    if (option === undefined && !word.startsWith('--')) this.#short(word.slice(1));
  }

  /** `-qC dir` and `-Cdir`. */
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

  /** The flag with this long or short name, of the command or of its parents. */
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

function commandNamed(parent: Command, name: string): Command | undefined {
  return parent.commands.find((command) => command.name() === name || command.aliases().includes(name));
}

function argumentAt({ registeredArguments }: Command, index: number): Argument | undefined {
  const last = registeredArguments.at(-1);
  return registeredArguments[index] ?? (last?.variadic ? last : undefined);
}
