import type { OpenWorkspace } from '../runs/open-workspace.ts';
import { type PastRun, pastRuns } from '../runs/past-runs.ts';
import type { Orphan } from '../state/state-document.ts';

interface StateParts {
  readonly orphans: readonly Orphan[];
  readonly runs: readonly PastRun[];
}

/** Milliseconds after which changes by others are visible. */
const KEPT = 60_000;

/** The shown parts of a state: read on request, and kept for a while. */
export class KeptStateParts {
  readonly #opened: () => OpenWorkspace | undefined;
  #parts: Promise<StateParts> | undefined;
  #readAt = 0;

  constructor(opened: () => OpenWorkspace | undefined) {
    this.#opened = opened;
  }

  forget(): void {
    this.#parts = undefined;
  }

  /** @throws UserError if the state cannot be read. */
  read(): Promise<StateParts> {
    const now = performance.now();
    if (now - this.#readAt > KEPT) this.#parts = undefined;
    if (this.#parts === undefined) this.#readAt = now;
    this.#parts ??= this.#read();
    this.#parts.catch(() => this.forget());
    return this.#parts;
  }

  async #read(): Promise<StateParts> {
    const opened = this.#opened();
    if (opened === undefined) return { orphans: [], runs: [] };
    const [{ orphans }, runs] = [await opened.stateAhead(), await pastRuns(opened.store)];
    return { orphans, runs };
  }
}
