import { expect, it } from 'vitest';
import type { FleetDatabase } from '../../src/fleet/database/fleet-database.ts';
import { testFleet } from './test-fleet.ts';

const [ACME, GLOBEX] = ['voices/acme:test', 'voices/globex:test'];

it('continues with a run that started while the response to a heartbeat was in flight', async () => {
  const fleet = await testFleet({
    projects: ['acme', 'globex'],
    rules: 'workspaces: { "*": { mode: apply, interval: 1h } }',
  });
  const begun = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  let isHolding = false;
  const database: FleetDatabase = {
    ...fleet.database,
    async query(text, ...values) {
      const rows = await fleet.database.query(text, ...values);
      if (isHolding && /SET heartbeat_on/.test(text)) {
        held.resolve();
        await begun.promise;
      }
      if (isHolding && rows.some(({ address, lateness }) => address === GLOBEX && lateness !== undefined)) {
        begun.resolve();
      }
      return rows;
    },
  };
  // A lost job returns only after the test.
  await fleet.server({ database, timing: { tick: 50, beat: 100, heartbeatTimeout: 600_000 } });
  await fleet.until(async () => (await fleet.control.status({})).counts['in-sync'] === 2);
  for (const emulator of fleet.emulators.values()) emulator.setBehaviour({ latencyMs: 1000 });
  const before = fleet.reports.length;

  isHolding = true;
  await fleet.control.run([ACME], 'ann');
  await held.promise;
  await fleet.control.run([GLOBEX], 'ann');
  await begun.promise;
  await fleet.until(() => fleet.reports.length === before + 2);
  expect(fleet.reports.slice(before).map(({ report }) => report?.result)).toEqual(['ok', 'ok']);
});
