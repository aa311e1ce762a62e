import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import path from 'node:path';
import { expect, inject } from 'vitest';
import { Interrupts } from '../../src/cli/interrupts.ts';
import { CACHES, type Folder } from '../cli/voxform-process.ts';
import { type CommandOptions, command } from '../trust/in-process.ts';

interface Shown {
  readonly line: string;
  /** The output on the page. */
  readonly output: readonly string[];
}

interface PageOptions {
  /** The folder in which the commands start. */
  readonly folder: Folder;
  readonly env?: Readonly<Record<string, string>>;
  /** Strings of the page, such as addresses, and their replacements in this run. */
  readonly stands?: Readonly<Record<string, string>>;
  /** The folder in which the commands start, if not `folder`. */
  readonly cwd?: string;
  /** The only section of the page to use. */
  readonly section?: string;
}

interface NextOptions {
  readonly code?: number;
  /** The text that a person types at a prompt. */
  readonly typed?: string;
  /** Stops a command with SIGTERM once its log matches this pattern. */
  readonly until?: RegExp;
}

interface CommandOutput {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const ROOT = path.resolve(import.meta.dirname, '../..');

/** Opens the README or a page of docs/. A test runs its commands in order, like a reader. */
export function openPage(name: 'README.md' | `docs/${string}.md`, options: PageOptions): Page {
  return new Page(name, options);
}

export class Page {
  readonly text: string;
  readonly #remaining: Shown[];
  readonly #options: PageOptions;
  readonly #stands: Map<string, string>;
  readonly #env: Record<string, string>;
  #cwd: string;

  constructor(name: string, options: PageOptions) {
    const whole = readFileSync(path.join(ROOT, name), 'utf8');
    const { section } = options;
    const [, part = ''] = section === undefined ? ['', whole] : (whole.split(`\n## ${section}\n`) ?? []);
    this.text = section === undefined ? whole : (part.split('\n## ')[0] ?? '');
    expect(this.text, `${name} has the section ${section}`).not.toBe('');
    this.#remaining = commandsOf(this.text);
    this.#options = options;
    this.#stands = new Map(Object.entries(options.stands ?? {}));
    this.#env = {
      PATH: process.env.PATH ?? '',
      HOME: options.folder.root,
      NO_COLOR: '1',
      XDG_CACHE_HOME: CACHES,
      ...options.env,
    };
    this.#cwd = options.cwd ?? options.folder.root;
  }

