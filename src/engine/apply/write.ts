import type { ShownRecord } from '../../kinds/kind.ts';
import { type Address, idKey } from '../../manifests/resource.ts';
import { PlatformError } from '../../platform/platform-error.ts';
import { UserError } from '../../problems/user-error.ts';
import { mask } from '../../state/fingerprint.ts';
import type { JournalEvent } from '../../state/journal-lines.ts';
import type { PendingCreate } from '../../state/state-document.ts';
import type { Json } from '../../values/json.ts';
import { type LeafPath, type Leaves, rootOf } from '../../values/path.ts';
import { fromForms, type Value, withReferences } from '../../values/value.ts';
import { createBody, driftIgnored, resentFields, sentAtCreate, standIn, updateBody } from '../decide/body.ts';
import { digestOf, isComplete } from '../decide/compare.ts';
import type { Observation } from '../decide/observed.ts';
import { differencesFromSent, shownBy } from '../decide/write-response.ts';
import { displacedBy, orphaned, saveRecord } from './save-record.ts';
import { MissingReference, type ResourceWrite, UnexpectedAnswer, UnrecordedIntent } from './writing.ts';

/**
 * Writes one planned resource: records the intent, sends the request, records the outcome. Returns the record's id.
 * @throws PlatformError if the request fails. The state then records whether the write may have happened.
 * @throws MissingReference if a reference has no record.
 * @throws UnsavedRecord if the platform has a record that could not be saved in the state.
 */
export async function write(facts: ResourceWrite): Promise<string | null> {
  const { planned } = facts;
  if (planned.previous_address !== undefined) {
    await recordOrStop(facts, { type: 'renamed', from: planned.previous_address, to: planned.address });
  }
  switch (planned.action) {
    case 'create':
    case 'replace':
      return create(facts);
    case 'update':
      return update(facts);
    case 'adopt':
      return adopt(facts);
    case 'forget':
      await recordOrStop(facts, {
        type: 'forgotten',
        address: planned.address,
        orphan: orphaned(facts, { id: planned.id ?? '', reason: 'forgotten' }),
      });
      return planned.id;
    case 'manual':
    case 'blocked':
    case 'unknown':
    case 'noop':
      return planned.id;
    default:
      return planned.action satisfies never;
  }
}

async function create(facts: ResourceWrite): Promise<string> {
  const { kind, planned, client } = facts;
  // A missing record is read once more: a single wrong 404 must not lead to a second record.
  if (planned.action === 'create' && (await facts.recheck?.())?.status === 'shown') {
    throw new UserError(
      `${planned.recreates ?? planned.id}, the record of ${planned.address}, is back on the platform`,
      { hint: 'Nothing was created. Plan again.' },
    );
  }
  const leaves = sentAtCreate(kind, desiredOf(facts));
  const body = createBody(leaves);
  const replaces = planned.action === 'replace' ? (planned.id ?? undefined) : undefined;
  const { create: post } = kind;
  if (post === undefined) throw new Error(`${planned.address} cannot be created`);

  const naturalKey = kind.naturalKey?.(Object.fromEntries(leaves))?.key;
  if (naturalKey !== undefined && (await facts.isTaken?.(naturalKey))) {
    throw new UserError(`the record of ${planned.address} was created since the plan was made`, {
      hint: 'Plan again to import it.',
    });
  }
  const pending: PendingCreate = {
    since: facts.now().toISOString(),
    recorded: Object.fromEntries([...leaves].map(([path, value]) => [path, mask(value, facts.fingerprints)])),
    ...(naturalKey !== undefined && { natural_key: naturalKey }),
    ...(replaces !== undefined && { replaces }),
  };
  await recordOrStop(facts, { type: 'creating', address: planned.address, pending });
  const record = await answered(facts, () => post(client, body)).catch(async (error: unknown) => {
    const isConflict = error instanceof PlatformError && error.status === 409;
    const made = isConflict ? await createdEarlier(facts, naturalKey, leaves) : undefined;
    if (made === undefined) throw error;
    return made;
  });
  refuseInvalidId(facts, record.id);
  facts.holders.set(idKey(planned.kind, record.id), planned.address);
  return saveRecord(facts, {
    record,
    leaves,
    sent: leaves,
    driftIgnored: new Set(),
    previous: undefined,
    adopted: false,
  });
}

async function update(facts: ResourceWrite): Promise<string> {
  const { kind, planned, session, client } = facts;
  const leaves = desiredOf(facts);
  const seen = await freshObservation(facts, leaves);
  if (seen?.status !== 'shown') throw changedSince(planned.address);
  const remembered = session.state.resources.get(planned.address);
  const entry = remembered?.id === seen.record.id ? remembered : undefined;
  const isManual = (path: LeafPath): boolean => planned.changes.some((change) => change.path === path && change.manual);
  const changed = planned.changes.map(({ path }) => path).filter((path) => !isManual(path));
  const updating = {
    kind,
    leaves,
    record: seen.record,
    published: standIn(seen.published),
    entry,
    changed,
    ignoreDrift: planned.ignore_drift ?? [],
    omitted: planned.left_out,
  };
  const { problems } = resentFields(updating);
  if (problems.length > 0) throw new UserError(problems.join('; '));
  const body = updateBody(updating);
  const others = driftIgnored(updating);
  const { update: put } = kind;
  if (put === undefined) throw new Error(`${planned.address} cannot be updated`);

  await recordOrStop(facts, { type: 'updating', address: planned.address, paths: changed });
  const record = await answered(facts, () => put(client, seen.record.id, body));
  if (record.id !== seen.record.id) {
    const problem = `it has the id ${JSON.stringify(record.id)}, but ${seen.record.id} was updated`;
    throw new UnexpectedAnswer(planned.address, problem, { hint: 'Plan again to see the record.' });
  }
  const written = new Map([...leaves].filter(([path]) => !isManual(path)));
  const sent = new Map([...leaves].filter(([path]) => Object.hasOwn(body, rootOf(path)) && !others.has(path)));
  return saveRecord(facts, {
    record,
    before: seen.record,
    leaves: written,
    sent,
    driftIgnored: others,
    previous: entry,
    adopted: entry === undefined ? !session.state.pending.has(planned.address) : entry.adopted === true,
  });
}

