import { escapeControls } from '../output/escape-controls.ts';
import type { Fields, JsonLines, Level } from './json-lines.ts';
import type { Terminal } from './terminal.ts';

type LogFormat = 'text' | 'json';

interface LogOptions {
  readonly terminal: Terminal;
  /** Undefined if the command chooses the format. */
  readonly format: LogFormat | undefined;
  readonly quiet: boolean;
  readonly verbose: boolean;
  now(): Date;
}

/** Writes the messages of a run to stderr, as text for people or as JSON objects, one per line. */
export class Log {
  readonly #options: LogOptions;
  #writeJson: JsonLines | undefined;
  #lastWarning: string | undefined;

  constructor(options: LogOptions) {
    this.#options = options;
  }

  /** Sets the format. Must be called before the first message. `fallback` is used if the command line names no format. */
  async begin(fallback: LogFormat): Promise<void> {
    const { format = fallback, terminal, now } = this.#options;
    if (format === 'text' || this.#writeJson !== undefined) return;
    const { jsonLines } = await import('./json-lines.ts');
    this.#writeJson = jsonLines({ write: (line) => terminal.err(line), now });
  }

  get isJson(): boolean {
    return this.#writeJson !== undefined;
  }

  /** The last warning. If a command fails without an error, this is reported as the reason. */
  get lastWarning(): string | undefined {
    return this.#lastWarning;
  }

  warn(message: string): void {
    this.#lastWarning = message;
    this.#write('warning', message);
  }

  /** Writes the message unless --quiet is set. */
  info(message: string): void {
    this.#write('info', message);
  }

  /** Writes the message only with --verbose. */
  debug(message: string): void {
    this.#write('debug', message);
  }

  /** Writes a log entry of a long-running command: text with the time, or JSON with `fields`. */
  entry(level: Level, message: string, fields: Fields = {}): void {
    this.#write(level, message, { fields, isTimed: true });
  }

  /** Writes formatted text. In JSON, each line becomes one entry, with its indented continuation lines. */
  block(level: Level, text: string): void {
    if (this.#writeJson === undefined) {
      this.#options.terminal.err(text);
      return;
    }
    const unwrapped = text.replaceAll(/\n {7}(?=\S)/g, ' ');
    for (const line of unwrapped.split('\n')) if (line.trim() !== '') this.#writeJson(level, line.trim(), {});
  }

  #write(
    level: Level,
    message: string,
    { fields = {}, isTimed = false }: { readonly fields?: Fields; readonly isTimed?: boolean } = {},
  ): void {
    const { terminal, quiet, verbose, now } = this.#options;
    if ((level === 'info' && quiet) || (level === 'debug' && !verbose)) return;
    if (this.#writeJson !== undefined) {
      this.#writeJson(level, message, fields);
      return;
    }
    const { error, warn, prose, dim } = terminal.errorStyle;
    const lead = isTimed ? `${dim(now().toTimeString().slice(0, 8))}  ` : '';
    const label = level === 'error' ? error('error: ') : level === 'warning' ? warn('warning: ') : '';
    const text = level === 'debug' ? dim(lead + escapeControls(message)) : prose(message, { lead: lead + label });
    terminal.err(`${text}\n`);
  }
}
