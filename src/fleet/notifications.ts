import type { DeliveryResult } from '../operator/health/metrics.ts';
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
import { takeFreezeNews } from './rows/freeze-rows.ts';
import { memoryOf, remember } from './rows/notified-rows.ts';

interface NotificationsOptions {
  readonly database: FleetStatements;
  readonly deliveries: Deliveries;
  onResult(result: DeliveryResult): void;
}

interface Finished {
  readonly report: RunReport;
  readonly log: WatchLog;
  redact(text: string): string;
}

interface FreezeReceivers {
  /** `shown` is the server. */
  readonly receivers: readonly { readonly url: Secret; readonly shown: string }[];
  network(target: URL): Network;
  /** Address of the page. */
  readonly link: string | undefined;
  readonly log: WatchLog;
}

/** The notifications of one run: the reported events, and a promise that resolves when they are stored. */
interface Notification {
  readonly events: Promise<RememberedEvents | undefined>;
  readonly stored: Promise<void>;
}

/**
 * Notifies the webhooks of projects, but not of events that another process reported. Events are stored once they were delivered or given
 * up, so that after a crash others report them again.
 */
export class FleetNotifications {
  readonly #options: NotificationsOptions;
  /** By workspace: its latest notification. */
  readonly #notifications = new Map<string, Notification>();

  constructor(options: NotificationsOptions) {
    this.#options = options;
  }

  /** Never throws. */
  finished(address: string, run: Finished): void {
    const { notify } = run.report;
    if (notify === undefined || notify.receivers.length + notify.problems.length === 0) return;
    const last = this.#notifications.get(address);
    const before = last?.events ?? this.#stored(address);
    const results: Promise<boolean>[] = [];
    const events = before.then((remembered) => this.#notify(run, { remembered, results }));
    const stored = this.#store(address, { before, events, results, last }).catch((error: unknown) =>
      run.log.entry('warning', `notifications not sent: ${String(error)}`, { event: 'not-notified' }),
    );
    const notification = { events, stored };
    this.#notifications.set(address, notification);
    void stored.then(() => {
      if (this.#notifications.get(address) === notification) this.#notifications.delete(address);
    });
  }

  /** Tells webhooks of the fleet that it was frozen or resumed, unless another process does. */
  async tellFreezes({ receivers, network, link, log }: FreezeReceivers): Promise<void> {
    const { database, deliveries, onResult } = this.#options;
    if (receivers.length === 0) return;
    for (const { event, at, by, because } of await takeFreezeNews(database)) {
      const time = at.toISOString();
      const words = event === 'frozen' ? `${by} froze the fleet: ${because}` : `${by} resumed the fleet`;
      const text = withoutMentions(`voxform: ${escapeControls(words)}${link === undefined ? '' : `\n${link}`}`);
      const body = JSON.stringify({ event, text, by, because, time, url: link ?? null });
      for (const { url, shown } of receivers)
        deliveries.add({
          ...{ url, shown, header: undefined, body, network: network(new URL(url.reveal())) },
          onResult: (result, problem) => reportDelivery(result, problem, { shown, log, onResult }),
        });
    }
  }

  /** Waits for deliveries, at most this many milliseconds. */
  async end(milliseconds: number): Promise<void> {
    const notifications = [...this.#notifications.values()];
    await Promise.allSettled(notifications.map(({ events }) => events));
    await this.#options.deliveries.flush(milliseconds);
    await Promise.all(notifications.map(({ stored }) => stored));
  }

  /** @param results receives for each delivery whether it ended before the process did. */
  #notify(
    { report, log, redact }: Finished,
    {
      remembered,
      results,
    }: { readonly remembered: RememberedEvents | undefined; readonly results: Promise<boolean>[] },
  ): RememberedEvents {
    const { deliveries, onResult } = this.#options;
    const add: Deliveries['add'] = (delivery) => {
      const { promise, resolve } = Promise.withResolvers<boolean>();
      results.push(promise);
      deliveries.add({
        ...delivery,
        onResult(...result) {
          delivery.onResult(...result);
          if (result[0] !== 'delayed') resolve(!deliveries.hasEnded);
        },
      });
    };
    const notifier = new Notifier({ log, redact, onResult, remembered, deliveries: { add } });
    notifier.finished(report);
    return notifier.remembered;
  }

  async #stored(address: string): Promise<RememberedEvents | undefined> {
    const text = await memoryOf(this.#options.database, address, 'told');
    return text === undefined ? undefined : rememberedIn(text);
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
    const [was, is] = (await Promise.all([before, events])).map((each) => each && storableJson(each));
    const areOver = await Promise.all(results);
    await last?.stored;
    if (is === undefined || is === was || areOver.includes(false)) return;
    await remember(this.#options.database, address, { key: 'told', value: is });
  }
}

/** Earlier versions stored three sets of events. */
function rememberedIn(text: string): RememberedEvents {
  const remembered = JSON.parse(text) as RememberedEvents | { readonly both: RememberedEvents };
  return 'both' in remembered ? remembered.both : remembered;
}
