import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { UserError } from '../../src/problems/user-error.ts';
import { LocalStore, type LocalStoreOptions } from '../../src/state/backends/local/local-store.ts';
import { createStateStore } from '../../src/state/backends/object-store/state-store.ts';
import { stateBytes } from '../../src/state/document-text.ts';
import type { JournalEvent } from '../../src/state/journal-lines.ts';
import type { SessionOptions } from '../../src/state/session.ts';
import type { ResourceEntry, StateDocument } from '../../src/state/state-document.ts';
import type { LockRequest, StateStore } from '../../src/state/store.ts';

/** Returns a path for a state in a folder that is removed after the test. */
export async function statePath(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'voxform-state-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return join(folder, '.voxform', 'staging.state.json');
}

export function createLocalStore(options: LocalStoreOptions): StateStore {
  return createStateStore(new LocalStore(options), options);
}

export function storeAt(path: string, options: Partial<LocalStoreOptions> = {}): StateStore {
  return createLocalStore({
    path,
    root: join(dirname(dirname(path)), 'project'),
    now: () => new Date('2030-01-01T00:00:00Z'),
    host: 'here',
    user: 'ann',
    pid: process.pid,
    version: '0.0.0',
    ...options,
  });
}

export function lockRequest(options: Partial<LockRequest> = {}): LockRequest {
  return {
    operation: 'apply',
    isStep: true,
    timeoutSeconds: 0,
    notice: () => undefined,
    warn: () => undefined,
    ...options,
  };
}

export function sessionOptions(options: Partial<SessionOptions> = {}): SessionOptions {
  return {
    lock: lockRequest(),
    workspaceId: 'W1',
    fresh: { lineage: 'L1', salt: 'S1' },
    version: '0.0.0',
    now: () => new Date('2030-01-01T00:00:00Z'),
    ...options,
  };
}

export function entry(id: string): ResourceEntry {
  return { id, recorded: { name: id }, observed: {}, unobserved: [] };
}

export function saved(name: string, id = `id-${name}`): JournalEvent {
  return { type: 'saved', address: `Agent/${name}`, entry: entry(id) };
}

export function creating(name: string): JournalEvent {
  return { type: 'creating', address: `Agent/${name}`, pending: { since: '2030', recorded: {} } };
}

/** Returns the error of a rejection, to check its message and hint. */
export async function failureOf(promise: Promise<unknown>): Promise<Error & Partial<UserError>> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof Error) return error;
    throw error;
  }
  throw new Error('it did not fail');
}

/** Returns the complete text of a small document. */
export function stateText(document: StateDocument): string {
  return stateBytes(document).toString();
}
