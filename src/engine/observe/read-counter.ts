import type { PlatformClient } from '../../platform/client.ts';

/** Told while observing, in records. */
export interface ReadProgress {
  readonly done: number;
  /** As far as it is known. */
  readonly total: number;
  /** Reads of single records that wait for their answer. */
  readonly inFlight: number;
  /** True while a list is being read, so that `total` grows. */
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

  /** @param client sends no more of them at once than it may. */
  constructor(tell?: OnReadProgress, client?: Pick<PlatformClient, 'atOnce'>) {
    this.#tell = tell;
    this.#client = client;
  }

  expect(count: number): void {
    this.#total += count;
  }

  done(count: number): void {
    this.#done += count;
    this.#told();
  }

  /** Does the reading of one record that was expected. */
  async single(read: () => Promise<void>): Promise<void> {
    this.#inFlight += 1;
    try {
      await read();
    } finally {
      this.#inFlight -= 1;
    }
    this.done(1);
  }

  /** Does the reading of a list, whose length shows at its end. */
  async list(read: () => Promise<void>): Promise<void> {
    this.#lists += 1;
    try {
      await read();
    } finally {
      this.#lists -= 1;
    }
  }

  #told(): void {
    this.#tell?.({
      done: this.#done,
      total: this.#total,
      inFlight: Math.min(this.#inFlight, this.#client?.atOnce() ?? this.#inFlight),
      growing: this.#lists > 0,
    });
  }
}
