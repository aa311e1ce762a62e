import { escapeControls } from '../output/escape-controls.ts';
import type { Fields, JsonLines, Level } from './json-lines.ts';
import type { Terminal } from './terminal.ts';

type LogFormat = 'text' | 'json';

interface LogOptions {
  readonly terminal: Terminal;
  /** Undefined if the command may choose. */
  readonly format: LogFormat | undefined;
  readonly quiet: boolean;
  readonly verbose: boolean;
  now(): Date;
}

/** The messages of a run on stderr: sentences for people, or JSON objects, one per line. */
export class Log {
  readonly #options: LogOptions;
  #lines: JsonLines | undefined;
  #lastWarning: string | undefined;

  constructor(options: LogOptions) {
    this.#options = options;
  }

  /** Sets the format before the first message; `fallback` if the command line names none. */
  async begin(fallback: LogFormat): Promise<void> {
    const { format = fallback, terminal, now } = this.#options;
    if (format === 'text' || this.#lines !== undefined) return;
    const { jsonLines } = await import('./json-lines.ts');
    this.#lines = jsonLines({ write: (line) => terminal.err(line), now });
  }

  get isJson(): boolean {
    return this.#lines !== undefined;
  }

  /** Why a command that did not throw has failed. */
  get lastWarning(): string | undefined {
    return this.#lastWarning;
  }

  warn(message: string): void {
    this.#lastWarning = message;
    this.#write('warning', message);
  }

  /** Omitted with --quiet. */
  info(message: string): void {
    this.#write('info', message);
  }

  /** Shown only with --verbose. */
  debug(message: string): void {
    this.#write('debug', message);
  }

  /** For a command that runs for days: text with the time, or JSON with details for programs. */
  entry(level: Level, message: string, fields: Fields = {}): void {
    this.#write(level, message, { fields, isTimed: true });
  }

  /** Formatted text. As JSON, it is one entry for each line with its continuation below. */
  block(level: Level, text: string): void {
    if (this.#lines === undefined) {
      this.#options.terminal.err(text);
      return;
    }
    const whole = text.replaceAll(/\n {7}(?=\S)/g, ' ');
    for (const line of whole.split('\n')) if (line.trim() !== '') this.#lines(level, line.trim(), {});
  }

  #write(
    level: Level,
    message: string,
    { fields = {}, isTimed = false }: { readonly fields?: Fields; readonly isTimed?: boolean } = {},
  ): void {
    const { terminal, quiet, verbose, now } = this.#options;
    if ((level === 'info' && quiet) || (level === 'debug' && !verbose)) return;
    if (this.#lines !== undefined) {
      this.#lines(level, message, fields);
      return;
    }
    const { error, warn, prose, dim } = terminal.errorStyle;
    const lead = isTimed ? `${dim(now().toTimeString().slice(0, 8))}  ` : '';
    const label = level === 'error' ? error('error: ') : level === 'warning' ? warn('warning: ') : '';
    const text = level === 'debug' ? dim(lead + escapeControls(message)) : prose(message, { lead: lead + label });
    terminal.err(`${text}\n`);
  }
}
