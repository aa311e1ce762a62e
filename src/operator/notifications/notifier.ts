import type { DeliveryResult } from '../health/metrics.ts';
import type { RunObserver, RunReport } from '../run-report.ts';
import { RepeatFilter, type WatchLog } from '../watch-log.ts';
import type { Deliveries } from './deliveries.ts';
import { bodyOf, NotificationEvents, type RememberedEvents } from './notification-events.ts';
import type { NotifiedDriftStore } from './notified-drift.ts';

interface NotifierOptions {
  readonly log: WatchLog;
  readonly deliveries: Pick<Deliveries, 'add'>;
  /** Removes secrets. */
  redact(text: string): string;
  onResult(result: DeliveryResult): void;
  /** What outlasts the watch; nothing does where absent. */
  readonly memory?: NotifiedDriftStore | undefined;
  /** What notifiers of the same workspace before it told. */
  readonly remembered?: RememberedNotifications | undefined;
}

/** By what a receiver hears, what it was told. */
export type RememberedNotifications = Readonly<Record<'both' | 'drift' | 'changes', RememberedEvents>>;

/** Tells the webhooks of the project what happens. */
export class Notifier implements RunObserver {
  readonly #options: NotifierOptions;
  readonly #events: Readonly<Record<keyof RememberedNotifications, NotificationEvents>>;
  readonly #said = new RepeatFilter();

  constructor(options: NotifierOptions) {
    const { memory, remembered } = options;
    const told = memory?.read;
    this.#options = options;
    this.#events = {
      both: new NotificationEvents({ drift: true, told, remembered: remembered?.both }),
      drift: new NotificationEvents({ drift: true, changes: false, told, remembered: remembered?.drift }),
      changes: new NotificationEvents({ drift: false, remembered: remembered?.changes }),
    };
  }

  /** For the next notifier of the workspace. */
  get remembered(): RememberedNotifications {
    const { both, drift, changes } = this.#events;
    return { both: both.remembered, drift: drift.remembered, changes: changes.remembered };
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
        const onResult = (result: DeliveryResult, problem: string): void => {
          const { log, memory } = this.#options;
          this.#options.onResult(result);
          const isDelivered = result === 'delivered';
          if (isDelivered && told !== undefined && workspace !== undefined) memory?.write(workspace.id, told);
          if (isDelivered) log.entry('debug', `notified ${shown}`, { event: 'notified' });
          else
            log.entry('warning', `notification to ${shown} ${result}: ${problem}`, { event: 'not-notified' });
        };
        this.#options.deliveries.add({ url, shown, header, body, network, onResult });
      }
    }
  }
}
