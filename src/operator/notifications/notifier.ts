import type { Clock } from '../clock.ts';
import type { DeliveryResult } from '../health/metrics.ts';
import type { RunObserver, RunReport } from '../run-report.ts';
import { Said, type WatchLog } from '../watch-log.ts';
import { Deliveries } from './deliveries.ts';
import { bodyOf, Occasions } from './occasions.ts';

export interface NotifierOptions {
  readonly log: WatchLog;
  readonly clock: Clock;
  random(): number;
  /** Strikes out secrets. */
  redact(text: string): string;
  onResult(result: DeliveryResult): void;
}

/** Tells the webhooks of the project what happens. */
export class Notifier implements RunObserver {
  readonly #options: NotifierOptions;
  readonly #occasions = new Occasions();
  readonly #said = new Said();
  readonly #deliveries: Deliveries;

  constructor(options: NotifierOptions) {
    const { clock, random, log } = options;
    this.#options = options;
    this.#deliveries = new Deliveries({
      clock,
      random,
      onResult: (result, { shown }, problem) => {
        options.onResult(result);
        if (result === 'delivered') log.entry('debug', `told ${shown}`, { event: 'notified' });
        else log.entry('warning', `${shown} was not told: ${problem}`, { event: 'not-notified' });
      },
    });
  }

  finished(report: RunReport): void {
    const occasions = this.#occasions.in(report);
    if (report.notify === undefined) return;
    const { receivers, problems } = report.notify;
    for (const problem of this.#said.news('problems', problems).added)
      this.#options.log.entry('warning', `a webhook cannot be told: ${problem}`, { event: 'not-notified' });
    for (const occasion of occasions) {
      for (const { on, template, url, shown, header } of receivers) {
        if (!on.includes(occasion.event)) continue;
        const body = this.#options.redact(JSON.stringify(bodyOf(occasion, template)));
        this.#deliveries.add({ url, shown, header, body });
      }
    }
  }

  /** Delivers what is left, for at most that many milliseconds. */
  flush(milliseconds: number): Promise<void> {
    return this.#deliveries.flush(milliseconds);
  }
}
