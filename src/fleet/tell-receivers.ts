import type { DeliveryResult } from '../operator/health/metrics.ts';
import type { Deliveries } from '../operator/notifications/deliveries.ts';
import { Notifier, type RememberedNotifications } from '../operator/notifications/notifier.ts';
import type { RunReport } from '../operator/run-report.ts';
import type { WatchLog } from '../operator/watch-log.ts';
import type { FleetStatements } from './database/fleet-database.ts';
import { FLEET_SCHEMA } from './database/fleet-tables.ts';
import { storableJson } from './database/storable-json.ts';

interface Telling {
  readonly database: FleetStatements;
  readonly deliveries: Deliveries;
  readonly log: WatchLog;
  redact(text: string): string;
  onResult(result: DeliveryResult): void;
}

/** Of what a workspace was told; the column was made for more than one. */
const KEY = 'told';

/** Tells the webhooks of a project what its run found, and nothing that another process told before. */
export async function tellReceivers(address: string, report: RunReport, telling: Telling): Promise<void> {
  const { notify } = report;
  if (notify === undefined || notify.receivers.length + notify.problems.length === 0) return;
  const { ask } = telling.database;
  const table = `${FLEET_SCHEMA}.notified`;
  const [row] = await ask(`SELECT digest FROM ${table} WHERE address = $1 AND key = $2`, address, KEY);
  const before = row === undefined ? undefined : String(row.digest);
  const remembered = before === undefined ? undefined : (JSON.parse(before) as RememberedNotifications);
  const notifier = new Notifier({ ...telling, remembered });
  notifier.finished(report);
  const after = storableJson(notifier.remembered);
  if (after === before) return;
  await ask(
    `INSERT INTO ${table} (address, key, digest) SELECT address, $2, $3 FROM ${FLEET_SCHEMA}.workspaces WHERE address = $1
ON CONFLICT (address, key) DO UPDATE SET digest = excluded.digest`,
    address,
    KEY,
    after,
  );
}
