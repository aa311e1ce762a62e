import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { attempt } from '../../problems/attempt.ts';
import type { DeliveryResult } from '../health/metrics.ts';
import type { RunObserver, RunReport } from '../run-report.ts';
import { RepeatFilter, type WatchLog } from '../watch-log.ts';
import { type Deliveries, reportDelivery } from './deliveries.ts';
import { bodyOf, NotificationEvents, type NotifiedDrift, type RememberedEvents } from './notification-events.ts';

interface NotifierOptions {
  readonly log: WatchLog;
  readonly deliveries: Pick<Deliveries, 'add'>;
  redact(text: string): string;
  onResult(result: DeliveryResult): void;
  /** Stores reported drift across restarts. */
  readonly store?: NotifiedDriftStore | undefined;
  /** The conditions that were reported earlier for the workspace. */
  readonly remembered?: RememberedEvents | undefined;
}

/** Sends the events of runs to the webhooks of the project. */
export class Notifier implements RunObserver {
  readonly #options: NotifierOptions;
  readonly #events: NotificationEvents;
  readonly #reported = new RepeatFilter();

  constructor(options: NotifierOptions) {
    const { store, remembered } = options;
    this.#options = options;
    this.#events = new NotificationEvents({ reported: store?.read, remembered });
  }

  /** The reported conditions, for the next notifier of the workspace. */
  get remembered(): RememberedEvents {
    return this.#events.remembered;
  }

  finished(report: RunReport): void {
    const eventsFor = this.#events.eventsOf(report);
    if (report.notify === undefined) return;
    const { notify, workspace } = report;
    for (const problem of this.#reported.update('problems', notify.problems).added)
      this.#options.log.entry('warning', `Notification skipped: ${problem}`, { event: 'not-notified' });
    for (const { on, template, url, shown, header, network } of notify.receivers) {
      for (const event of eventsFor(on)) {
        const redact = (text: string): string => this.#options.redact(text);
        const content = bodyOf(event, template, redact);
        if (content === undefined) {
          reportDelivery('failed', 'its template is too large when filled in', { ...this.#options, shown });
          continue;
        }
        const body = redact(JSON.stringify(content));
        const { reported } = event;
        const onResult = (result: DeliveryResult, problem: string): void => {
          const { store } = this.#options;
          reportDelivery(result, problem, { ...this.#options, shown });
          if (result === 'delivered' && reported !== undefined && workspace !== undefined)
            store?.write(workspace.id, reported);
        };
        this.#options.deliveries.add({ url, shown, header, body, network, onResult });
      }
    }
  }
}

/** Stores reported drift across restarts of a watch, so that it is not reported twice. If the data is lost, a message is repeated. */
export interface NotifiedDriftStore {
  read(workspaceId: string): NotifiedDrift;
  write(workspaceId: string, reported: NotifiedDrift): void;
}

const storedDrift = z.record(z.string(), z.string());

/** Returns a store with one file per workspace. A file that cannot be read or written only causes a repeated message. */
export function notifiedDriftIn(folder: string): NotifiedDriftStore {
  const fileOf = (workspaceId: string) => path.join(folder, `notified-${encodeURIComponent(workspaceId)}.json`);
  return {
    read(workspaceId) {
      return attempt(() => storedDrift.parse(JSON.parse(readFileSync(fileOf(workspaceId), 'utf8')))) ?? {};
    },
    write(workspaceId, reported) {
      // If the file cannot be written, the next watch reports the current drift again.
      attempt(() => {
        mkdirSync(folder, { recursive: true });
        writeFileSync(fileOf(workspaceId), JSON.stringify(reported));
      });
    },
  };
}
