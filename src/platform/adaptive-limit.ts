import { type AnswerTime, type ConcurrencyLimit, MOST_AT_ONCE } from './concurrency-limit.ts';

const FIRST_LIMIT = 16;

/** Small enough that one step past what a server can do at once stays below half as much again. */
const STEP = 1.25;

/** An answer shows what the limit does if on average nearly as many requests were in flight. */
const FILLED = 0.85;

/** A round has at least so many answers for each request at once, a wave of equal ones apart, and at most so many. */
const SHORTEST_ROUND = 2;
const LONGEST_ROUND = 20;
/** A round ends once the error of its mean is a quarter of what decides. */
const PRECISION = Math.log(STEP) / 8;
/** A round whose answers are nearly equal, so that the error is this small, ends with its first wave. */
const WAVE_PRECISION = PRECISION / 2;
/** Share of the time of an answer that lies between two waves. */
const APART = 0.1;

/** Answers for each request at once between experiments that failed: doubled each time. */
const FIRST_REST = 20;
const LONGEST_REST = 160;

/** Answers that make a mean usable, and after which older ones fade. */
const FEWEST = 8;
const REMEMBERED = 500;

/** Comparisons that a step down below the first limit needs, at least: a wrong one costs most there. */
const FEWEST_LOOKS_BELOW = 4;
/** Doubt about a single comparison, as a share of the step. */
const ONE_LOOK = 0.25;
/** Comparisons after which it is not clear that less would do. */
const MOST_LOOKS = 10;

/** Answers for each request at once after which a timeout is forgotten. */
const FORGOTTEN = 10;

/** Share of its time that our own thread computes from which on a delay may be ours. */
const BUSY = 0.8;

/** One step up or down from the good limit, which is tried alternately with it. */
interface Trial {
  readonly limit: number;
  /** Of the last round at the good limit, and of the one at this limit: how much longer than usual answers took. */
  before: number;
  between: number;
  /** What the step changed in the time of an answer, for each comparison; 1 is what it changed in the requests at once. */
  readonly changes: Sample;
}

/**
 * Climbs to the throughput of the platform. Throughput is requests at once over the time of a response, so a changed limit
 * is an experiment: a step up stays if throughput rose by at least half of the step, a step down if it clearly fell by less.
 * A round at the changed limit is compared with the mean of those before and after it, so that a platform that speeds up or
 * slows down by itself does not decide. Refusals and timeouts halve the limit, which then returns to what was good before.
 * Times are compared as logarithms, so that one slow answer does not outweigh the others, and only with those of the same sort.
 */
export class AdaptiveLimit implements ConcurrencyLimit {
  readonly #busy: () => number;
  #now = FIRST_LIMIT;
  /** The best known limit. */
  #good = FIRST_LIMIT;
  #direction: 'up' | 'down' = 'up';
  #trial: Trial | undefined;
  /** By sort: the logarithm of the time of an answer at the good limit. */
  readonly #usual = new Map<string, Sample>();
  /** How much longer than usual the responses took. */
  #round = new Sample();
  /** Answers of the round, comparable or not. */
  #answers = 0;
  #answersSinceTimeout = 0;
  /** Changes with the limit. */
  #stamp = 0;
  /** When requests were sent since the limit changed, until the first response shows how many of them filled the limit. */
  #sent: number[] = [];
  #wave: number | undefined;
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

