import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { makeFolders, readWhole } from '../files/files.ts';
import { readGivenFile } from '../files/given-file.ts';
import { replaceFile } from '../files/replace-file.ts';
import { reasonOf } from '../manifests/read-file.ts';
import { idKey, kindOf } from '../manifests/resource.ts';
import { errorCode, errorMessage } from '../problems/error-code.ts';
import { shellWord } from '../problems/shell-word.ts';
import { UserError } from '../problems/user-error.ts';
import { type JournalEntry, journalLine, type StoredEntry, validEntries } from './journal-lines.ts';
import type { Seal } from './seal.ts';
import type { StateSession } from './session.ts';
import type { State } from './state.ts';
import { orphanOf } from './state-document.ts';
import type { StateStore } from './store.ts';

/*
 * Outcomes that could not be stored are written to a synced file in the project folder, because their ids exist nowhere else. The next run
 * that finds the file records the outcomes in the state.
 */

interface UnsavedEntries {
  /** Location of the state for messages. */
  readonly location: string;
  readonly entries: readonly JournalEntry[];
  /** Id of the run that held the lock. */
  readonly run: string;
}

/** True for the results of requests. No request is sent for an intent that was not stored, and other events can be repeated. */
const isOutcome = ({ event }: JournalEntry): boolean => event.type === 'saved' || event.type === 'not-done';

/** Writes the outcomes among the entries to a rescue file. @returns a warning for the user; undefined if there are no outcomes. */
export async function writeRescue(
  root: string,
  { location, entries, run }: UnsavedEntries,
  seal: Seal,
): Promise<string | undefined> {
  const outcomes = entries.filter(isOutcome);
  if (outcomes.length === 0) return undefined;
  const ids = outcomes.flatMap(({ event }) => (event.type === 'saved' ? [`${event.address} = ${event.entry.id}`] : []));
  const known = ids.length === 0 ? '' : `: ${ids.join(', ')}`;
  const file = path.join('.voxform', 'rescue', `${run}.jsonl`);
  try {
    const sealed = await Promise.all(outcomes.map((entry) => seal.encryptEntry(entry)));
    await writePrivate(path.join(root, file), sealed.map(journalLine).join(''));
  } catch (error) {
    const reason = errorMessage(error);
    return `results were not recorded in the state ${location}, and ${file} cannot be written (${reason})${known}`;
  }
  return `results were not recorded in the state ${location}, but saved to ${shellWord(file)}${known}. The next run in this folder records them; in another folder, run state rescue FILE`;
}

/** Copies a damaged state to a file, before the state is removed from its store. @returns the path of the file, relative to the project. */
export async function writeQuarantine(
  root: string,
  {
    state,
    journal,
    run,
  }: { readonly state: Uint8Array | undefined; readonly journal: Uint8Array; readonly run: string },
): Promise<string> {
  const file = path.join('.voxform', 'quarantine', `${run}.state.json`);
  await writePrivate(path.join(root, file), state ?? new Uint8Array());
  if (journal.length > 0) await writePrivate(path.join(root, `${file}.journal`), journal);
  return file;
}

async function writePrivate(file: string, content: string | Uint8Array): Promise<void> {
  await makeFolders(path.dirname(file), { mode: 0o700 });
  await replaceFile(file, typeof content === 'string' ? content : [Buffer.from(content)]);
}

interface Rescue {
  readonly file: string;
  readonly entries: readonly StoredEntry[];
  /** Number of invalid lines. */
  readonly damaged: number;
}

interface FoundRescue extends Rescue {
  /** Path relative to the project. */
  readonly relativePath: string;
}

