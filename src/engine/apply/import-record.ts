import { kindNamed } from '../../kinds/index.ts';
import type { Kind, ShownRecord } from '../../kinds/kind.ts';
import { type Address, kindOf } from '../../manifests/resource.ts';
import type { PlatformClient } from '../../platform/client.ts';
import { advice, command, UserError } from '../../problems/user-error.ts';
import type { StateSession } from '../../state/session.ts';
import type { State } from '../../state/state.ts';
import { orphanOf } from '../../state/state-document.ts';
import { recordedKey } from '../decide/field-rules.ts';
import type { Observation } from '../decide/observed.ts';
import { importedEntry } from '../decide/state-entry.ts';
import { createRecheck, type Recheck } from '../observe/recheck.ts';

interface Claim {
  readonly address: Address;
  readonly id: string;
  readonly kind: Kind;
}

interface RecordImport extends Claim {
  readonly client: PlatformClient;
  readonly workspaceId: string;
  readonly session: StateSession;
  now(): Date;
}

/**
 * Imports an existing record under an address: the state gets its id, and the next plan compares all fields. This also resolves an unknown
 * create.
 * @returns `already` if the state has this id at this address.
 * @throws UserError if the record does not exist, or if the address or the record is already managed.
 */
export async function importById(input: RecordImport): Promise<'imported' | 'already'> {
  const recheck = createRecheck(input, { maxAgeMilliseconds: 0, now: input.now });
  if (await isImported(input, input.session.state, recheck)) return 'already';
  await recordClaim(input, input);
  return 'imported';
}

/**
 * Returns true if the state has this id at this address, without an unknown create.
 * @throws UserError if the record does not exist, if it is not that of the unknown create, or if the address or the record is managed.
 */
export async function isImported(claim: Claim, state: State, recheck: Recheck): Promise<boolean> {
  const { address, id, kind } = claim;
  const currentId = state.resources.get(address)?.id;
  const isMissing =
    currentId !== undefined && currentId !== id && (await recheck.at(kind, currentId)).status !== 'shown';
  if (isManagedAlready(state, claim, isMissing)) return true;
  const observation = await recheck.at(kind, id);
  if (observation.status !== 'shown') throw notFoundError(claim, observation);
  refuseOtherKey(claim, state, observation.record);
  return false;
}

/** @throws UserError if the address has an unknown create of another natural key, which this record cannot resolve. */
function refuseOtherKey({ address, id, kind }: Claim, { pending }: State, record: ShownRecord): void {
  const sent = pending.get(address)?.natural_key;
  const shown = kind.naturalKeyOf?.(record);
  if (sent === undefined || shown === undefined || sent === shown) return;
  throw new UserError(`${address} has an unknown create of ${sent}, but ${id} is ${shown}`, {
    hint: advice`Import the record of ${sent}. If the platform has none, first run ${command(`state resolve ${address} --not-created`)}`,
  });
}

/**
 * Returns true if the state has this id at this address, without an unknown create. Another record may replace a missing one.
 * @throws UserError if the address or the record is already managed.
 */
export function isManagedAlready(state: State, { address, id, kind }: Claim, isMissing: boolean): boolean {
  const pending = state.pending.get(address);
  const entry = state.resources.get(address);
  if (entry?.id === id && pending === undefined) return true;
  if (entry !== undefined && pending === undefined && !isMissing) {
    throw new UserError(`${address} is already managed as ${entry.id}`, {
      hint: 'Import the record at another address, or release this one first.',
    });
  }
  for (const [otherAddress, { id: otherId }] of state.resources) {
    if (otherId === id && otherAddress !== address && kindOf(otherAddress) === kind.name) {
      throw new UserError(`${id} is already managed as ${otherAddress}`, {
        hint: `To rename it, add the old name to metadata.previous_names of ${address}.`,
      });
    }
  }
  return false;
}

function notFoundError({ kind, id }: Claim, observation: Observation): UserError {
  if (observation.status === 'foreign') {
    return new UserError(`the ${kind.name} ${id} belongs to workspace ${observation.workspaceId}`, {
      hint: 'Select that workspace with -w to import it.',
    });
  }
  return new UserError(`the platform has no ${kind.name} with the id ${id}`, {
    hint: 'Check the id in the dashboard, and check that the right workspace is selected.',
  });
}

/** Saves checked claims in the state concurrently, so that one sync of the journal covers many of them. */
export async function recordClaims(
  claims: readonly Claim[],
  into: Pick<RecordImport, 'session' | 'now'>,
): Promise<void> {
  await Promise.all(claims.map((claim) => recordClaim(claim, into)));
}

export function claimOf(address: Address, id: string): Claim {
  return { address, id, kind: kindNamed(kindOf(address)) };
}

async function recordClaim(
  { address, id, kind }: Claim,
  { session, now }: Pick<RecordImport, 'session' | 'now'>,
): Promise<void> {
  const { state } = session;
  const pending = state.pending.get(address);
  const entry = state.resources.get(address);
  // Without `replaces`, the create was sent because the recorded record was missing, so that record was not replaced.
  const replaced = entry !== undefined && entry.id !== id ? pending?.replaces : undefined;
  await session.record({
    type: 'saved',
    address,
    entry: importedEntry(id),
    ...(replaced !== undefined && {
      orphan: orphanOf(address, {
        id: replaced,
        reason: 'replaced',
        since: now().toISOString(),
        natural_key: recordedKey(kind, entry),
      }),
    }),
  });
}
