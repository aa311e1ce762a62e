import type { DeliveryResult } from '../operator/health/metrics.ts';
import { messageOf } from '../operator/messages.ts';
import { type Deliveries, reportDelivery } from '../operator/notifications/deliveries.ts';
import { type RememberedEvents, withoutMentions } from '../operator/notifications/notification-events.ts';
import { Notifier } from '../operator/notifications/notifier.ts';
import type { RunReport } from '../operator/run-report.ts';
import type { WatchLog } from '../operator/watch-log.ts';
import { escapeControls } from '../output/escape-controls.ts';
import type { Network } from '../platform/web-client.ts';
import type { Secret } from '../values/value.ts';
import type { FleetStatements } from './database/fleet-database.ts';
import { storableJson } from './database/fleet-database.ts';
import { storeDocument, storedDocument } from './rows/document-rows.ts';
import { storeReportedFreeze, takeFreezeEvents } from './rows/freeze-rows.ts';

interface NotificationsOptions {
  readonly database: FleetStatements;
  readonly deliveries: Deliveries;
  onResult(result: DeliveryResult): void;
}

interface FinishedReport {
  readonly report: RunReport;
  readonly log: WatchLog;
  redact(text: string): string;
}

interface FreezeReceivers {
  /** The webhooks of the fleet file. `shown` names the server, for messages. */
  readonly receivers: readonly { readonly url: Secret; readonly shown: string }[];
  network(target: URL): Network;
  /** The address of the page. */
  readonly link: string | undefined;
  readonly log: WatchLog;
}

/** The notifications of one run: the events reported so far, and a promise that resolves when they are stored. */
interface Notification {
  readonly events: Promise<RememberedEvents | undefined>;
  readonly stored: Promise<void>;
}

/**
 * Notifies the webhooks of projects of events that no process has reported yet. Events are stored after their delivery has succeeded or
 * failed permanently, so that other processes report them again after a crash.
 */
export class FleetNotifications {
  readonly #options: NotificationsOptions;
  /** The latest notification of each workspace, by address. */
  readonly #notifications = new Map<string, Notification>();
  /** The notifications of freezes that are not stored yet. */
  readonly #freezes = new Set<Promise<void>>();

  constructor(options: NotificationsOptions) {
    this.#options = options;
  }

  /** Sends the notifications of a finished run in the background. Never throws. */
  finished(address: string, run: FinishedReport): void {
    const { notify } = run.report;
    if (notify === undefined || notify.receivers.length + notify.problems.length === 0) return;
    const last = this.#notifications.get(address);
    const before = last?.events ?? this.#stored(address);
    const results: Promise<boolean>[] = [];
    const project = address.slice(0, address.lastIndexOf(':'));
    const events = before.then((remembered) => this.#notify(run, { project, remembered, results }));
    const stored = this.#store(address, { before, events, results, last }).catch((error: unknown) =>
      run.log.entry('warning', `notifications not sent: ${String(error)}`, { event: 'not-notified' }),
    );
    const notification = { events, stored };
    this.#notifications.set(address, notification);
    void stored.then(() => {
      if (this.#notifications.get(address) === notification) this.#notifications.delete(address);
    });
  }

  /**
   * Sends the notifications of freezes and resumes to the fleet's webhooks in the background, unless another process has done so.
   * @param process the id of this process. If it dies before the deliveries, another process sends the notifications again.
   */
  async notifyFreezes(process: string, { receivers, network, link, log }: FreezeReceivers): Promise<void> {
    const { database, onResult } = this.#options;
    if (receivers.length === 0) return;
    for (const { id, event, at, by, because } of await takeFreezeEvents(database, process)) {
      const time = at.toISOString();
      const sentence = event === 'frozen' ? `${by} froze the fleet: ${because}` : `${by} resumed the fleet`;
      const text = withoutMentions(`voxform: ${escapeControls(sentence)}${link === undefined ? '' : `\n${link}`}`);
      const body = JSON.stringify({ event, text, by, because, time, url: link ?? null });
      const results = receivers.map(({ url, shown }) =>
        this.#deliver({
          ...{ url, shown, header: undefined, body, network: network(new URL(url.reveal())) },
          onResult: (result, problem) => reportDelivery(result, problem, { shown, log, onResult }),
        }),
      );
      const stored = Promise.all(results)
        .then((areComplete) => (areComplete.includes(false) ? undefined : storeReportedFreeze(database, { id, event })))
        .catch((error: unknown) => log.entry('warning', `cannot store a notification: ${messageOf(error)}`))
        .finally(() => this.#freezes.delete(stored));
      this.#freezes.add(stored);
    }
  }

  /** Waits for deliveries for at most this many milliseconds. */
  async end(milliseconds: number): Promise<void> {
    const notifications = [...this.#notifications.values()];
    await Promise.allSettled(notifications.map(({ events }) => events));
    await this.#options.deliveries.flush(milliseconds);
    await Promise.all([...this.#freezes, ...notifications.map(({ stored }) => stored)]);
  }

  /** Returns a promise that resolves when the receiver has accepted or rejected the delivery; to false if this process ended before. */
  #deliver(delivery: Parameters<Deliveries['add']>[0]): Promise<boolean> {
    const { deliveries } = this.#options;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    deliveries.add({
      ...delivery,
      onResult(...result) {
        delivery.onResult(...result);
        if (result[0] !== 'delayed') resolve(!deliveries.hasEnded);
      },
    });
    return promise;
  }

  /** @param results receives a promise per delivery, which resolves to false if the process ended before the delivery. */
  #notify(
    { report, log, redact }: FinishedReport,
    {
      project,
      remembered,
      results,
    }: {
      readonly project: string;
      readonly remembered: RememberedEvents | undefined;
      readonly results: Promise<boolean>[];
    },
  ): RememberedEvents {
    const { onResult } = this.#options;
    const add: Deliveries['add'] = (delivery) => void results.push(this.#deliver({ ...delivery, project }));
    const notifier = new Notifier({ log, redact, onResult, remembered, deliveries: { add } });
    notifier.finished(report);
    return notifier.remembered;
  }

  async #stored(address: string): Promise<RememberedEvents | undefined> {
    const events = await storedDocument(this.#options.database, address, 'reported-events');
    return events as RememberedEvents | undefined;
  }

  async #store(
    address: string,
    {
      before,
      events,
      results,
      last,
    }: {
      readonly before: Notification['events'];
      readonly events: Notification['events'];
      readonly results: Promise<boolean>[];
      readonly last: Notification | undefined;
    },
  ): Promise<void> {
    const [stored, current] = await Promise.all([before, events]);
    const areComplete = await Promise.all(results);
    await last?.stored;
    if (current === undefined || areComplete.includes(false)) return;
    if (stored !== undefined && storableJson(current) === storableJson(stored)) return;
    await storeDocument(this.#options.database, address, 'reported-events', { document: current });
  }
}
