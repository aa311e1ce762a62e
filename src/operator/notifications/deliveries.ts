import { type AttemptResult, isSuccess } from '../../platform/exchange.ts';
import { failureWords } from '../../platform/failure.ts';
import { backoff, isRefusal, pauseOfRefusal, sendWithRetries } from '../../platform/retry.ts';
import { type Network, WebClient } from '../../platform/web-client.ts';
import type { Clock } from '../clock.ts';
import type { DeliveryResult } from '../health/metrics.ts';
import type { WatchLog } from '../watch-log.ts';
import type { Receiver } from './receiver.ts';

interface Delivery extends Pick<Receiver, 'url' | 'shown' | 'header'> {
  /** The project whose webhook this is, in a fleet of projects that must not delay each other. */
  readonly project?: string | undefined;
  readonly body: string;
  /** Called with the final result, and once before with `delayed` if many attempts failed. `problem` is the reason, without secrets. */
  onResult(result: DeliveryResult, problem: string): void;
  readonly network: Network;
}

interface Reporting {
  /** The name of the receiver in messages. */
  readonly shown: string;
  readonly log: WatchLog;
  onResult(result: DeliveryResult): void;
}

/** Counts a result and logs it. */
export function reportDelivery(result: DeliveryResult, problem: string, { shown, log, onResult }: Reporting): void {
  onResult(result);
  if (result === 'delivered') log.entry('debug', `notified ${shown}`, { event: 'notified' });
  else log.entry('warning', `notification to ${shown} ${result}: ${problem}`, { event: 'not-notified' });
}

interface DeliveriesOptions {
  readonly clock: Clock;
  random(): number;
}

/** The maximum number of pending deliveries of a project per receiver; later ones are dropped. */
const MAX_WAITING = 32;
/** The maximum number of characters of all pending deliveries. A project may use at most as many as it leaves free for the others. */
const MAX_PENDING_LENGTH = 64 * 1024 * 1024;
/** The number of attempts after which a delivery is reported as delayed. */
const DELAYED_AFTER_ATTEMPTS = 5;

const LIMITS = { connections: 1, timeoutMilliseconds: 10_000, maxBodyBytes: 1024 * 1024 };

/** The backoff between attempts, in milliseconds. */
const BACKOFF = { first: 1000, max: 300_000 };
/** The maximum pause that a receiver may request. */
const MAX_REQUESTED_PAUSE_MS = 3_600_000;

/** Delivers notifications in order for each receiver. Retries until it accepts or rejects them, because later runs do not repeat them. */
export class Deliveries {
  readonly #options: DeliveriesOptions;
  /** The pending deliveries of each project and receiver. A receiver may fail for the messages of one project alone. */
  readonly #waiting = new Map<string, Delivery[]>();
  readonly #inFlight = new Set<Promise<void>>();
  readonly #end = new AbortController();
  readonly #web = new WebClient(LIMITS);
  /** The number of characters of the pending deliveries of each project. */
  readonly #pendingLengths = new Map<string, number>();

  constructor(options: DeliveriesOptions) {
    this.#options = options;
  }

  /** True once pending deliveries are cancelled. */
  get hasEnded(): boolean {
    return this.#end.signal.aborted;
  }

  add(delivery: Delivery): void {
    const { project = '', body } = delivery;
    const receiver = JSON.stringify([project, delivery.url.reveal()]);
    const waiting = this.#waiting.get(receiver);
    const used = [...this.#pendingLengths.values()].reduce((sum, length) => sum + length, 0);
    const length = (this.#pendingLengths.get(project) ?? 0) + body.length;
    const isFull = length > MAX_PENDING_LENGTH - used - body.length;
    if (isFull || (waiting?.length ?? 0) >= MAX_WAITING) {
      delivery.onResult('dropped', `too many notifications pending${isFull ? '' : ' for this receiver'}`);
      return;
    }
    this.#pendingLengths.set(project, length);
    if (waiting !== undefined) waiting.push(delivery);
    else {
      this.#waiting.set(receiver, [delivery]);
      const work = this.#deliver(receiver).finally(() => this.#inFlight.delete(work));
      this.#inFlight.add(work);
    }
  }

  /** Waits for pending deliveries for at most this many milliseconds, then cancels the rest. */
  async flush(milliseconds: number): Promise<void> {
    const { promise: timeout, resolve } = Promise.withResolvers<void>();
    const cancel = this.#options.clock.after(milliseconds, resolve);
    await Promise.race([Promise.all(this.#inFlight), timeout]);
    cancel();
    this.#end.abort();
    await Promise.all(this.#inFlight);
    await this.#web.close();
  }

  async #deliver(receiver: string): Promise<void> {
    const waiting = this.#waiting.get(receiver) ?? [];
    for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
      const problem = await this.#send(next);
      next.onResult(problem === undefined ? 'delivered' : 'failed', problem ?? '');
      waiting.shift();
      const { project = '', body } = next;
      const length = (this.#pendingLengths.get(project) ?? 0) - body.length;
      if (length > 0) this.#pendingLengths.set(project, length);
      else this.#pendingLengths.delete(project);
    }
    this.#waiting.delete(receiver);
  }

  /** Sends a notification. Returns the reason for a failed delivery; undefined after a successful delivery. */
  async #send(delivery: Delivery): Promise<string | undefined> {
    const { signal } = this.#end;
    const { url, header, body, network } = delivery;
    const { result } = await sendWithRetries(
      () =>
        this.#web.send({
          method: 'POST',
          url: new URL(url.reveal()),
          network,
          headers: header === undefined ? {} : { [header.name]: header.value.reveal() },
          body,
          signal,
        }),
      {
        mayRetry: ({ status }) => !signal.aborted && (status === undefined || isRefusal(status)),
        requestedPause: (result) => {
          const requested = pauseOfRefusal(result, Date.now());
          return requested === undefined ? undefined : Math.min(requested, MAX_REQUESTED_PAUSE_MS);
        },
        budget: { remaining: Number.POSITIVE_INFINITY },
        wait: ({ requested = 0, result, attempts }) => {
          const problem = problemOf(result, delivery) ?? '';
          if (attempts === DELAYED_AFTER_ATTEMPTS)
            delivery.onResult('delayed', `${problem} (after ${attempts} attempts)`);
          return this.#pause(Math.max(requested, backoff(attempts, this.#options.random, BACKOFF)));
        },
      },
    );
    const problem = problemOf(result, delivery);
    return problem !== undefined && signal.aborted ? 'voxform stopped' : problem;
  }

  async #pause(milliseconds: number): Promise<void> {
    const { signal } = this.#end;
    await new Promise<void>((resolve) => {
      const cancel = this.#options.clock.after(milliseconds, resolve);
      const stop = (): void => {
        cancel();
        resolve();
      };
      if (signal.aborted) stop();
      else signal.addEventListener('abort', stop, { once: true });
    });
  }
}

function problemOf(result: AttemptResult, { url, network }: Delivery): string | undefined {
  if (result.status !== undefined) return isSuccess(result.status) ? undefined : `status ${result.status}`;
  if (result.type === 'response') return undefined;
  const { host } = new URL(url.reveal());
  const { timeoutMilliseconds, maxBodyBytes } = LIMITS;
  const peer = { host, proxy: network.proxy, timeoutSeconds: timeoutMilliseconds / 1000, maxBodyBytes };
  return failureWords({ ...peer, redact: String }, result);
}
