import path from 'node:path';
import { fleetDatabaseAt } from '../../src/fleet/database/fleet-database.ts';
import { type FleetFile, loadFleetFile } from '../../src/fleet/fleet-file.ts';
import type { ServeOptions } from '../../src/fleet/serve.ts';
import { openSources } from '../../src/fleet/sources/open-sources.ts';
import { systemClock } from '../../src/operator/clock.ts';
import { JointLimit } from '../../src/platform/joint-limit.ts';
import { Redactor } from '../../src/values/redactor.ts';

export const KEY = 'key-of-the-fleet-test';

export function fleetFileIn(folder: string, env: Readonly<Record<string, string>>): FleetFile {
  return loadFleetFile(path.join(folder, 'fleet.yaml'), env);
}

/** Returns options for a process that serves the fleet of a folder in tests and polls constantly. */
export function serverOptions(
  folder: string,
  { url, home, secrets }: { url: string; home: string; secrets?: Readonly<Record<string, string>> | undefined },
): ServeOptions {
  const env = { VOXFORM_API_KEY: KEY, KEY_OF_ACME: KEY, ...secrets };
  const fleet = fleetFileIn(folder, { FLEET_DATABASE_URL: url, ...secrets });
  return {
    database: fleetDatabaseAt(url),
    sources: openSources({ fleet, home: path.join(folder, '.home', home), env, redactor: new Redactor() }),
    context: {
      cwd: folder,
      env,
      log: { warn() {}, info() {}, debug() {} },
      now: () => new Date(),
      failPoint: undefined,
      policies: { files: [], fleet: fleet.policies },
    },
    clock: systemClock,
    shared: new JointLimit(8),
    slots: 8,
    pauses: { firstRetry: 60_000, maxRetry: 600_000 },
    timeout: 60_000,
    grace: 5000,
    retention: 86_400_000,
    rules: fleet.rules,
    timing: { tick: 100, beat: 1000, heartbeatTimeout: 30_000 },
    random: Math.random,
    log: { entry: () => undefined },
    onRun: () => undefined,
  };
}
