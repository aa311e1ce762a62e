import { kindNamed } from '../../kinds/index.ts';
import type { Kind } from '../../kinds/kind.ts';
import { type Address, kindOf } from '../../manifests/resource.ts';
import type { PlatformClient } from '../../platform/client.ts';
import { UserError } from '../../problems/user-error.ts';
import type { StateSession } from '../../state/session.ts';
import type { State } from '../../state/state.ts';
import { orphanOf } from '../../state/state-document.ts';
import { recordedKey } from '../decide/field-rules.ts';
import type { Observation } from '../decide/observed.ts';
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
 * Takes an existing record under management, under an address: with it the state knows the id, and the next plan compares
 * everything. It also answers what became of a create that had no clear answer.
 * @returns `already` when the state had it so.
 * @throws UserError where the record is not there, or the address or the record is taken.
 */
export async function importById(input: RecordImport): Promise<'imported' | 'already'> {
  const recheck = createRecheck(input, { maxAgeMilliseconds: 0, now: input.now });
  if (await isTakenAlready(input, input.session.state, recheck)) return 'already';
  await recordClaim(input, input);
  return 'imported';
}

/**
 * True where the state has the claim already, and nothing is open about it.
 * @throws UserError where the record is not there, or the address or the record is taken.
 */
export async function isTakenAlready(claim: Claim, state: State, recheck: Recheck): Promise<boolean> {
  const { address, id, kind } = claim;
  const held = state.resources.get(address)?.id;
  const isMissing = held !== undefined && held !== id && (await recheck.at(kind, held)).status !== 'shown';
  if (isHeldAlready(state, claim, isMissing)) return true;
  const seen = await recheck.at(kind, id);
  if (seen.status !== 'shown') throw notThere(claim, seen);
  return false;
}

/**
 * True where the state has the claim already, and nothing is open about it. A record that is missing makes way for another.
 * @throws UserError where the address or the record is taken.
 */
export function isHeldAlready(state: State, { address, id, kind }: Claim, isMissing: boolean): boolean {
  const pending = state.pending.get(address);
  const entry = state.resources.get(address);
  if (entry?.id === id && pending === undefined) return true;
  if (entry !== undefined && pending === undefined && !isMissing) {
    throw new UserError(`${address} is already managed as ${entry.id}`, {
      hint: 'Import the record at another address, or release this one first.',
    });
  }
  for (const [other, { id: held }] of state.resources) {
    if (held === id && other !== address && kindOf(other) === kind.name) {
      throw new UserError(`${id} is already managed as ${other}`, {
        hint: `To rename it, add the old name to metadata.previous_names of ${address}.`,
      });
    }
  }
  return false;
}

function notThere({ kind, id }: Claim, seen: Observation): UserError {
  if (seen.status === 'foreign') {
    return new UserError(`the ${kind.name} ${id} belongs to workspace ${seen.workspaceId}`, {
      hint: 'Select that workspace with -w to import it.',
    });
  }
  return new UserError(`the platform has no ${kind.name} with the id ${id}`, {
    hint: 'Check the id in the dashboard, and that the right workspace is selected.',
  });
}

/** Puts claims that were checked into the state: at once, so that one sync of the journal keeps many of them. */
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
  // A create that was to replace nothing was sent because the record that the state has is gone.
  const replaced = entry !== undefined && entry.id !== id ? pending?.replaces : undefined;
  await session.record({
    type: 'saved',
    address,
    entry: { id, adopted: true, recorded: {}, observed: {}, unobserved: [] },
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
