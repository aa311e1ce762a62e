import { hostname } from 'node:os';
import type { FleetFile } from '../fleet/fleet-file.ts';
import { fleetStateAt } from '../fleet/fleet-state.ts';
import { closeInState } from '../runs/orphan-status.ts';
import { freshState } from '../runs/state-access.ts';
import { inSession } from '../state/session.ts';
import type { Orphan } from '../state/state-document.ts';
import { createStore } from '../state/state-location.ts';
import { VERSION } from '../version.ts';

const LOCK_TIMEOUT_SECONDS = 20;

interface CloseRequest {
  readonly address: string;
  readonly workspaceId: string;
  /** The orphan, including the reason for closing it. */
  readonly orphan: Orphan;
  readonly by: string;
}

/** Closes an orphan in a state that the fleet database contains. Returns false if the record is no longer an open orphan. */
export type CloseOrphan = (closing: CloseRequest) => Promise<boolean>;

export function createOrphanCloser({
  fleet,
  user,
  now,
  log,
}: {
  readonly fleet: Pick<FleetFile, 'database'>;
  /** The operating system user. */
  readonly user: string;
  now(): Date;
  log(message: string): void;
}): CloseOrphan {
  return async ({ address, workspaceId, orphan, by }) => {
    const holder = { host: hostname(), user, pid: process.pid, version: VERSION, now };
    const store = createStore(fleetStateAt(fleet, address), { root: '/', ...holder });
    const lock = { operation: 'orphans close', timeoutSeconds: LOCK_TIMEOUT_SECONDS, notice: log, warn: log };
    const options = { lock, workspaceId, fresh: freshState(), version: VERSION, now };
    const closed = await closeInState({ inSession: (_, work) => inSession(store, options, work) }, [orphan], {
      lockTimeout: LOCK_TIMEOUT_SECONDS,
      askedBy: by,
    });
    return closed.length > 0;
  };
}
