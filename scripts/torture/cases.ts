import type { Bench } from './lab.ts';
import type { Random } from './random.ts';

/** One kind of trouble, made on purpose, and what must come of it: throws where that does not hold. */
export interface Case {
  /** Heading of the figures. */
  readonly group: string;
  readonly name: string;
  /** Of the state, where it is not local. */
  readonly backend?: string;
  /** Among those that the short form of the campaign runs. */
  readonly short?: boolean;
  /** True where it counts by itself how often it made its trouble. */
  readonly counts?: boolean;
  run(bench: Bench, random: Random): Promise<void>;
}

/** Thrown where this machine cannot make the trouble. */
export class Skipped extends Error {
  override readonly name = 'Skipped';
}

/** Runs a case, and counts it. Never throws. */
export async function runCase(each: Case, bench: Bench, random: Random): Promise<void> {
  const { figures } = bench;
  try {
    await each.run(bench, random);
    if (!each.counts) figures.count(each.group, each.name);
  } catch (error) {
    if (error instanceof Skipped) figures.skipped(each.name, error.message);
    else figures.failed(`${each.group}: ${each.name} (seed ${random.seed})`, error);
  }
}

/** Runs them, `width` at once, until all are done. */
export async function inParallel(jobs: Iterable<() => Promise<void>>, width: number): Promise<void> {
  const queue = jobs[Symbol.iterator]();
  const worker = async (): Promise<void> => {
    for (let next = queue.next(); next.done !== true; next = queue.next()) await next.value();
  };
  await Promise.all(Array.from({ length: width }, worker));
}
