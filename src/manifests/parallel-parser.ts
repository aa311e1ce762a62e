import { availableParallelism } from 'node:os';
import { setImmediate } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { isExecutable, packageText } from '../version.ts';
import { type ParsedFile, parseDocuments } from './parse-documents.ts';

export interface ParseRequest {
  readonly batch: number;
  readonly texts: readonly string[];
}

export interface ParseResponse {
  readonly batch: number;
  /** The results in the order of the texts. The requesting thread must parse a text whose result is undefined. */
  readonly parsed: readonly (ParsedFile | undefined)[];
}

interface PendingText {
  readonly text: string;
  readonly onParsed: (parsed: ParsedFile) => void;
}

/** The number of characters to parse before the second thread is started. About the same number of characters is parsed while it starts. */
const MIN_CHARACTERS = 600_000;
const BATCH_SIZE = 16;
/** The maximum number of queued batches. With one, the second thread would sometimes idle: this thread reads results only between files. */
const MAX_QUEUED_BATCHES = 3;
/** The size of the young generation of the thread's heap. It is large because most objects are short-lived. */
const YOUNG_GENERATION_MIB = 16;

/** In the bundle, the file of the thread is in the parent folder of this chunk. */
const THREAD_URL = new URL(
  import.meta.url.endsWith('.ts') ? './parse-worker.ts' : '../parse-worker.js',
  import.meta.url,
);

/**
 * Parses texts in a second thread in addition to this one, if there are enough texts and a free core. This thread parses the texts
 * that the second one does not take, so that both are busy. If the second thread cannot start or dies, this thread parses all texts.
 */
export class ParallelParser {
  #worker: Worker | undefined;
  #mayStart: boolean;
  #characters = 0;
  #batches = 0;
  #nextBatch: PendingText[] = [];
  readonly #queued = new Map<number, readonly PendingText[]>();
  #responses: ParseResponse[] = [];

  /** @param cores the number of cores that are available to this process. */
  constructor(cores: number = availableParallelism()) {
    this.#mayStart = cores > 1;
  }

  /** Parses the text in either thread. `onParsed` is called once with the result, here or in `finish`. */
  parse(text: string, onParsed: PendingText['onParsed']): void {
    if (!this.tryQueue(text, onParsed)) onParsed(parseDocuments(text));
  }

  /** Returns true if the second thread takes the text. In this case, `onParsed` is called once with the result, here or in `finish`. */
  tryQueue(text: string, onParsed: PendingText['onParsed']): boolean {
    this.#deliverResults();
    if (this.#worker === undefined) {
      this.#characters += text.length;
      if (!this.#mayStart || this.#characters < MIN_CHARACTERS) return false;
      this.#start();
    }
    if (this.#worker === undefined || this.#queued.size >= MAX_QUEUED_BATCHES) return false;
    this.#nextBatch.push({ text, onParsed });
    if (this.#nextBatch.length === BATCH_SIZE) {
      const batch = this.#batches++;
      this.#queued.set(batch, this.#nextBatch);
      const texts = this.#nextBatch.map((pending) => pending.text);
      this.#worker.postMessage({ batch, texts } satisfies ParseRequest);
      this.#nextBatch = [];
    }
    return true;
  }

  /** Resolves when all texts are parsed. This thread also parses queued batches, the last one first. */
  async finish(): Promise<void> {
    parseHere(this.#nextBatch.splice(0));
    for (;;) {
      await setImmediate();
      this.#deliverResults();
      // The thread is processing the first batch.
      const last = [...this.#queued.keys()].at(-1);
      if (last === undefined) break;
      const pending = this.#queued.get(last) ?? [];
      this.#queued.delete(last);
      parseHere(pending);
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
      // Load the module only when it is needed.
      const { Worker } = process.getBuiltinModule('node:worker_threads');
      const limits = { maxYoungGenerationSizeMb: YOUNG_GENERATION_MIB };
      const settings = { env: {}, execArgv: [], resourceLimits: limits };
      const worker = isExecutable
        ? new Worker(packageText('parse-worker'), { ...settings, eval: true })
        : new Worker(THREAD_URL, settings);
      worker.on('message', (response: ParseResponse) => this.#responses.push(response));
      worker.on('error', () => {
        this.#worker = undefined;
      });
      this.#worker = worker;
    } catch {
      // Node may lack the permission to start threads. The texts are then parsed here.
    }
  }

  #deliverResults(): void {
    for (const { batch, parsed } of this.#responses.splice(0)) {
      const pending = this.#queued.get(batch) ?? [];
      this.#queued.delete(batch);
      for (const [index, { text, onParsed }] of pending.entries()) onParsed(parsed[index] ?? parseDocuments(text));
    }
  }
}

function parseHere(pending: readonly PendingText[]): void {
  for (const { text, onParsed } of pending) onParsed(parseDocuments(text));
}
