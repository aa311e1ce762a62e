import type { PlatformClient } from '../../platform/client.ts';

/** Progress of the reads, in records. */
export interface ReadProgress {
  readonly done: number;
  /** As far as known. */
  readonly total: number;
  /** Reads of single records in flight. */
  readonly inFlight: number;
  /** True while a list is being read, so `total` may grow. */
  readonly growing: boolean;
}

export type OnReadProgress = ((progress: ReadProgress) => void) | undefined;

export class ReadCounter {
  #done = 0;
  #total = 0;
  #inFlight = 0;
  #lists = 0;
  readonly #tell: OnReadProgress;
  readonly #client: Pick<PlatformClient, 'atOnce'> | undefined;

  /** @param client limits the number of reads in flight. */
  constructor(onProgress?: OnReadProgress, client?: Pick<PlatformClient, 'atOnce'>) {
    this.#tell = onProgress;
    this.#client = client;
  }

  expect(count: number): void {
    this.#total += count;
  }

  done(count: number): void {
    this.#done += count;
    this.#notify();
  }

  /** Counts the read of one expected record. */
  async single(read: () => Promise<void>): Promise<void> {
    this.#inFlight += 1;
    try {
      await read();
    } finally {
      this.#inFlight -= 1;
    }
    this.done(1);
  }

  /** Counts the read of a list, whose length is known at its end. */
  async list(read: () => Promise<void>): Promise<void> {
    this.#lists += 1;
    try {
      await read();
    } finally {
      this.#lists -= 1;
    }
  }

  #notify(): void {
    this.#tell?.({
      done: this.#done,
      total: this.#total,
      inFlight: Math.min(this.#inFlight, this.#client?.atOnce() ?? this.#inFlight),
      growing: this.#lists > 0,
    });
  }
}
