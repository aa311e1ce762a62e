import { type ConcurrencyLimit, MAX_AUTO_CONCURRENCY, type ResponseTime } from './concurrency-limit.ts';

const FIRST_LIMIT = 16;

/** The factor between two limits. It is small, so that a step above the server's capacity costs little. */
const STEP = 1.25;

/** The minimum share of the limit that must be in flight on average for a response to count. */
const MIN_FILL = 0.7;

/** The length of a round, in responses per concurrent request. A batch of nearly equal responses may end a round earlier. */
const MIN_ROUND = 2;
const MAX_ROUND = 20;
/** A round ends when the error of its mean is a quarter of the decision threshold. */
const PRECISION = Math.log(STEP) / 8;
/** A round whose error is at most this value may end after its first batch of concurrent requests. */
const BATCH_PRECISION = PRECISION / 2;
/** The gap between two batches, as a share of the response time. */
const BATCH_GAP = 0.1;

/** The rest period after a failed experiment, in responses per concurrent request. It doubles after each failure. */
const FIRST_REST = 20;
const MAX_REST = 160;

/** The number of responses that a usable mean needs, and the number above which older responses lose weight. */
const MIN_VALUES = 8;
const MAX_VALUES = 500;

/** The minimum number of comparisons before a step below the first limit, where a wrong step costs most. */
const MIN_COMPARISONS_BELOW = 4;
/** The error of a single comparison, as a share of the step. */
const SINGLE_COMPARISON_ERROR = 0.25;
/** The maximum number of comparisons of a trial without a clear result. */
const MAX_COMPARISONS = 10;

/** The number of responses per concurrent request after which an earlier timeout no longer counts. */
const TIMEOUT_MEMORY = 10;

/** The CPU share of this thread above which the thread itself may cause the delays. */
const BUSY_THRESHOLD = 0.8;

/** An experiment with a limit one step above or below the best limit. Steps up and down alternate. */
interface Trial {
  readonly limit: number;
  /** The logarithm of the relative response time in the last round at the best limit. */
  before: number;
  /** The logarithm of the relative response time in the last round at the changed limit. */
  changed: number;
  /** For each comparison: the change of the response time, relative to the change of the limit. */
  readonly changes: Sample;
}

/**
 * Searches for the limit with the highest throughput, which is concurrency divided by response time. Each change of the limit is an
 * experiment. A step up is kept if throughput rises by at least half of the step. A step down is kept if throughput clearly falls by less
 * than half of the step. A round at a lower limit is compared with the mean of the rounds before and after it, so that other changes of
 * the platform's speed do not count. Refusals and timeouts halve the limit, which later returns to the best limit. Response times are
 * compared as logarithms, so that one slow response does not outweigh the others, and only between requests of the same type.
 */
export class AdaptiveLimit implements ConcurrencyLimit {
  readonly #busy: () => number;
  #now = FIRST_LIMIT;
  /** The best known limit, to which the limit returns after experiments, refusals and timeouts. */
  #best = FIRST_LIMIT;
  #direction: 'up' | 'down' = 'up';
  #trial: Trial | undefined;
  /** The logarithm of the response time at the best limit, by request type. */
  readonly #usual = new Map<string, Sample>();
  /** The response times of the round, relative to the usual response times. */
  #round = new Sample();
  /** The number of responses in the round, including those that are not comparable. */
  #responses = 0;
  #responsesSinceTimeout = 0;
  /** A number that changes with the limit. */
  #stamp = 0;
  /** The start times of requests since the limit changed. The first response ends the list and determines `#batchSize`. */
  #sent: number[] = [];
  /** The number of requests in the first batch after the limit changed. */
  #batchSize: number | undefined;
  /** The number of responses until the next experiment. */
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
    if (this.#batchSize === undefined) this.#sent.push(now);
    return this.#stamp;
  }

