import { availableParallelism } from 'node:os';
import { setImmediate } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { isExecutable, packageText } from '../version.ts';
import { type ParsedFile, parseDocuments } from './parse-documents.ts';

export interface ParseRequest {
  readonly batch: number;
  readonly texts: readonly string[];
}

export interface ParseAnswer {
  readonly batch: number;
  /** The results in the order of the texts; undefined for a text that the requesting thread must parse. */
  readonly parsed: readonly (ParsedFile | undefined)[];
}

interface Taken {
  readonly text: string;
  readonly done: (parsed: ParsedFile) => void;
}

/** The number of characters to parse before a second thread is started: about the amount parsed during its start. */
const MIN_CHARACTERS = 600_000;
const BATCH = 16;
/** The number of queued batches, so that the thread is never idle: this thread reads its answers only between two files. */
const MAX_WAITING = 3;
/** MiB for the young generation of the thread's heap: most objects are short-lived. */
const YOUNG_GENERATION_MIB = 16;

/** In the bundle, the file of the thread is above this chunk. */
const THREAD = new URL(import.meta.url.endsWith('.ts') ? './parse-worker.ts' : '../parse-worker.js', import.meta.url);

/**
 * Parses texts in a second thread beside this one, if there are enough of them and a free core. The main thread parses texts that the
 * second one does not take, so that both are busy. If the thread cannot start or dies, nothing is lost.
 */
export class ParallelParser {
  #worker: Worker | undefined;
  #mayStart: boolean;
  #seen = 0;
  #batches = 0;
  #collected: Taken[] = [];
  readonly #waiting = new Map<number, readonly Taken[]>();
  #answers: ParseAnswer[] = [];

  /** @param cores available to this process. */
  constructor(cores: number = availableParallelism()) {
    this.#mayStart = cores > 1;
  }

  /** Parses the text in either thread. `done` is called once with the result, from here or from `finish`. */
  parse(text: string, done: Taken['done']): void {
    if (!this.takes(text, done)) done(parseDocuments(text));
  }

  /** True if the thread takes the text. `done` is then called once with the result, from here or from `finish`. */
  takes(text: string, done: Taken['done']): boolean {
    this.#handOut();
    if (this.#worker === undefined) {
      this.#seen += text.length;
      if (!this.#mayStart || this.#seen < MIN_CHARACTERS) return false;
      this.#start();
    }
    if (this.#worker === undefined || this.#waiting.size >= MAX_WAITING) return false;
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

  /** Resolves when all texts are parsed. Parses here what the thread has not started. */
  async finish(): Promise<void> {
    parseHere(this.#collected.splice(0));
    for (;;) {
      await setImmediate();
      this.#handOut();
      // The thread is processing the first batch.
      const last = [...this.#waiting.keys()].at(-1);
      if (last === undefined) break;
      const taken = this.#waiting.get(last) ?? [];
      this.#waiting.delete(last);
      parseHere(taken);
    }
    await this.end();
  }

  async end(): Promise<void> {
    this.#mayStart = false;
    await this.#worker?.terminate();
    this.#worker = undefined;
  }

  #start(): void {
    this.#mayStart = false;
    try {
      // Loaded only when it is needed.
      const { Worker } = process.getBuiltinModule('node:worker_threads');
      const limits = { maxYoungGenerationSizeMb: YOUNG_GENERATION_MIB };
      const settings = { env: {}, execArgv: [], resourceLimits: limits };
      const worker = isExecutable
        ? new Worker(packageText('parse-worker'), { ...settings, eval: true })
        : new Worker(THREAD, settings);
      worker.on('message', (answer: ParseAnswer) => this.#answers.push(answer));
      worker.on('error', () => {
        this.#worker = undefined;
      });
      this.#worker = worker;
    } catch {
      // Node may lack the permission to start threads. The texts are then parsed here.
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
