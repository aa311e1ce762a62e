import type { Clock } from '../clock.ts';
import type { DeliveryResult } from '../health/metrics.ts';
import type { RunObserver, RunReport } from '../run-report.ts';
import { RepeatFilter, type WatchLog } from '../watch-log.ts';
import { Deliveries } from './deliveries.ts';
import { bodyOf, NotificationEvents } from './notification-events.ts';
import type { NotifiedDriftStore } from './notified-drift.ts';

interface NotifierOptions {
  readonly log: WatchLog;
  readonly clock: Clock;
  random(): number;
  /** Strikes out secrets. */
  redact(text: string): string;
  onResult(result: DeliveryResult): void;
  /** What outlasts the watch; nothing does where absent. */
  readonly memory?: NotifiedDriftStore | undefined;
}

/** Tells the webhooks of the project what happens. */
export class Notifier implements RunObserver {
  readonly #options: NotifierOptions;
  readonly #events: {
    readonly both: NotificationEvents;
    readonly drift: NotificationEvents;
    readonly changes: NotificationEvents;
  };
  readonly #said = new RepeatFilter();
  readonly #deliveries: Deliveries;

  constructor(options: NotifierOptions) {
    const { clock, random, log } = options;
    this.#options = options;
    this.#events = {
      both: new NotificationEvents({ drift: true, told: options.memory?.read }),
      drift: new NotificationEvents({ drift: true, changes: false, told: options.memory?.read }),
      changes: new NotificationEvents({ drift: false }),
    };
    this.#deliveries = new Deliveries({
      clock,
      random,
      onResult: (result, { shown, onDelivered }, problem) => {
        options.onResult(result);
        if (result === 'delivered') onDelivered();
        if (result === 'delivered') log.entry('debug', `notified ${shown}`, { event: 'notified' });
        else log.entry('warning', `notification to ${shown} failed: ${problem}`, { event: 'not-notified' });
      },
    });
  }

  finished(report: RunReport): void {
    const both = this.#events.both.in(report);
    const driftAlone = this.#events.drift.in(report);
    const changes = this.#events.changes.in(report);
    if (report.notify === undefined) return;
    const { notify, workspace } = report;
    for (const problem of this.#said.news('problems', notify.problems).added)
      this.#options.log.entry('warning', `Notification skipped: ${problem}`, { event: 'not-notified' });
    for (const { on, template, url, shown, header, network } of notify.receivers) {
      const heard = !on.includes('drift') ? changes : on.includes('changes') ? both : driftAlone;
      for (const event of heard) {
        if (!on.includes(event.event)) continue;
        const redact = (text: string): string => this.#options.redact(text);
        const body = redact(JSON.stringify(bodyOf(event, template, redact)));
        const { told } = event;
        const onDelivered = (): void => {
          if (told !== undefined && workspace !== undefined) this.#options.memory?.write(workspace.id, told);
        };
        this.#deliveries.add({ url, shown, header, body, network, onDelivered });
      }
    }
  }

  /** Delivers what is left, for at most that many milliseconds. */
  flush(milliseconds: number): Promise<void> {
    return this.#deliveries.flush(milliseconds);
  }
}
