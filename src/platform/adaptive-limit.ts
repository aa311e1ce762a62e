import { type AnswerTime, type ConcurrencyLimit, MAX_AT_ONCE } from './concurrency-limit.ts';

const FIRST_LIMIT = 16;

/** The factor between two limits. It is small, so that one step above the server's capacity costs little. */
const STEP = 1.25;

/** Minimum mean share of the limit in flight for an answer to say something about the limit. */
const FILLED = 0.85;

/** The minimum number of answers of a round for each concurrent request. A wave of equal answers may be shorter. */
const SHORTEST_ROUND = 2;
const LONGEST_ROUND = 20;
/** A round ends when the error of its mean is a quarter of the decision threshold. */
const PRECISION = Math.log(STEP) / 8;
/** A round of nearly equal answers, with an error below this, ends with its first wave. */
const WAVE_PRECISION = PRECISION / 2;
/** The gap between two waves, as a share of the response time. */
const APART = 0.1;

/** Answers for each concurrent request between failed experiments; doubled after each. */
const FIRST_REST = 20;
const LONGEST_REST = 160;

/** The number of answers for a usable mean; older answers then fade. */
const MIN_VALUES = 8;
const REMEMBERED = 500;

/** The minimum number of comparisons before a step below the first limit, where a wrong step costs most. */
const MIN_COMPARISONS_BELOW = 4;
/** The error of a single comparison, as a share of the step. */
const SINGLE_COMPARISON_ERROR = 0.25;
/** The maximum number of comparisons of a trial without a clear result. */
const MAX_COMPARISONS = 10;

/** Answers for each concurrent request after which a timeout is forgotten. */
const FORGOTTEN = 10;

/** CPU share of this thread above which it may cause the delays itself. */
const BUSY = 0.8;

/** One step up or down from the good limit. The two alternate. */
interface Trial {
  readonly limit: number;
  /** The logarithm of the response time, relative to the usual one, in the last round at the good limit and at this limit. */
  before: number;
  between: number;
  /** For each comparison: the change of the response time, relative to the change of the limit. */
  readonly changes: Sample;
}

/**
 * Searches for the limit with the highest throughput, which is concurrency divided by response time. Each change of the limit is an
 * experiment: a step up stays if throughput rose by at least half of the step, a step down if it clearly fell by less. A round at the
 * changed limit is compared with the mean of the rounds before and after it, so that other changes of the platform's speed do not count.
 * Refusals and timeouts halve the limit, which later returns to the last good one. Response times are compared as logarithms, so that one
 * slow answer does not outweigh the others, and only within the same sort.
 */
export class AdaptiveLimit implements ConcurrencyLimit {
  readonly #busy: () => number;
  #now = FIRST_LIMIT;
  #good = FIRST_LIMIT;
  #direction: 'up' | 'down' = 'up';
  #trial: Trial | undefined;
  /** By sort: the logarithm of the response time at the good limit. */
  readonly #usual = new Map<string, Sample>();
  /** Response times of the round, relative to the usual ones. */
  #round = new Sample();
  /** The number of answers in the round, comparable or not. */
  #answers = 0;
  #answersSinceTimeout = 0;
  /** Changes with the limit. */
  #stamp = 0;
  /** Start times of requests since the limit changed, until the first response shows how many of them filled the limit. */
  #sent: number[] = [];
  #wave: number | undefined;
  /** Answers until the next experiment. */
  #rest = 0;
  #nextRest = FIRST_REST;

  /** @param busy returns the CPU share of this thread since the last call. */
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

  /** Only requests that were sent under this limit and that filled it count. */
  answered(stamp: number, { sort, milliseconds, at, inFlight }: AnswerTime): void {
    this.#answersSinceTimeout++;
    if (stamp !== this.#stamp) return;
    this.#wave ??= this.#sent.filter((sent) => sent < at - APART * milliseconds).length;
    if (inFlight < FILLED * this.#now) return;
    const time = Math.log(Math.max(milliseconds, 0.01));
    const usual = this.#usual.get(sort) ?? new Sample(REMEMBERED);
    this.#answers++;
    if (usual.count >= MIN_VALUES) this.#round.add(time - usual.mean);
    if (this.#now === this.#good && this.#trial === undefined) this.#usual.set(sort, usual.add(time));
    const isLong = this.#answers >= LONGEST_ROUND * Math.max(this.#now, MIN_VALUES);
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
    const isTooHigh = this.#trial !== undefined && this.#now > this.#good;
    if (!isTooHigh) this.#good = Math.max(1, Math.floor(Math.min(this.#good, this.#now) / STEP));
    this.#direction = 'down';
  }

  #halve(): void {
    this.#trial = undefined;
    this.#change(Math.max(1, Math.floor(this.#now / 2)));
  }

  /** Each comparison is longer than the last, so that no periodic load matches all of them. */
  #isComparable(): boolean {
    const isFirst = (this.#trial?.changes.count ?? 0) === 0;
    const isWave = this.#round.count >= MIN_VALUES && this.#answers >= (this.#wave ?? 0);
    if (isFirst && isWave && this.#round.error <= WAVE_PRECISION) return true;
    const shortest = SHORTEST_ROUND + (this.#trial?.changes.count ?? 0) / 2;
    return this.#round.count >= shortest * Math.max(this.#now, MIN_VALUES);
  }

  #endRound(): void {
    const isBusy = this.#busy() > BUSY;
    if (this.#trial !== undefined) this.#judge(this.#trial, isBusy);
    else if (this.#now < this.#good) this.#change(Math.min(this.#good, 2 * this.#now));
    else this.#afterGoodRound(isBusy);
  }

  /** Continues after a round at the good limit, outside of a trial. */
  #afterGoodRound(isBusy: boolean): void {
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
      const uncertainty = changes.count === 1 ? SINGLE_COMPARISON_ERROR : 2 * changes.error;
      const fewest = limit < FIRST_LIMIT ? MIN_COMPARISONS_BELOW : 1;
      if (isBusy || changes.mean + uncertainty / 2 < 0.5) this.#fail(isBusy);
      else if (changes.count >= fewest && changes.mean - uncertainty > 0.5) this.#accept(changes.mean * step, isBusy);
      else if (changes.count < MAX_COMPARISONS) this.#change(limit);
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
    else if (this.#good === MAX_AT_ONCE && this.#direction === 'up') {
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
  return Math.min(MAX_AT_ONCE, Math.max(limit + 1, Math.floor(limit * STEP)));
}

function stepDown(limit: number): number {
  return Math.max(1, Math.min(limit - 1, Math.ceil(limit / STEP)));
}

/** A running mean with its error. */
class Sample {
  count = 0;
  mean = 0;
  #squares = 0;
  readonly #remembered: number;

  /** @param remembered number of values after which older ones fade. */
  constructor(remembered = Number.POSITIVE_INFINITY) {
    this.#remembered = remembered;
  }

  get error(): number {
    return this.count < 2 ? Number.POSITIVE_INFINITY : Math.sqrt(this.#squares / (this.count - 1) / this.count);
  }

  add(value: number): this {
    if (this.count < this.#remembered) this.count++;
    const difference = value - this.mean;
    this.mean += difference / this.count;
    this.#squares += difference * (value - this.mean);
    return this;
  }

  /** Adds `by` to the mean, based on `count` values. */
  shift(by: number, count: number): void {
    this.mean += by;
    this.count = Math.min(this.count, count);
  }
}
