import { startHere } from '../cli/start-here.ts';
import { type Ended, type RunOptions, start } from '../cli/voxform-process.ts';

/** An entry of the log. */
export interface Entry {
  readonly level: string;
  readonly message: string;
  readonly event?: string;
  readonly [field: string]: unknown;
}

interface WatchOptions extends Pick<RunOptions, 'cwd' | 'env'> {
  /** Runs the watch in a process of its own. By default it runs in this process. */
  readonly in?: 'a process';
}

/** A running `voxform watch` and its log entries. */
export class RunningWatch {
  readonly ended: Promise<Omit<Ended, 'signal'>>;
  readonly entries: Entry[] = [];
  /** Sends a signal. SIGKILL needs a process of its own. */
  readonly signal: (name: 'SIGINT' | 'SIGTERM' | 'SIGHUP' | 'SIGKILL') => void;
  #rest = '';
  #read = 0;
  #hasEnded = false;
  #heard: (() => void) | undefined;

  constructor(given: readonly string[], { in: place, ...options }: WatchOptions) {
    const args = ['watch', '-v', ...given];
    const hear = (text: string): void => {
      const lines = (this.#rest + text).split('\n');
      this.#rest = lines.pop() ?? '';
      for (const line of lines) this.entries.push(JSON.parse(line) as Entry);
      this.#heard?.();
    };
    if (place === 'a process') {
      const { child, ended } = start(args, options);
      child.stderr?.on('data', hear);
      this.signal = (name) => void child.kill(name);
      this.ended = ended;
    } else {
      const { stderr, interrupts, ended } = startHere(args, options);
      stderr.on('data', hear);
      this.signal = (name) => interrupts.raise(name === 'SIGKILL' ? 'SIGTERM' : name);
      this.ended = ended;
    }
    void this.ended.then(() => {
      this.#hasEnded = true;
      this.#heard?.();
    });
  }

  /** Returns the next matching entry after the last returned one. Throws if the process ends first. */
  async until(event: string, fits: (entry: Entry) => boolean = () => true): Promise<Entry> {
    for (;;) {
      while (this.#read < this.entries.length) {
        const entry = this.entries[this.#read++];
        if (entry?.event === event && fits(entry)) return entry;
      }
      if (this.#hasEnded) throw new Error(`ended before ${event}:\n${this.tail()}`);
      await new Promise<void>((resolve) => (this.#heard = resolve));
    }
  }

  /** Returns the URL of the listener. */
  async url(): Promise<string> {
    return String((await this.until('watching')).url);
  }

  tail(): string {
    return this.entries
      .slice(-30)
      .map((entry) => JSON.stringify(entry))
      .join('\n');
  }
}
