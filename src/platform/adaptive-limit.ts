import { type AnswerTime, type ConcurrencyLimit, MOST_AT_ONCE } from './concurrency-limit.ts';

const FIRST_LIMIT = 16;

/** Small enough that one step past what a server can do at once stays below half as much again. */
const STEP = 1.25;

/** A round has at least so many answers for each request at once, and at most so many. */
const SHORTEST_ROUND = 2;
const LONGEST_ROUND = 20;
/** A round ends once the error of its mean is a third of what decides. */
const PRECISION = Math.log(STEP) / 6;

/** Answers for each request at once between experiments that failed: doubled each time. */
const FIRST_REST = 20;
const LONGEST_REST = 160;

/** Answers that make a mean usable, and after which older ones fade. */
const FEWEST = 8;
const REMEMBERED = 500;

/** Share of its time that our own thread computes from which on a delay may be ours. */
const BUSY = 0.8;

/**
 * Climbs to the throughput that the platform has. Throughput is requests at once over the time of an answer, so a changed limit
 * is an experiment of one round: a step up stays if throughput rose by at least half of the step, a step down if it fell by less.
 * Refusals and timeouts halve the limit, which then returns to what was good before. Times are compared as logarithms, so that
 * one slow answer does not outweigh the others, and only with those of the same sort of request.
 */
export class AdaptiveLimit implements ConcurrencyLimit {
  readonly #busy: () => number;
  #now = FIRST_LIMIT;
  /** The best that is known. */
  #good = FIRST_LIMIT;
  #direction: 'up' | 'down' = 'up';
  #isExperiment = false;
  /** By sort: the logarithm of the time of an answer at the good limit. */
  readonly #usual = new Map<string, Sample>();
  /** How much longer than usual the answers took. */
  #round = new Sample();
  /** Answers of the round, comparable or not. */
  #answers = 0;
  /** Changes with the limit. */
  #stamp = 0;
  /** Answers until the next experiment. */
  #rest = 0;
  #nextRest = FIRST_REST;

  /** @param busy gives the share of its time for which this thread has computed since it was last asked. */
  constructor(busy: () => number) {
    this.#busy = busy;
  }

  get now(): number {
    return this.#now;
  }

  /** Only requests that fill the limit show what it does. */
  stamp(running: number): number {
    return running === this.#now ? this.#stamp : -1;
  }

  answered(stamp: number, { sort, milliseconds }: AnswerTime): void {
    if (stamp !== this.#stamp) return;
    const time = Math.log(Math.max(milliseconds, 0.01));
    const usual = this.#usual.get(sort) ?? new Sample(REMEMBERED);
    this.#answers++;
    if (usual.count >= FEWEST) this.#round.add(time - usual.mean);
    if (this.#now === this.#good) this.#usual.set(sort, usual.add(time));
    const isLong = this.#answers >= LONGEST_ROUND * Math.max(this.#now, FEWEST);
    if (isLong || (this.#isComparable() && this.#round.error <= PRECISION)) this.#endRound();
  }

  refused(): void {
    this.#halve();
  }

  timedOut(): void {
    this.#halve();
  }

  #halve(): void {
    const wentTooFar = this.#isExperiment && this.#now > this.#good;
    if (!wentTooFar) this.#good = Math.max(1, Math.floor(Math.min(this.#good, this.#now) / STEP));
    this.#restAfterFailure();
    this.#direction = 'down';
    this.#change(Math.max(1, Math.floor(this.#now / 2)), false);
  }

  #isComparable(): boolean {
    return this.#round.count >= SHORTEST_ROUND * Math.max(this.#now, FEWEST);
  }

  #endRound(): void {
    const isBusy = this.#busy() > BUSY;
    if (this.#isExperiment) this.#judge(isBusy);
    else if (this.#now < this.#good) this.#change(Math.min(this.#good, stepUp(this.#now)), false);
    else this.#goOn(isBusy);
  }

  /** After a round at the good limit. */
  #goOn(isBusy: boolean): void {
    this.#rest -= this.#answers;
    if (this.#isComparable() && Math.abs(this.#round.mean) > Math.log(STEP) / 2) {
      // The platform changed: what it took before is no measure any more.
      if (this.#round.mean > 0 && !isBusy) {
        this.#direction = 'down';
        this.#rest = 0;
      }
      this.#usual.clear();
      this.#change(this.#good, false);
    } else this.#try(isBusy);
  }

  #judge(isBusy: boolean): void {
    const half = Math.log(this.#now / this.#good) / 2;
    if (this.#isComparable() && this.#round.mean < half) {
      this.#good = this.#now;
      for (const usual of this.#usual.values()) usual.shift(this.#round);
      this.#nextRest = FIRST_REST;
      this.#try(isBusy);
      return;
    }
    if (isBusy) this.#rest = FIRST_REST * this.#good;
    else if (this.#direction === 'down' || this.#good === 1) this.#restAfterFailure();
    this.#direction = this.#direction === 'up' ? 'down' : 'up';
    this.#change(this.#good, false);
  }

  /** Another limit, unless it is time to rest. Less would not help where our own thread is what takes the time. */
  #try(isBusy: boolean): void {
    if (isBusy || this.#good === 1) this.#direction = 'up';
    else if (this.#good === MOST_AT_ONCE && this.#direction === 'up') {
      this.#direction = 'down';
      this.#restAfterFailure();
    }
    const next = this.#direction === 'up' ? stepUp(this.#good) : stepDown(this.#good);
    if (this.#rest > 0 || next === this.#good) this.#change(this.#good, false);
    else this.#change(next, true);
  }

  #restAfterFailure(): void {
    this.#rest = this.#nextRest * this.#good;
    this.#nextRest = Math.min(2 * this.#nextRest, LONGEST_REST);
  }

  #change(limit: number, isExperiment: boolean): void {
    if (limit !== this.#now) this.#stamp++;
    this.#now = limit;
    this.#isExperiment = isExperiment;
    this.#round = new Sample();
    this.#answers = 0;
  }
}

function stepUp(limit: number): number {
  return Math.min(MOST_AT_ONCE, Math.max(limit + 1, Math.floor(limit * STEP)));
}

function stepDown(limit: number): number {
  return Math.max(1, Math.min(limit - 1, Math.ceil(limit / STEP)));
}

/** Mean of what was added and its error. */
class Sample {
  count = 0;
  mean = 0;
  #squares = 0;
  readonly #remembered: number;

  /** @param remembered Number of values after which older ones fade. */
  constructor(remembered = Number.POSITIVE_INFINITY) {
    this.#remembered = remembered;
  }

  /** Standard error of the mean. */
  get error(): number {
    return this.count < 2
      ? Number.POSITIVE_INFINITY
      : Math.sqrt(this.#squares / (this.count - 1) / this.count);
  }

  add(value: number): this {
    if (this.count < this.#remembered) this.count++;
    const difference = value - this.mean;
    this.mean += difference / this.count;
    this.#squares += difference * (value - this.mean);
    return this;
  }

  /** By the mean of another. */
  shift({ count, mean }: Sample): void {
    this.mean += mean;
    this.count = Math.min(this.count, count);
  }
}
