import { rm } from 'node:fs/promises';
import { advice, command, UserError } from '../problems/user-error.ts';
import { readRescue, recordOutcomes, rescuesOf } from '../state/rescue.ts';
import { inSession, type SessionOptions } from '../state/session.ts';
import type { StateStore } from '../state/store.ts';
import type { RunLog } from './run-context.ts';

const OPERATION = 'state rescue';

interface Recording {
  readonly session: SessionOptions;
  readonly log: Pick<RunLog, 'info' | 'warn'>;
}

/**
 * Records the results that earlier runs of this project could not store. Uses its own session, so that the state has a new serial before
 * it is compared with earlier reads.
 */
export async function recordRescues(
  root: string,
  store: StateStore,
  { session: options, log }: Recording,
): Promise<void> {
  if ((await rescuesOf(root)).length === 0) return;
  const { document } = await store.read();
  const waiting = document === undefined ? [] : await rescuesOf(root, document.lineage);
  if (waiting.length === 0) return;
  await inSession(store, forRescue(options), async (session) => {
    for (const rescue of waiting) {
      const records = await recordOutcomes(session, rescue, store);
      await rm(rescue.file, { force: true });
      if (records.length > 0) log.info(`recorded from ${rescue.shown}: ${records.join(', ')}`);
      if (rescue.damaged > 0)
        log.warn(`${rescue.damaged} damaged lines of ${rescue.shown} were lost: plan again to find unknown creates`);
    }
  });
}

/**
 * Records the results in a rescue file.
 * @returns `ADDRESS = ID` for each record that the state did not have.
 * @throws UserError if the file contains nothing for this state.
 */
export async function recordRescueFile(
  file: string,
  store: StateStore,
  options: SessionOptions,
): Promise<readonly string[]> {
  const rescue = await readRescue(file);
  if (rescue.damaged > 0 || rescue.entries.length === 0) {
    throw new UserError(`${file} is damaged, or no rescue file`, {
      hint: advice`Nothing was recorded. Import the ids that the failed run printed: ${command('import ADDRESS ID')}`,
    });
  }
  return inSession(store, forRescue(options), async (session) => {
    const [other] = rescue.entries.filter(({ lineage }) => lineage !== session.state.lineage);
    if (other !== undefined) {
      throw new UserError(`${file} belongs to another state (lineage ${other.lineage})`, {
        hint: `The state ${store.location} has the lineage ${session.state.lineage}. Select the workspace of the failed run with -w.`,
      });
    }
    const records = await recordOutcomes(session, rescue, store);
    if (!session.changed) throw new UserError(`nothing to record: the state has everything of ${file}`);
    return records;
  });
}

function forRescue(options: SessionOptions): SessionOptions {
  return { ...options, lock: { ...options.lock, operation: OPERATION } };
}
