import type { PastRun } from '../runs/past-runs.ts';
import type { RunDetail } from './page-data.ts';
import { detailOfPastRun } from './run-details.ts';

/** The number of remembered runs of a process, and of listed runs. */
const MOST = 50;

/** The latest runs of this process, with decisions of people. */
export class OwnRuns {
  readonly #runs: RunDetail[] = [];

  keep(run: RunDetail): void {
    this.#runs.unshift(run);
    this.#runs.length = Math.min(this.#runs.length, MOST);
  }

  find(id: string): RunDetail | undefined {
    return this.#runs.find((run) => run.id === id);
  }

  /** These runs, and those of others from the state. A run that took the lock is in both. */
  with(past: readonly PastRun[]): RunDetail[] {
    const isKept = (own: RunDetail) => !past.some((run) => isSameRun(run, own));
    return [...this.#runs.filter(isKept), ...past.map(detailOfPastRun)]
      .sort((a, b) => b.began.getTime() - a.began.getTime())
      .slice(0, MOST);
  }
}

function isSameRun({ command, began }: PastRun, own: RunDetail): boolean {
  const at = Date.parse(began);
  const ended = own.began.getTime() + (own.seconds ?? 0) * 1000;
  return command === 'watch' && at >= own.began.getTime() && at <= ended;
}