  /** Ignores responses to requests that were sent under another limit or did not fill the limit. */
  onResponse(stamp: number, { type, milliseconds, at, inFlight }: ResponseTime): void {
    this.#responsesSinceTimeout++;
    if (stamp !== this.#stamp) return;
    this.#batchSize ??= this.#sent.filter((sent) => sent < at - BATCH_GAP * milliseconds).length;
    if (inFlight < MIN_FILL * this.#now) return;
    const time = Math.log(Math.max(milliseconds, 0.01));
    const usual = this.#usual.get(type) ?? new Sample(MAX_VALUES);
    this.#responses++;
    if (usual.count >= MIN_VALUES) this.#round.add(time - usual.mean);
    if (this.#now === this.#best && this.#trial === undefined) this.#usual.set(type, usual.add(time));
    const isLong = this.#responses >= MAX_ROUND * Math.max(this.#now, MIN_VALUES);
    if (isLong || (this.#isComparable() && this.#round.error <= PRECISION)) this.#endRound();
  }

  onRefusal(): void {
    this.#lower();
    this.#restAfterFailure();
    this.#halve();
  }

  /** A single timeout among many responses does not indicate load, so it does not lower the best limit. */
  onTimeout(): void {
    if (this.#responsesSinceTimeout < TIMEOUT_MEMORY * this.#best) this.#lower();
    this.#responsesSinceTimeout = 0;
    this.#halve();
  }

  #lower(): void {
    const isTooHigh = this.#trial !== undefined && this.#now > this.#best;
    if (!isTooHigh) this.#best = Math.max(1, Math.floor(Math.min(this.#best, this.#now) / STEP));
    this.#direction = 'down';
  }

  #halve(): void {
    this.#trial = undefined;
    this.#change(Math.max(1, Math.floor(this.#now / 2)));
  }

  /** Each comparison is longer than the last one, so that periodic load cannot coincide with all of them. */
  #isComparable(): boolean {
    const isFirst = (this.#trial?.changes.count ?? 0) === 0;
    const isFullBatch = this.#round.count >= MIN_VALUES && this.#responses >= (this.#batchSize ?? 0);
    if (isFirst && isFullBatch && this.#round.error <= BATCH_PRECISION) return true;
    const minRound = MIN_ROUND + (this.#trial?.changes.count ?? 0) / 2;
    return this.#round.count >= minRound * Math.max(this.#now, MIN_VALUES);
  }

  #endRound(): void {
    const isBusy = this.#busy() > BUSY_THRESHOLD;
    if (this.#trial !== undefined) this.#evaluateTrial(this.#trial, isBusy);
    else if (this.#now < this.#best) this.#change(Math.min(this.#best, 2 * this.#now));
    else this.#endRoundWithoutTrial(isBusy);
  }

  /** Continues after a round at the best limit without a trial. */
  #endRoundWithoutTrial(isBusy: boolean): void {
    this.#rest -= this.#responses;
    const { mean } = this.#round;
    if (this.#isComparable() && Math.abs(mean) <= Math.log(STEP) / 2) {
      this.#startTrial(isBusy, mean);
      return;
    }
    if (this.#isComparable()) {
      // The speed of the platform changed, so earlier times are no longer comparable.
      this.#usual.clear();
      if (mean > 0 && !isBusy) {
        this.#direction = 'down';
        this.#rest = 0;
      }
    }
    this.#change(this.#best);
  }

  #evaluateTrial(trial: Trial, isBusy: boolean): void {
    const { limit, changes } = trial;
    const { mean } = this.#round;
    const step = Math.log(limit / this.#best);
    if (!this.#isComparable()) this.#rejectTrial(isBusy);
    else if (limit > this.#best) {
      // If responses became much faster, the platform itself changed: a higher limit cannot cause that.
      if (Math.max(mean, Math.abs(mean - trial.before)) < step / 2) this.#acceptTrial(mean, isBusy);
      else this.#rejectTrial(isBusy);
    } else if (this.#now === limit) {
      trial.changed = mean;
      this.#change(this.#best);
    } else {
      changes.add((trial.changed - (trial.before + mean) / 2) / step);
      trial.before = mean;
      const uncertainty = changes.count === 1 ? SINGLE_COMPARISON_ERROR : 2 * changes.error;
      const minComparisons = limit < FIRST_LIMIT ? MIN_COMPARISONS_BELOW : 1;
      if (isBusy || changes.mean + uncertainty / 2 < 0.5) this.#rejectTrial(isBusy);
      else if (changes.count >= minComparisons && changes.mean - uncertainty > 0.5)
        this.#acceptTrial(changes.mean * step, isBusy);
      else if (changes.count < MAX_COMPARISONS) this.#change(limit);
      else this.#rejectTrial(isBusy);
    }
  }

  #acceptTrial(slower: number, isBusy: boolean): void {
    const limit = this.#trial?.limit ?? this.#best;
    this.#trial = undefined;
    this.#best = limit;
    for (const usual of this.#usual.values()) usual.shift(slower, this.#responses);
    this.#nextRest = FIRST_REST;
    if (this.#now === limit) this.#startTrial(isBusy, 0);
    else this.#change(limit);
  }

  #rejectTrial(isBusy: boolean): void {
    this.#trial = undefined;
    if (isBusy) this.#rest = FIRST_REST * this.#best;
    else if (this.#direction === 'down' || this.#best === 1) {
      // Below the first limit, a step down may have been a mistake, so try a step up again soon.
      if (this.#best < FIRST_LIMIT) this.#nextRest = FIRST_REST;
      this.#restAfterFailure();
    }
    this.#direction = this.#direction === 'up' ? 'down' : 'up';
    this.#change(this.#best);
  }

  /** Starts a trial, except during a rest. If this thread is the bottleneck, a lower limit would not help. */
  #startTrial(isBusy: boolean, before: number): void {
    if (isBusy || this.#best === 1) this.#direction = 'up';
    else if (this.#best === MAX_AUTO_CONCURRENCY && this.#direction === 'up') {
      this.#direction = 'down';
      this.#restAfterFailure();
    }
    const limit = this.#direction === 'up' ? stepUp(this.#best) : stepDown(this.#best);
    const startsTrial = this.#rest <= 0 && limit !== this.#best;
    if (startsTrial) this.#trial = { limit, before, changed: 0, changes: new Sample() };
    this.#change(startsTrial ? limit : this.#best);
  }

  #restAfterFailure(): void {
    this.#rest = this.#nextRest * this.#best;
    this.#nextRest = Math.min(2 * this.#nextRest, MAX_REST);
  }

  #change(limit: number): void {
    if (limit !== this.#now) {
      this.#stamp++;
      this.#sent = [];
      this.#batchSize = undefined;
    }
    this.#now = limit;
    this.#round = new Sample();
    this.#responses = 0;
  }
}

function stepUp(limit: number): number {
  return Math.min(MAX_AUTO_CONCURRENCY, Math.max(limit + 1, Math.floor(limit * STEP)));
}

function stepDown(limit: number): number {
  return Math.max(1, Math.min(limit - 1, Math.ceil(limit / STEP)));
}

/** A running mean and its error. */
class Sample {
  count = 0;
  mean = 0;
  #squares = 0;
  readonly #maxCount: number;

  /** @param maxCount the number of values above which older values lose weight. */
  constructor(maxCount = Number.POSITIVE_INFINITY) {
    this.#maxCount = maxCount;
  }

  get error(): number {
    return this.count < 2 ? Number.POSITIVE_INFINITY : Math.sqrt(this.#squares / (this.count - 1) / this.count);
  }

  add(value: number): this {
    if (this.count < this.#maxCount) this.count++;
    const difference = value - this.mean;
    this.mean += difference / this.count;
    this.#squares += difference * (value - this.mean);
    return this;
  }

  /** Adds `by` to the mean. The mean then has the weight of at most `count` values. */
  shift(by: number, count: number): void {
    this.mean += by;
    this.count = Math.min(this.count, count);
  }
}
