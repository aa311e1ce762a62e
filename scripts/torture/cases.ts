import type { Bench } from './lab.ts';
import type { Random } from './random.ts';

/** A case of the campaign: injects a fault, and checks the outcome. */
export interface Case {
  /** The heading in the table of figures. */
  readonly group: string;
  readonly name: string;
  /** The state backend, or `fleet`. Default: local. */
  readonly backend?: string;
  /** True if the test suite runs this case too. */
  readonly short?: boolean;
  /** True if the case counts its faults itself. */
  readonly counts?: boolean;
  /** Throws if a check fails. */
  run(bench: Bench, random: Random): Promise<void>;
}

/** Thrown if the fault cannot be injected on this machine. */
export class Skipped extends Error {
  override readonly name = 'Skipped';
}

/** Runs a case, and records the result in the figures. Never throws. */
export async function runCase(each: Case, bench: Bench, random: Random): Promise<void> {
  const { figures } = bench;
  try {
    await each.run(bench, random);
    if (!each.counts) figures.count(each.group, each.name);
  } catch (error) {
    if (error instanceof Skipped) figures.addSkipped(each.name, error.message);
    else figures.addFailure(`${each.group}: ${each.name} (seed ${random.seed})`, error);
  }
}

/** Runs all jobs, `concurrency` at a time. */
export async function inParallel(jobs: Iterable<() => Promise<void>>, concurrency: number): Promise<void> {
  const queue = jobs[Symbol.iterator]();
  const worker = async (): Promise<void> => {
    for (let next = queue.next(); next.done !== true; next = queue.next()) await next.value();
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
}