async function adopt(facts: ResourceWrite): Promise<string> {
  const { planned, settled } = facts;
  if (settled === undefined) throw changedSince(planned.address);
  await recordOrStop(facts, {
    type: 'saved',
    address: planned.address,
    entry: settled,
    ...displacedBy(facts, settled.id),
  });
  return settled.id;
}

/** @throws UnrecordedIntent if the state cannot be written. */
async function recordOrStop({ session }: ResourceWrite, event: JournalEvent): Promise<void> {
  await session.record(event).catch((cause: unknown) => {
    throw session.broken ? new UnrecordedIntent('not recorded', { cause }) : cause;
  });
}

/** Sends a request. If it certainly had no effect, records this at once. */
async function answered(facts: ResourceWrite, request: () => Promise<ShownRecord>): Promise<ShownRecord> {
  try {
    return await request();
  } catch (error) {
    if (error instanceof PlatformError && error.outcome === 'not-done') {
      await recordOrStop(facts, { type: 'not-done', address: facts.planned.address });
    }
    throw error;
  }
}

/**
 * Returns the record that an earlier copy of the same request created, after the platform reported a conflict. It must be the only record
 * with the natural key, have the values that were sent, and be managed by no resource. Otherwise, the next plan decides.
 */
async function createdEarlier(
  { kind, planned, holders, findByKey }: ResourceWrite,
  naturalKey: string | undefined,
  leaves: Leaves,
): Promise<ShownRecord | undefined> {
  if (naturalKey === undefined) return undefined;
  const [found, ...more] = await findByKey(naturalKey).catch((): readonly ShownRecord[] => []);
  if (found === undefined || more.length > 0 || holders.has(idKey(planned.kind, found.id))) return undefined;
  return differencesFromSent(kind, leaves, shownBy(kind, found)).length === 0 ? found : undefined;
}

/**
 * Refuses the response to a create if its id is invalid or already known to the state or the plan. Saving that id would lose the new
 * record. Nothing is recorded, so the create remains unknown.
 */
function refuseInvalidId({ planned, holders, session, existedBefore }: ResourceWrite, id: string): void {
  const holder = holders.get(idKey(planned.kind, id));
  const orphan = session.state.orphans.find((each) => each.kind === planned.kind && each.id === id);
  const problem = !/^[A-Za-z0-9][\w.:-]*$/.test(id)
    ? `${JSON.stringify(id)} is not an id`
    : holder !== undefined
      ? `${id} is the record of ${holder}`
      : orphan !== undefined
        ? `${id} is an orphan, a former record of ${orphan.address}`
        : existedBefore(id) && `${id} was on the platform before`;
  if (problem === false) return;
  const { address } = planned;
  throw new UnexpectedAnswer(address, problem, {
    next: [{ action: 'import', address, id: null, reason: 'odd_answer' }],
  });
}

/** Returns the current record. Throws if it changed since the plan was made. */
async function freshObservation(
  { planned, kind, observation, recheck, session }: ResourceWrite,
  leaves: ReadonlyMap<string, Value>,
): Promise<Observation | undefined> {
  if (recheck === undefined) return observation;
  const seen = await recheck();
  if (seen.status !== 'shown' || planned.observed_digest === undefined) return seen;
  const digest = digestOf(kind, { record: seen.record, leaves, salt: session.state.salt });
  if (digest !== planned.observed_digest) throw changedSince(planned.address);
  // The record did not change, so the published version that the plan read still applies to hidden fields.
  return observation?.status === 'shown' ? { ...observation, record: seen.record } : seen;
}

function changedSince(address: Address): UserError {
  return new UserError(`${address} changed since the plan was made`, { hint: 'Plan again.' });
}

/** Returns the desired leaves of the plan, with references resolved by the current state. @throws MissingReference. */
function desiredOf({ planned, session, secret }: ResourceWrite): Map<string, Value> {
  const leaves = new Map<string, Value>();
  for (const [path, forms] of Object.entries(planned.desired ?? {})) {
    const value = withReferences(
      fromForms(forms as Json, secret),
      (reference) => session.state.resources.get(reference.address)?.id,
    );
    // A manual field may keep an open reference: a person will set it.
    if (!isComplete(value) && planned.changes.find((change) => change.path === path)?.manual) continue;
    if (!isComplete(value)) throw new MissingReference(value);
    leaves.set(path, value);
  }
  return leaves;
}
