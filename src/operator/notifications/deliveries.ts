import { type Dispatcher, request } from 'undici';
import { poolFor } from '../../platform/connection.ts';
import { ProxyFailure } from '../../platform/proxy.ts';
import { retryAfter } from '../../platform/retry.ts';
import type { TransportOptions } from '../../platform/transport.ts';
import { errorCode } from '../../problems/error-code.ts';
import type { Secret } from '../../values/value.ts';
import { VERSION } from '../../version.ts';
import type { Clock } from '../clock.ts';
import type { DeliveryResult } from '../health/metrics.ts';

interface Delivery {
  readonly url: Secret;
  /** For messages. */
  readonly shown: string;
  readonly header: { readonly name: string; readonly value: Secret } | undefined;
  readonly body: string;
  /** Called with each result, `delayed` before the last one; `problem` says why it was not delivered, and names no secret. */
  onResult(result: DeliveryResult, problem: string): void;
  /** How the receiver is reached. */
  readonly network: Pick<TransportOptions, 'proxy' | 'ca'>;
}

interface Tried {
  /** Undefined once it is delivered. */
  readonly problem: string | undefined;
  readonly isFinal: boolean;
  /** Milliseconds that the receiver asks for before the next try. */
  readonly asked?: number | undefined;
}

interface DeliveriesOptions {
  readonly clock: Clock;
  random(): number;
}

/** Waiting for one receiver; what comes when there are as many is left out. */
const MOST_WAITING = 32;
/** Tries after which a delivery is reported as delayed. */
const REPORTED_TRIES = 5;

/** Milliseconds. */
const TIMEOUT = 10_000;
const FIRST_PAUSE = 1000;
const LONGEST_PAUSE = 300_000;
/** A receiver that asks for a longer pause is tried again after this one. */
const LONGEST_ASKED = 3_600_000;

/**
 * Delivers notifications, in order for each receiver, without blocking the watch. What a receiver does not take for now is tried
 * until it does: nothing else would tell it again.
 */
export class Deliveries {
  readonly #options: DeliveriesOptions;
  readonly #waiting = new Map<string, Delivery[]>();
  readonly #underWay = new Set<Promise<void>>();
  readonly #end = new AbortController();
  /** By receiver: each has one connection. */
  readonly #pools = new Map<string, Promise<Dispatcher>>();

  constructor(options: DeliveriesOptions) {
    this.#options = options;
  }

  /** True once what is not delivered is given up. */
  get hasEnded(): boolean {
    return this.#end.signal.aborted;
  }

  add(delivery: Delivery): void {
    const receiver = delivery.url.reveal();
    const waiting = this.#waiting.get(receiver);
    if (waiting === undefined) {
      this.#waiting.set(receiver, [delivery]);
      const work = this.#deliver(receiver).finally(() => this.#underWay.delete(work));
      this.#underWay.add(work);
    } else if (waiting.length < MOST_WAITING) waiting.push(delivery);
    else delivery.onResult('dropped', 'too many notifications pending for this receiver');
  }

  /** Waits until everything is delivered, but no longer than that many milliseconds; then gives the rest up. */
  async flush(milliseconds: number): Promise<void> {
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const cancel = this.#options.clock.after(milliseconds, resolve);
    await Promise.race([Promise.all(this.#underWay), late]);
    cancel();
    this.#end.abort();
    await Promise.all(this.#underWay);
    await Promise.all([...this.#pools.values()].map(async (pool) => (await pool).destroy()));
  }

  async #deliver(receiver: string): Promise<void> {
    const waiting = this.#waiting.get(receiver) ?? [];
    for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
      const problem = await this.#send(next);
      next.onResult(problem === undefined ? 'delivered' : 'failed', problem ?? '');
      waiting.shift();
    }
    this.#waiting.delete(receiver);
  }

  /** Why it could not be delivered. */
  async #send(delivery: Delivery): Promise<string | undefined> {
    const { signal } = this.#end;
    for (let tries = 1; ; tries++) {
      if (signal.aborted) return 'voxform stopped';
      const { problem, isFinal, asked = 0 } = await this.#try(delivery);
      if (problem === undefined || isFinal) return problem;
      if (tries === REPORTED_TRIES) delivery.onResult('delayed', `${problem} (after ${tries} attempts)`);
      const pause = Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (tries - 1));
      const spread = pause * (0.5 + this.#options.random() / 2);
      await this.#pause(Math.max(spread, Math.min(asked, LONGEST_ASKED)));
    }
  }

  #poolOf({ url, network }: Delivery): Promise<Dispatcher> {
    const { origin } = new URL(url.reveal());
    const key = JSON.stringify([
      origin,
      network.ca,
      network.proxy?.origin,
      network.proxy?.credentials?.reveal(),
    ]);
    const pool =
      this.#pools.get(key) ?? poolFor(origin, { connections: 1, connectMilliseconds: TIMEOUT, ...network });
    this.#pools.set(key, pool);
    return pool;
  }

  async #try(delivery: Delivery): Promise<Tried> {
    const { url, header, body } = delivery;
    try {
      const answer = await request(url.reveal(), {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'user-agent': `voxform/${VERSION}`,
          ...(header !== undefined && { [header.name]: header.value.reveal() }),
        },
        body,
        dispatcher: await this.#poolOf(delivery),
        signal: AbortSignal.any([this.#end.signal, AbortSignal.timeout(TIMEOUT)]),
      });
      await answer.body.dump();
      const { statusCode: status } = answer;
      if (status >= 200 && status < 300) return { problem: undefined, isFinal: true };
      const mayPass = status === 408 || status === 429 || status >= 500;
      return {
        problem: `status ${status}`,
        isFinal: !mayPass,
        asked: retryAfter(answer.headers, Date.now()),
      };
    } catch (error) {
      if (error instanceof ProxyFailure) return { problem: error.message, isFinal: false };
      const code = errorCode(error) ?? '';
      const isTimeout = error instanceof Error && error.name === 'TimeoutError';
      return {
        problem: isTimeout ? 'timed out' : `unreachable ${code}`.trim(),
        isFinal: false,
      };
    }
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