  stamp(now: number): number {
    if (this.#wave === undefined) this.#sent.push(now);
    return this.#stamp;
  }

  /** Only requests that were sent under this limit and filled it count. */
  answered(stamp: number, { sort, milliseconds, at, inFlight }: AnswerTime): void {
    this.#answersSinceTimeout++;
    if (stamp !== this.#stamp) return;
    this.#wave ??= this.#sent.filter((sent) => sent < at - APART * milliseconds).length;
    if (inFlight < FILLED * this.#now) return;
    const time = Math.log(Math.max(milliseconds, 0.01));
    const usual = this.#usual.get(sort) ?? new Sample(REMEMBERED);
    this.#answers++;
    if (usual.count >= FEWEST) this.#round.add(time - usual.mean);
    if (this.#now === this.#good && this.#trial === undefined) this.#usual.set(sort, usual.add(time));
    const isLong = this.#answers >= LONGEST_ROUND * Math.max(this.#now, FEWEST);
    if (isLong || (this.#isComparable() && this.#round.error <= PRECISION)) this.#endRound();
  }

  refused(): void {
    this.#lower();
    this.#restAfterFailure();
    this.#halve();
  }

  /** One timeout among many good responses shows no load. */
  timedOut(): void {
    if (this.#answersSinceTimeout < FORGOTTEN * this.#good) this.#lower();
    this.#answersSinceTimeout = 0;
    this.#halve();
  }

  #lower(): void {
    const wentTooFar = this.#trial !== undefined && this.#now > this.#good;
    if (!wentTooFar) this.#good = Math.max(1, Math.floor(Math.min(this.#good, this.#now) / STEP));
    this.#direction = 'down';
  }

  #halve(): void {
    this.#trial = undefined;
    this.#change(Math.max(1, Math.floor(this.#now / 2)));
  }

  /** Each comparison takes longer than the last, so that no periodic load fits all of them. */
  #isComparable(): boolean {
    const isFirst = (this.#trial?.changes.count ?? 0) === 0;
    const isWave = this.#round.count >= FEWEST && this.#answers >= (this.#wave ?? 0);
    if (isFirst && isWave && this.#round.error <= WAVE_PRECISION) return true;
    const shortest = SHORTEST_ROUND + (this.#trial?.changes.count ?? 0) / 2;
    return this.#round.count >= shortest * Math.max(this.#now, FEWEST);
  }

  #endRound(): void {
    const isBusy = this.#busy() > BUSY;
    if (this.#trial !== undefined) this.#judge(this.#trial, isBusy);
    else if (this.#now < this.#good) this.#change(Math.min(this.#good, 2 * this.#now));
    else this.#goOn(isBusy);
  }

  /** After a round at the good limit, outside a trial. */
  #goOn(isBusy: boolean): void {
    this.#rest -= this.#answers;
    const { mean } = this.#round;
    if (this.#isComparable() && Math.abs(mean) <= Math.log(STEP) / 2) {
      this.#try(isBusy, mean);
      return;
    }
    if (this.#isComparable()) {
      // The platform changed, so earlier times no longer compare.
      this.#usual.clear();
      if (mean > 0 && !isBusy) {
        this.#direction = 'down';
        this.#rest = 0;
      }
    }
    this.#change(this.#good);
  }

  #judge(trial: Trial, isBusy: boolean): void {
    const { limit, changes } = trial;
    const { mean } = this.#round;
    const step = Math.log(limit / this.#good);
    if (!this.#isComparable()) this.#fail(isBusy);
    else if (limit > this.#good) {
      // More requests at once cannot make responses faster: the platform changed meanwhile.
      if (Math.max(mean, Math.abs(mean - trial.before)) < step / 2) this.#accept(mean, isBusy);
      else this.#fail(isBusy);
    } else if (this.#now === limit) {
      trial.between = mean;
      this.#change(this.#good);
    } else {
      changes.add((trial.between - (trial.before + mean) / 2) / step);
      trial.before = mean;
      const doubt = changes.count === 1 ? ONE_LOOK : 2 * changes.error;
      const fewest = limit < FIRST_LIMIT ? FEWEST_LOOKS_BELOW : 1;
      if (isBusy || changes.mean + doubt / 2 < 0.5) this.#fail(isBusy);
      else if (changes.count >= fewest && changes.mean - doubt > 0.5)
        this.#accept(changes.mean * step, isBusy);
      else if (changes.count < MOST_LOOKS) this.#change(limit);
      else this.#fail(isBusy);
    }
  }

  #accept(slower: number, isBusy: boolean): void {
    const limit = this.#trial?.limit ?? this.#good;
    this.#trial = undefined;
    this.#good = limit;
    for (const usual of this.#usual.values()) usual.shift(slower, this.#answers);
    this.#nextRest = FIRST_REST;
    if (this.#now === limit) this.#try(isBusy, 0);
    else this.#change(limit);
  }

  #fail(isBusy: boolean): void {
    this.#trial = undefined;
    if (isBusy) this.#rest = FIRST_REST * this.#good;
    else if (this.#direction === 'down' || this.#good === 1) {
      // Below the first limit a step down may have been a mistake: a step up is tried again soon.
      if (this.#good < FIRST_LIMIT) this.#nextRest = FIRST_REST;
      this.#restAfterFailure();
    }
    this.#direction = this.#direction === 'up' ? 'down' : 'up';
    this.#change(this.#good);
  }

  /** Tries another limit, unless it is time to rest. A lower one would not help if our own thread is the bottleneck. */
  #try(isBusy: boolean, before: number): void {
    if (isBusy || this.#good === 1) this.#direction = 'up';
    else if (this.#good === MOST_AT_ONCE && this.#direction === 'up') {
      this.#direction = 'down';
      this.#restAfterFailure();
    }
    const limit = this.#direction === 'up' ? stepUp(this.#good) : stepDown(this.#good);
    const isTried = this.#rest <= 0 && limit !== this.#good;
    if (isTried) this.#trial = { limit, before, between: 0, changes: new Sample() };
    this.#change(isTried ? limit : this.#good);
  }

  #restAfterFailure(): void {
    this.#rest = this.#nextRest * this.#good;
    this.#nextRest = Math.min(2 * this.#nextRest, LONGEST_REST);
  }

  #change(limit: number): void {
    if (limit !== this.#now) {
      this.#stamp++;
      this.#sent = [];
      this.#wave = undefined;
    }
    this.#now = limit;
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

  /** By so much, which so many values showed. */
  shift(by: number, count: number): void {
    this.mean += by;
    this.count = Math.min(this.count, count);
  }
}