  /** Returns the content of the n-th block of a language on the page, counted from 1. */
  block(language: string, position = 1): string {
    const blocks = [...this.text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)];
    const [, , text = ''] = blocks.filter(([, each]) => each === language)[position - 1] ?? [];
    expect(text, `block ${position} of ${language}`).not.toBe('');
    return this.#replaced(text);
  }

  /** Runs the next command, which must start with this text, exit with this code and print the output on the page. */
  async next(beginning: string, { code = 0, typed = 'yes\n', until }: NextOptions = {}): Promise<CommandOutput> {
    const { line, output } = this.#shift(beginning);
    const ran = await this.#run(this.#replaced(line), { typed, until });
    expect(ran, `${line}\n${ran.stdout}${ran.stderr}`).toMatchObject({ code });
    const printed = [ran.stdout, ran.stderr].flatMap((text) => this.#comparable(text));
    const missing = notInOrder(this.#comparable(output.join('\n')), printed);
    expect(missing, `not printed by ${line}\n${printed.join('\n')}`).toEqual([]);
    return ran;
  }

  /** Runs the next commands, each identified by its first words. */
  async through(...beginnings: readonly string[]): Promise<void> {
    for (const each of beginnings) await this.next(each);
  }

  /** Returns the arguments of the next command, which must start with this text. The test runs it itself. */
  take(beginning: string): readonly string[] {
    return wordsOf(this.#replaced(this.#shift(beginning).line)).slice(1);
  }

  /** Skips the next command, which must start with this text, because the test replaces it. */
  skip(beginning: string): void {
    this.#shift(beginning);
  }

  #shift(beginning: string): Shown {
    const next = this.#remaining.shift() ?? { line: '', output: [] };
    expect(next.line, 'the next command of the page').toSatisfy((text: string) => text.startsWith(beginning));
    return next;
  }

  /** Starts the next command, which must start with this text. It runs until it is disposed of. */
  start(beginning: string): AsyncDisposable {
    const { line } = this.#shift(beginning);
    const [, ...args] = wordsOf(this.#replaced(line));
    const interrupts = new Interrupts(() => undefined);
    const ended = command(args, { cwd: this.#cwd, env: this.#env, interrupts });
    return {
      async [Symbol.asyncDispose]() {
        interrupts.raise('SIGTERM');
        const ran = await ended;
        expect(ran, `${line}\n${ran.stdout}${ran.stderr}`).toMatchObject({ code: 0 });
      },
    };
  }

  /** Replaces a string of the page from now on, such as an id that a command has printed. */
  stand(text: string, own: string): void {
    this.#stands.set(text, own);
  }

  /** Fails if a command of the page did not run. */
  end(): void {
    expect(this.#remaining.map(({ line }) => line)).toEqual([]);
  }

  async #run(line: string, more: Pick<CommandOptions, 'typed' | 'until'>): Promise<CommandOutput> {
    const nothing = { code: 0, stdout: '', stderr: '' };
    const [word = '', ...args] = wordsOf(line);
    if (isShell(line)) return await this.#inShell(line);
    if (word === 'cd') this.#cwd = path.resolve(this.#cwd, args[0] ?? '');
    else if (word === 'unset') for (const each of args) delete this.#env[each];
    else if (word === 'export')
      for (const each of args) {
        const [name = '', value = ''] = each.split('=');
        // Dots replace values that the reader has.
        if (!/^(…|\.\.\.)$/.test(value)) this.#env[name] = value;
        else this.#env[name] ??= `value-of-${name}`;
      }
    else if (word === 'voxform') return await command(args, { cwd: this.#cwd, env: this.#env, columns: 80, ...more });
    else return await this.#inShell(line);
    return nothing;
  }

  /** Runs a line in a real shell, with `voxform` as the built command. Its variables and its folder remain. */
  async #inShell(line: string): Promise<CommandOutput> {
    const { folder } = this.#options;
    const main = path.join(inject('built'), 'main.js');
    await folder.write('.bin/voxform', `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`);
    await chmod(path.join(folder.root, '.bin/voxform'), 0o755);
    const [, name] = /^(\w+)=\$\(/.exec(line) ?? [];
    const script = `set -o pipefail\n${line}\nended=$?\nprintf '\\0%s\\0%s' "$PWD" "${name === undefined ? '' : `$${name}`}"\nexit $ended`;
    const env = {
      ...process.env,
      ...this.#env,
      PATH: `${path.join(folder.root, '.bin')}:${process.env.PATH}`,
    };
    return await new Promise((resolve) => {
      const child = execFile('bash', ['-c', script], { cwd: this.#cwd, env }, (error, out, stderr) => {
        const [stdout = '', cwd, value = ''] = out.split('\0');
        this.#cwd = cwd ?? this.#cwd;
        if (name !== undefined) this.#env[name] = value;
        resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
      });
      child.stdin?.end();
    });
  }

  #replaced(text: string): string {
    return [...this.#stands].reduce((all, [from, to]) => all.replaceAll(from, to), text);
  }

  /** Returns the lines without values that differ between two runs: ids, times, durations, folders. */
  #comparable(text: string): string[] {
    const own = [...this.#stands].reduce((all, [from, to]) => all.replaceAll(to, from), text);
    return own
      .replaceAll(/\bProcess \d+ on .*/g, 'Process')
      .replaceAll(/\bvoxform_\w+_[\w-]{20,}/g, '(token)')
      .replaceAll(/\b01[0-9A-Z]{24}\b/g, '01…')
      .replaceAll(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?Z?/g, '(time)')
      .replaceAll(/\b\d\d:\d\d:\d\d\b/g, '(time)')
      .replaceAll(/\b\d+(\.\d+)? ?(ms|s|min|h|d)\b( \d+ ?(s|min|h)\b)?/g, '(duration)')
      .replaceAll(/\b(?=[0-9a-f]*\d)[0-9a-f]{8,64}\b/g, '(digest)')
      .split('\n')
      .map((line) => line.trimEnd().replaceAll(/(?<=\S) {2,}/g, '  '))
      .filter((line) => !['', '…'].includes(line.trim()));
  }
}

/** Returns the commands of the `console` blocks in a page, with their output. */
function commandsOf(text: string): Shown[] {
  return [...text.matchAll(/^```console\n([\s\S]*?)^```$/gm)]
    .flatMap(([, block = '']) => `\n${block}`.split('\n$ ').slice(1))
    .map((shown) => shown.replaceAll('\\\n', ''))
    .flatMap((shown) => {
      const [first = '', ...output] = shown.trimEnd().split('\n');
      const line = first.replace(/\s+# .*$/, '');
      return [{ line, output }];
    });
}

function isShell(line: string): boolean {
  return /[|><;`$]|&&|^\w+=/.test(line.replaceAll(/'[^']*'/g, ''));
}

/** Returns the words of a command without expansions. */
function wordsOf(line: string): string[] {
  const words = [...line.matchAll(/(?:[^\s'"]+|'[^']*'|"[^"]*")+/g)].map(([word]) => word);
  return words.map((word) => word.replaceAll(/'([^']*)'|"([^"]*)"/g, '$1$2'));
}

/** Returns the lines that are not in the output, in the same order. */
function notInOrder(shown: readonly string[], printed: readonly string[]): string[] {
  let from = 0;
  return shown.filter((line) => {
    const at = printed.indexOf(line, from);
    if (at >= 0) from = at + 1;
    return at < 0;
  });
}
