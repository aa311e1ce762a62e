import type { Terminal } from './terminal.ts';

export type Level = 'error' | 'warning' | 'info' | 'debug';

export interface LogOptions {
  readonly terminal: Terminal;
  readonly format: 'text' | 'json';
  readonly quiet: boolean;
  readonly verbose: boolean;
  now(): Date;
}

/** What a run says beside its result, on stderr: sentences for a person, or a JSON object a line. */
export class Log {
  readonly #options: LogOptions;

  constructor(options: LogOptions) {
    this.#options = options;
  }

  get isJson(): boolean {
    return this.#options.format === 'json';
  }

  warn(message: string): void {
    const { errorStyle } = this.#options.terminal;
    this.#write('warning', message, () => errorStyle.prose(message, { lead: errorStyle.warn('warning: ') }));
  }

  /** Left out when quiet. */
  info(message: string): void {
    if (this.#options.quiet) return;
    this.#write('info', message, () => this.#options.terminal.errorStyle.prose(message));
  }

  /** Said only when verbose. */
  debug(message: string): void {
    if (!this.#options.verbose) return;
    const { errorStyle } = this.#options.terminal;
    this.#write('debug', message, () => errorStyle.dim(message));
  }

  /** Text that has its form already; as JSON it is one entry a line. */
  block(level: Level, text: string): void {
    if (this.#options.format === 'text') {
      this.#options.terminal.err(text);
      return;
    }
    for (const line of text.split('\n')) if (line.trim() !== '') this.#write(level, line.trim(), () => '');
  }

  #write(level: Level, message: string, asText: () => string): void {
    const { terminal, format, now } = this.#options;
    if (format === 'text') terminal.err(`${asText()}\n`);
    else terminal.err(`${JSON.stringify({ time: now().toISOString(), level, message })}\n`);
  }
}