/** Returns the rescue files of the project. If a lineage is given, returns only the files with entries of that state. */
export async function findRescues(root: string, lineage?: string): Promise<FoundRescue[]> {
  const folder = path.join(root, '.voxform', 'rescue');
  const listed = await readdir(folder).catch((error: unknown): string[] => {
    if (errorCode(error) === 'ENOENT') return [];
    throw unreadable(folder, error, `${MAY_CONTAIN_IDS} Make it a readable folder, then run the command again.`);
  });
  const names = listed.filter((name) => name.endsWith('.jsonl'));
  const all = await Promise.all(
    names.sort().map(async (name): Promise<FoundRescue[]> => {
      const file = path.join(folder, name);
      // Another run may have just recorded the outcomes and removed the file.
      const bytes = await readWhole(file).catch((error: unknown) => {
        if (errorCode(error) === 'ENOENT') return undefined;
        throw unreadable(file, error, `${MAY_CONTAIN_IDS} Make it readable, or move it away if it is no rescue file.`);
      });
      return bytes === undefined
        ? []
        : [{ ...rescueOf(file, bytes), relativePath: path.join('.voxform', 'rescue', name) }];
    }),
  );
  const isOurs = ({ entries }: Rescue): boolean => entries.some((entry) => entry.lineage === lineage);
  return lineage === undefined ? all.flat() : all.flat().filter(isOurs);
}

/** @throws UserError if the file cannot be read. */
export async function readRescue(file: string): Promise<Rescue> {
  const bytes = await readGivenFile(file).catch((error: unknown) => {
    throw unreadable(file, error, 'Pass a file that a failed run left in .voxform/rescue.');
  });
  return rescueOf(file, bytes);
}

function rescueOf(file: string, bytes: Buffer): Rescue {
  const entries = validEntries(bytes);
  const lines = bytes
    .toString('latin1')
    .split('\n')
    .filter((line) => line !== '');
  return { file, entries, damaged: lines.length - entries.length };
}

const MAY_CONTAIN_IDS = 'It may contain ids that are in no state.';

function unreadable(file: string, cause: unknown, hint: string): UserError {
  return new UserError(`cannot read ${file}: ${reasonOf(cause)}`, { hint, cause });
}

/**
 * Records the outcomes that the state does not contain yet.
 * @returns `ADDRESS = ID` of each new record.
 */
export async function recordOutcomes(
  session: StateSession,
  { entries }: Rescue,
  store: Pick<StateStore, 'opened'>,
): Promise<readonly string[]> {
  const records: string[] = [];
  for (const entry of entries) {
    const { state } = session;
    if (entry.lineage !== state.lineage) continue;
    const { at, event } = await store.opened(entry);
    if (event.type === 'not-done') {
      if (resolvesPending(state, event.address, at)) await session.record({ type: 'resolved', address: event.address });
    } else if (event.type === 'saved' && !isKnown(state, event.address, event.entry.id)) {
      const { address, entry } = event;
      // The record of an unknown create replaces the current record of the address, if any.
      const isCurrent = state.pending.has(address)
        ? resolvesPending(state, address, at)
        : !state.resources.has(address);
      if (isCurrent) await session.record(event);
      else {
        // The address has or may have another record now, so this id becomes an orphan.
        const kind = kindOf(address);
        const orphan = orphanOf(address, { id: entry.id, reason: 'replaced', since: at });
        await session.record({ type: 'forgotten', address: `${kind}/${entry.id}`, orphan });
      }
      records.push(`${address} = ${entry.id}`);
    }
  }
  return records;
}

/** True if an outcome at this time belongs to the unknown create of the address, not to an earlier create. */
function resolvesPending({ pending }: State, address: string, at: string): boolean {
  const since = pending.get(address)?.since;
  return since !== undefined && Date.parse(since) <= Date.parse(at);
}

function isKnown({ resources, orphans }: State, address: string, id: string): boolean {
  const key = idKey(kindOf(address), id);
  const isManaged = [...resources].some(([other, entry]) => idKey(kindOf(other), entry.id) === key);
  return isManaged || orphans.some((orphan) => idKey(orphan.kind, orphan.id) === key);
}
