import { idKey } from '../manifests/resource.ts';
import { droppedBy, type HeldId, type StateContent } from './held-ids.ts';
import { LostState } from './lost-state.ts';
import type { SessionOptions } from './session.ts';
import type { ResourceEntry, StateDocument } from './state-document.ts';
import type { StateBackup, StateStore } from './store.ts';

export interface PushOptions {
  readonly document: StateDocument;
  /** Where it was read, as a shell writes it. */
  readonly file: string;
  /** Also when it is older than the state, or of another lineage, or forgets what the state knows, or the state is damaged. Never when it is of another workspace. */
  readonly force: boolean;
  readonly session: SessionOptions;
  /** The natural key of a record, for the orphan list. */
  naturalKey(address: string, entry: ResourceEntry): string | undefined;
}

/** What the document drops of the other. */
export function dropped(
  other: StateContent,
  { document, naturalKey }: PushOptions,
): ReturnType<typeof droppedBy> {
  const { ids, pending } = droppedBy(document, other);
  const withKey = (held: HeldId): HeldId => {
    const entry = other.resources[held.address];
    return entry?.id === held.id ? { ...held, natural_key: naturalKey(held.address, entry) } : held;
  };
  return { ids: ids.map(withKey), pending };
}

interface QuarantinedState {
  readonly aside: string | undefined;
  /** What copies and pieces of it know, and the document does not. */
  readonly ids: readonly HeldId[];
  readonly pending: StateDocument['pending'];
}

/**
 * Puts a state that cannot be read out of the way. What is left of it is not given up: nobody can see what a damaged state held.
 * @returns undefined where it can be read.
 * @throws LostState where nobody asked for that.
 */
export async function quarantineDamaged(
  store: StateStore,
  options: PushOptions,
): Promise<QuarantinedState | undefined> {
  const { document, file, force, session } = options;
  const lease = await store.lock({ ...session.lock, isStep: true });
  try {
    await lease.read();
    return undefined;
  } catch (error) {
    if (!(error instanceof LostState)) throw error;
    if (!force) {
      const replace = `To replace it and keep the damaged one aside: voxform state push --force ${file}`;
      throw new LostState(error.message, { hint: `${replace}. ${error.hint ?? ''}`, cause: error });
    }
    const backups = (await store.backups()).filter(
      ({ workspaceId = session.workspaceId }) => workspaceId === session.workspaceId,
    );
    const aside = await lease.quarantine();
    const [newest] = backups;
    const ids = backups.flatMap((each) => dropped(fromBackup(each), options).ids);
    return {
      aside,
      ids: [...new Map(ids.map((held) => [idKey(held.kind, held.id), held])).values()],
      pending: newest === undefined ? {} : onlyIn(newest.pending, document),
    };
  } finally {
    await lease.release();
  }
}

function onlyIn(
  pending: StateBackup['pending'],
  { resources, pending: known }: StateDocument,
): QuarantinedState['pending'] {
  const isKnown = (address: string) => Object.hasOwn(resources, address) || Object.hasOwn(known, address);
  return Object.fromEntries([...pending].filter(([address]) => !isKnown(address)));
}

function fromBackup({ resources, pending, orphans }: StateBackup): StateContent {
  return { resources: Object.fromEntries(resources), pending: Object.fromEntries(pending), orphans };
}
