import { type Running, start } from '../cli/voxform-process.ts';

/** A line of the log. */
export interface Entry {
  readonly level: string;
  readonly message: string;
  readonly event?: string;
  readonly [field: string]: unknown;
}

/** `voxform watch` as a process, and what it says as it says it. */
export class WatchProcess {
  readonly running: Running;
  readonly entries: Entry[] = [];
  #rest = '';
  #read = 0;
  #heard: (() => void) | undefined;

  constructor(args: readonly string[], options: Parameters<typeof start>[1]) {
    this.running = start(['watch', '-v', ...args], options);
    this.running.child.stderr?.on('data', (text: string) => {
      const lines = (this.#rest + text).split('\n');
      this.#rest = lines.pop() ?? '';
      for (const line of lines) this.entries.push(JSON.parse(line) as Entry);
      this.#heard?.();
    });
    void this.running.ended.then(() => this.#heard?.());
  }

  /** The next entry that fits, after the last one that was waited for. Throws where the process ends without it. */
  async until(event: string, fits: (entry: Entry) => boolean = () => true): Promise<Entry> {
    for (;;) {
      while (this.#read < this.entries.length) {
        const entry = this.entries[this.#read++];
        if (entry?.event === event && fits(entry)) return entry;
      }
      if (this.running.child.exitCode !== null) throw new Error(`ended before ${event}:\n${this.tail()}`);
      await new Promise<void>((resolve) => (this.#heard = resolve));
    }
  }

  /** Where the listener is. */
  async url(): Promise<string> {
    return String((await this.until('watching')).url);
  }

  signal(name: NodeJS.Signals): void {
    this.running.child.kill(name);
  }

  tail(): string {
    return this.entries
      .slice(-30)
      .map((entry) => JSON.stringify(entry))
      .join('\n');
  }
}
