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
  /** What the page shows of the output. */
  readonly output: readonly string[];
}

interface PageOptions {
  /** Where the commands begin. */
  readonly folder: Folder;
  readonly env?: Readonly<Record<string, string>>;
  /** Texts of the page, such as addresses, and those that replace them in this run. */
  readonly stands?: Readonly<Record<string, string>>;
  /** Where the commands begin, if not in the folder. */
  readonly cwd?: string;
  /** Only this section of the page. */
  readonly section?: string;
}

interface NextOptions {
  readonly code?: number;
  /** What a person types when the command asks. */
  readonly typed?: string;
  /** Ends a command that runs on, as SIGTERM does, once its log says this. */
  readonly until?: RegExp;
}

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const ROOT = path.resolve(import.meta.dirname, '../..');

/** The README or a page of docs/, whose commands a test runs in their order, as a person who reads it. */
export function openPage(name: 'README.md' | `docs/${string}.md`, options: PageOptions): Page {
  return new Page(name, options);
}

export class Page {
  readonly text: string;
  readonly #left: Shown[];
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
    this.#left = commandsOf(this.text);
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

  /** The text of the page's n-th block of a language, from 1. */
  block(language: string, position = 1): string {
    const blocks = [...this.text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)];
    const [, , text = ''] = blocks.filter(([, each]) => each === language)[position - 1] ?? [];
    expect(text, `block ${position} of ${language}`).not.toBe('');
    return this.#replaced(text);
  }

  /** Runs the next command, which must begin so, exit with this code and print what the page shows. */
  async next(beginning: string, { code = 0, typed = 'yes\n', until }: NextOptions = {}): Promise<Ran> {
    const { line, output } = this.#shift(beginning);
    const ran = await this.#run(this.#replaced(line), { typed, until });
    expect(ran, `${line}\n${ran.stdout}${ran.stderr}`).toMatchObject({ code });
    const printed = [ran.stdout, ran.stderr].flatMap((text) => this.#comparable(text));
    const missing = notInOrder(this.#comparable(output.join('\n')), printed);
    expect(missing, `not printed by ${line}\n${printed.join('\n')}`).toEqual([]);
    return ran;
  }

  /** The next commands, by their beginnings. */
  async through(...beginnings: readonly string[]): Promise<void> {
    for (const each of beginnings) await this.next(each);
  }

  /** The arguments of the next command, which must begin so, for a test that runs it itself. */
  take(beginning: string): readonly string[] {
    return wordsOf(this.#replaced(this.#shift(beginning).line)).slice(1);
  }

  /** Leaves the next command out, which must begin so: the test did the same in another way. */
  skip(beginning: string): void {
    this.#shift(beginning);
  }

  #shift(beginning: string): Shown {
    const next = this.#left.shift() ?? { line: '', output: [] };
    expect(next.line, 'the next command of the page').toSatisfy((text: string) => text.startsWith(beginning));
    return next;
  }

  /** Starts the next command, which must begin so and runs until it is disposed of. */
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

  /** From now on, this text of the page is replaced, such as an id that a command has printed. */
  stand(text: string, own: string): void {
    this.#stands.set(text, own);
  }

  /** Fails if a command of the page was not run. */
  end(): void {
    expect(this.#left.map(({ line }) => line)).toEqual([]);
  }

  async #run(line: string, more: Pick<CommandOptions, 'typed' | 'until'>): Promise<Ran> {
    const nothing = { code: 0, stdout: '', stderr: '' };
    const [word = '', ...args] = wordsOf(line);
    if (isShell(line)) return await this.#inShell(line);
    if (word === 'cd') this.#cwd = path.resolve(this.#cwd, args[0] ?? '');
    else if (word === 'unset') for (const each of args) delete this.#env[each];
    else if (word === 'export')
      for (const each of args) {
        const [name = '', value = ''] = each.split('=');
        // Dots stand for values that the reader has.
        if (!/^(…|\.\.\.)$/.test(value)) this.#env[name] = value;
        else this.#env[name] ??= `value-of-${name}`;
      }
    else if (word === 'voxform') return await command(args, { cwd: this.#cwd, env: this.#env, columns: 80, ...more });
    else return await this.#inShell(line);
    return nothing;
  }

  /** In a real shell, where `voxform` is the built command. Variables and folders that it sets remain. */
  async #inShell(line: string): Promise<Ran> {
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

  /** The lines without what differs between two runs: ids, times, durations, folders. */
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

/** The commands of the `console` blocks of a text, with what is shown of their output. */
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

/** The words of a command without expansions. */
function wordsOf(line: string): string[] {
  const words = [...line.matchAll(/(?:[^\s'"]+|'[^']*'|"[^"]*")+/g)].map(([word]) => word);
  return words.map((word) => word.replaceAll(/'([^']*)'|"([^"]*)"/g, '$1$2'));
}

/** The lines that do not follow each other, in their order, in what was printed. */
function notInOrder(shown: readonly string[], printed: readonly string[]): string[] {
  let from = 0;
  return shown.filter((line) => {
    const at = printed.indexOf(line, from);
    if (at >= 0) from = at + 1;
    return at < 0;
  });
}
