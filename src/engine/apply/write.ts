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
import { differencesFromSent, valuesAfterCreate } from '../decide/write-response.ts';
import { orphanFor, readAgain, replacedOrphan, saveRecord } from './save-record.ts';
import { MissingReference, type ResourceWrite, UnexpectedResponse, UnrecordedIntent } from './writing.ts';

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
        orphan: orphanFor(facts, { id: planned.id ?? '', reason: 'forgotten' }),
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
  // Read a missing record once more, because a single wrong 404 must not cause a second record.
  if (planned.action === 'create' && (await facts.recheck?.())?.status === 'shown') {
    throw new UserError(
      `${planned.recreates ?? planned.id}, the record of ${planned.address}, is back on the platform`,
      { hint: 'Nothing was created. Plan again.' },
    );
  }
  const leaves = sentAtCreate(kind, desiredOf(facts));
  const body = createBody(leaves);
  const replaces = planned.action === 'replace' ? (planned.id ?? undefined) : undefined;
  const { create: send } = kind;
  if (send === undefined) throw new Error(`${planned.address} cannot be created`);

  const naturalKey = kind.naturalKey?.(Object.fromEntries(leaves))?.key;
  if (naturalKey !== undefined && (await facts.isTaken?.(naturalKey))) {
    throw new UserError(`the record of ${planned.address} exists, although the plan did not find it`, {
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
  const record = await sendRequest(facts, () => send(client, body)).catch(async (error: unknown) => {
    const isConflict = error instanceof PlatformError && error.status === 409;
    const existing = isConflict ? await findEarlierCreate(facts, naturalKey, leaves) : undefined;
    if (existing === undefined) throw error;
    return existing;
  });
  refuseInvalidId(facts, record.id);
  facts.holders.set(idKey(planned.kind, record.id), planned.address);
  const save = (shown: ShownRecord): Promise<string> =>
    saveRecord(facts, {
      record: shown,
      leaves,
      sent: leaves,
      driftIgnored: new Set(),
      previous: undefined,
      adopted: false,
    });
  const id = await save(record);
  // The response to the last create may have contained the sent values although reads return others. Each plan would replace the record.
  const isReverted = planned.changes.some(({ cause }) => cause !== 'manifest');
  const read = isReverted ? await readAgain(facts, id) : undefined;
  return read === undefined ? id : save(read);
}

async function update(facts: ResourceWrite): Promise<string> {
  const { kind, planned, session, client } = facts;
  const leaves = desiredOf(facts);
  const observation = await freshObservation(facts, leaves);
  if (observation?.status !== 'shown') throw changedError(planned.address);
  const managed = session.state.resources.get(planned.address);
  const entry = managed?.id === observation.record.id ? managed : undefined;
  const isManual = (path: LeafPath): boolean => planned.changes.some((change) => change.path === path && change.manual);
  const changed = planned.changes.map(({ path }) => path).filter((path) => !isManual(path));
  const input = {
    kind,
    leaves,
    record: observation.record,
    published: standIn(observation.published),
    entry,
    changed,
    ignoreDrift: planned.ignore_drift ?? [],
    omitted: planned.left_out,
  };
  const { problems } = resentFields(input);
  if (problems.length > 0) throw new UserError(problems.join('; '));
  const body = updateBody(input);
  const ignored = driftIgnored(input);
  const { update: send } = kind;
  if (send === undefined) throw new Error(`${planned.address} cannot be updated`);

  await recordOrStop(facts, { type: 'updating', address: planned.address, paths: changed });
  const record = await sendRequest(facts, () => send(client, observation.record.id, body));
  if (record.id !== observation.record.id) {
    const problem = `the id is ${JSON.stringify(record.id)}, but ${observation.record.id} was updated`;
    throw new UnexpectedResponse(planned.address, problem, { hint: 'Plan again to see the record.' });
  }
  const written = new Map([...leaves].filter(([path]) => !isManual(path)));
  const sent = new Map([...leaves].filter(([path]) => Object.hasOwn(body, rootOf(path)) && !ignored.has(path)));
  return saveRecord(facts, {
    record,
    before: observation.record,
    leaves: written,
    sent,
    driftIgnored: ignored,
    previous: entry,
    adopted: entry === undefined ? !session.state.pending.has(planned.address) : entry.adopted === true,
  });
}

async function adopt(facts: ResourceWrite): Promise<string> {
  const { planned, settled } = facts;
  if (settled === undefined) throw changedError(planned.address);
  await recordOrStop(facts, {
    type: 'saved',
    address: planned.address,
    entry: settled,
    ...replacedOrphan(facts, settled.id),
  });
  return settled.id;
}

/** @throws UnrecordedIntent if the state cannot be written. */
async function recordOrStop({ session }: ResourceWrite, event: JournalEvent): Promise<void> {
  await session.record(event).catch((cause: unknown) => {
    throw session.broken ? new UnrecordedIntent('not recorded', { cause }) : cause;
  });
}

/** Sends a request. If the request certainly had no effect, records this immediately. */
async function sendRequest(facts: ResourceWrite, request: () => Promise<ShownRecord>): Promise<ShownRecord> {
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
 * with the natural key, have the values that were sent, and not be managed yet. Otherwise, returns undefined.
 */
async function findEarlierCreate(
  { kind, planned, holders, findByKey }: ResourceWrite,
  naturalKey: string | undefined,
  leaves: Leaves,
): Promise<ShownRecord | undefined> {
  if (naturalKey === undefined) return undefined;
  const [found, ...others] = await findByKey(naturalKey).catch((): readonly ShownRecord[] => []);
  if (found === undefined || others.length > 0 || holders.has(idKey(planned.kind, found.id))) return undefined;
  return differencesFromSent(kind, leaves, valuesAfterCreate(kind, found)).length === 0 ? found : undefined;
}

/** Refuses a response to a create with an invalid or known id, which would lose the new record. The create remains unknown. */
function refuseInvalidId({ planned, holders, session, existedBefore }: ResourceWrite, id: string): void {
  const holder = holders.get(idKey(planned.kind, id));
  const orphan = session.state.orphans.find((each) => each.kind === planned.kind && each.id === id);
  const problem = !/^[A-Za-z0-9][\w.:-]*$/.test(id)
    ? `${JSON.stringify(id)} is not an id`
    : holder !== undefined
      ? `${id} is the record of ${holder}`
      : orphan !== undefined
        ? `${id} is an orphan, a former record of ${orphan.address}`
        : existedBefore(id) && `${id} existed before the create`;
  if (problem === false) return;
  const { address } = planned;
  throw new UnexpectedResponse(address, problem, {
    next: [{ action: 'import', address, id: null, reason: 'odd_answer' }],
  });
}

/** Returns the current record. Throws if the record changed since the plan was made. */
async function freshObservation(
  { planned, kind, observation, recheck, session }: ResourceWrite,
  leaves: ReadonlyMap<string, Value>,
): Promise<Observation | undefined> {
  if (recheck === undefined) return observation;
  const current = await recheck();
  if (current.status !== 'shown' || planned.observed_digest === undefined) return current;
  const digest = digestOf(kind, { record: current.record, leaves, salt: session.state.salt });
  if (digest !== planned.observed_digest) throw changedError(planned.address);
  // The record did not change, so the published version that the plan read still applies to hidden fields.
  return observation?.status === 'shown' ? { ...observation, record: current.record } : current;
}

function changedError(address: Address): UserError {
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
    // A manual field may keep an unresolved reference, because a person sets the field.
    if (!isComplete(value) && planned.changes.find((change) => change.path === path)?.manual) continue;
    if (!isComplete(value)) throw new MissingReference(value);
    leaves.set(path, value);
  }
  return leaves;
}
