import { availableParallelism } from 'node:os';
import { setImmediate } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { type ParsedFile, parseDocuments } from './parse-documents.ts';

/** Texts that a thread is sent. */
export interface ParseRequest {
  readonly batch: number;
  readonly texts: readonly string[];
}

export interface ParseAnswer {
  readonly batch: number;
  /** In the order of the texts; undefined for one that is to be parsed by who asked. */
  readonly parsed: readonly (ParsedFile | undefined)[];
}

interface Taken {
  readonly text: string;
  readonly done: (parsed: ParsedFile) => void;
}

/** Characters that are parsed before a second thread is worth its start: about what is parsed in that time. */
const WORTH_A_THREAD = 600_000;
/** Texts that are sent at once. */
const BATCH = 16;
/** Batches that wait for the thread, so that it always has one: this thread looks for answers only between two files. */
const MOST_WAITING = 3;
/** MiB that the thread may use for what it has just made: most of it is let go at once. */
const YOUNG = 16;

/** In the bundle the thread's file lies above the chunk that this is in. */
const THREAD = new URL(
  import.meta.url.endsWith('.ts') ? './parse-worker.ts' : '../parse-worker.js',
  import.meta.url,
);

/**
 * Parses texts in a second thread beside this one, where there are enough of them and a core for it. A text that is not taken is for the
 * thread that asked, so that both are busy. Nothing is lost where the thread cannot start, or dies.
 */
export class ParseBeside {
  #worker: Worker | undefined;
  #mayStart: boolean;
  #seen = 0;
  #batches = 0;
  #collected: Taken[] = [];
  readonly #waiting = new Map<number, readonly Taken[]>();
  #answers: ParseAnswer[] = [];

  /** @param cores that this process may use. */
  constructor(cores: number = availableParallelism()) {
    this.#mayStart = cores > 1;
  }

  /** Parses the text here or there: `done` is called with what it holds, once, from here or from `finish`. */
  parse(text: string, done: Taken['done']): void {
    if (!this.takes(text, done)) done(parseDocuments(text));
  }

  /** True where the text is taken: `done` is then called with what it holds, once, from here or from `finish`. */
  takes(text: string, done: Taken['done']): boolean {
    this.#handOut();
    if (this.#worker === undefined) {
      this.#seen += text.length;
      if (!this.#mayStart || this.#seen < WORTH_A_THREAD) return false;
      this.#start();
    }
    if (this.#worker === undefined || this.#waiting.size >= MOST_WAITING) return false;
    this.#collected.push({ text, done });
    if (this.#collected.length === BATCH) {
      const batch = this.#batches++;
      this.#waiting.set(batch, this.#collected);
      const texts = this.#collected.map((taken) => taken.text);
      this.#worker.postMessage({ batch, texts } satisfies ParseRequest);
      this.#collected = [];
    }
    return true;
  }

  /** Everything that was taken is done when this ends: what the thread has not got to yet is parsed here. */
  async finish(): Promise<void> {
    parseHere(this.#collected.splice(0));
    for (;;) {
      await setImmediate();
      this.#handOut();
      // The thread is busy with the first of them.
      const last = [...this.#waiting.keys()].at(-1);
      if (last === undefined) break;
      const taken = this.#waiting.get(last) ?? [];
      this.#waiting.delete(last);
      parseHere(taken);
    }
    await this.end();
  }

  /** Ends the thread, whatever it has to do. */
  async end(): Promise<void> {
    this.#mayStart = false;
    await this.#worker?.terminate();
    this.#worker = undefined;
  }

  #start(): void {
    this.#mayStart = false;
    try {
      // Not loaded before there is something to parse in a thread.
      const { Worker } = process.getBuiltinModule('node:worker_threads');
      const limits = { maxYoungGenerationSizeMb: YOUNG };
      const worker = new Worker(THREAD, { env: {}, execArgv: [], resourceLimits: limits });
      worker.on('message', (answer: ParseAnswer) => this.#answers.push(answer));
      worker.on('error', () => {
        this.#worker = undefined;
      });
      this.#worker = worker;
    } catch {
      // Node may have been started without the right to: the texts are parsed all the same.
    }
  }

  #handOut(): void {
    for (const { batch, parsed } of this.#answers.splice(0)) {
      const taken = this.#waiting.get(batch) ?? [];
      this.#waiting.delete(batch);
      for (const [index, { text, done }] of taken.entries()) done(parsed[index] ?? parseDocuments(text));
    }
  }
}

function parseHere(taken: readonly Taken[]): void {
  for (const { text, done } of taken) done(parseDocuments(text));
}
