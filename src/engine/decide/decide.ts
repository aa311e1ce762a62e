import { idKey } from '../../manifests/resource.ts';
import type { NextStep } from '../../problems/next-step.ts';
import type { Orphan, PendingCreate } from '../../state/state-document.ts';
import { writes } from '../plan/plan-actions.ts';
import type { Remark } from '../plan/plan-document.ts';
import { decideExisting, manualSteps } from './decide-existing.ts';
import {
  creationStep,
  type Decision,
  decisionWithoutWrite,
  type Facts,
  formsOf,
  toPlannedResource,
  waitFor,
} from './decision.ts';
import { creationOf } from './differences.ts';
import { publishSteps } from './publication.ts';

/** Decides the action for one declared resource. Pure. */
export function decide(facts: Facts): Decision {
  const decision = markMissing(decideAction(facts), facts);
  const { entry, resource } = facts.binding;
  if (entry === undefined || resource.id === undefined || entry.id === resource.id) return decision;
  const ignored: Remark = {
    message: `metadata.id is ${resource.id}, but the state manages ${entry.id}.`,
    next: [{ action: 'release', address: resource.address, id: entry.id, or: 'remove_id' }],
  };
  return { ...decision, warnings: [...decision.warnings, ignored] };
}

/** Marks the planned resource as missing if its record is missing and nothing is written. */
function markMissing(decision: Decision, { binding: { entry }, observation }: Facts): Decision {
  const isMissing =
    observation.status === 'missing' || (observation.status === 'remembered' && entry?.missing_since !== undefined);
  if (!isMissing || entry === undefined || writes.has(decision.planned.action)) return decision;
  const { missing_since } = entry;
  const planned = {
    ...decision.planned,
    missing: true as const,
    ...(missing_since !== undefined && { missing_since }),
  };
  return { ...decision, planned };
}

function decideAction(facts: Facts): Decision {
  const { binding, kind, observation, holder } = facts;
  if (holder !== undefined && (observation.status === 'shown' || kind.create !== undefined)) {
    const reason =
      observation.status === 'shown'
        ? `the record ${observation.record.id} is already managed as ${holder}`
        : `${holder} manages the record that this manifest describes, but the platform does not list it`;
    return decisionWithoutWrite(facts, 'blocked', { reason });
  }
  const closedOrphan = closedOrphanOf(facts);
  if (closedOrphan !== undefined) return refuseClosed(facts, closedOrphan);
  const { pending, resource } = binding;
  if (pending !== undefined) {
    if (observation.status !== 'shown' || facts.kind.naturalKeyOf === undefined)
      return decideUnknownCreate(facts, pending);
    const key = facts.kind.naturalKey?.(resource.spec)?.key;
    if (pending.natural_key !== undefined && pending.natural_key !== key) {
      // The change can be planned only after the record is in the state.
      const reason = `the unknown create sent at ${pending.since} succeeded, but the manifest has changed since`;
      const address = addressInState(facts);
      const steps: NextStep[] = [{ action: 'import', address, id: observation.record.id, reason: 'succeeded' }];
      return decisionWithoutWrite(facts, 'unknown', { reason, steps });
    }
    const foundBy = 'the unknown create succeeded: its record was found by its natural key';
    return decideExisting(facts, { record: observation.record, found: { how: foundBy, isOurs: true } });
  }
  switch (observation.status) {
    case 'shown':
      return decideExisting(facts, {
        ...observation,
        found: observation.successor && {
          how: `the record ${binding.entry?.id} is missing, and this record has the same natural key`,
          isOurs: false,
        },
      });
    case 'remembered':
      if (binding.entry?.missing_since !== undefined) return decideMissing(facts);
      return decideExisting(facts, { record: undefined });
    case 'missing':
      return decideMissing(facts);
    case 'foreign':
      return decideForeign(facts, observation.workspaceId);
    case 'absent':
      return decideCreate(facts, 'not in the workspace yet');
    default:
      return observation satisfies never;
  }
}

/** Returns the closed orphan of the observed record, if any, unless the manifest contains its id. */
function closedOrphanOf({ binding, observation, records }: Facts): Orphan | undefined {
  const { entry, pending, resource, released } = binding;
  if (entry !== undefined || pending !== undefined) return undefined;
  const id = observation.status === 'shown' ? observation.record.id : released?.id;
  if (id === undefined || id === resource.id) return undefined;
  return records.closedOrphans.get(idKey(resource.kind, id));
}

function refuseClosed(facts: Facts, { id, closed }: Orphan): Decision {
  const reason = `${id} is a closed orphan (${closed?.because}), which is not imported automatically`;
  const steps: NextStep[] = [
    { action: 'import', address: facts.binding.resource.address, id, reason: 'closed' },
    { action: 'close_orphan', id, because: 'deleted' },
  ];
  return decisionWithoutWrite(facts, 'blocked', { reason, steps });
}

/** Handles a known record that was not found. It may have been deleted, or the platform may lag or fail, so a person has to decide. */
function decideMissing(facts: Facts): Decision {
  const { binding, kind, returned } = facts;
  const { entry, released, resource } = binding;
  const known = entry ?? released;
  if (known === undefined) return decideCreate(facts, 'not in the workspace yet');
  const since = entry?.missing_since === undefined ? 'since this run' : `since ${entry.missing_since}`;
  const reason =
    entry === undefined
      ? `${known.id}, a former record of ${released?.address}, is missing from the platform`
      : `its record ${entry.id} is missing from the platform (${since})`;
  const returnedOrphan = returned[0];
  const isNamed = entry !== undefined && entry.id === resource.id;
  if (kind.create === undefined) return decideCreate(facts, reason);
  if (facts.mayRecreate && !isNamed && returnedOrphan === undefined) return decideCreate(facts, reason, known.id);
  const { address } = resource;
  const steps: NextStep[] =
    returnedOrphan !== undefined
      ? [{ action: 'import', address, id: returnedOrphan.id, reason: 'former' }]
      : [{ action: 'wait' }, { action: 'recreate', address, ...(isNamed && { remove_id: true as const }) }];
  return decisionWithoutWrite(facts, 'blocked', { reason, steps });
}

/** Blocks a resource whose record belongs to another workspace, where this run must not write. */
function decideForeign(facts: Facts, workspaceId: string): Decision {
  const { entry, resource } = facts.binding;
  const reason = `its record ${entry?.id ?? resource.id} belongs to workspace ${workspaceId}, not to the selected one`;
  const steps: NextStep[] = [
    { action: 'correct_workspace' },
    entry === undefined
      ? { action: 'correct_id' }
      : { action: 'release', address: resource.address, id: entry.id, or: 'correct_workspace' },
  ];
  return decisionWithoutWrite(facts, 'blocked', { reason, steps });
}

/** @param recreates the id of the missing record that the new one replaces. */
function decideCreate(facts: Facts, reason: string, recreates?: string): Decision {
  const { binding, kind, leaves } = facts;
  if (binding.entry === undefined && binding.resource.id !== undefined) {
    return decisionWithoutWrite(facts, 'blocked', {
      reason: `no record in this workspace has the id ${binding.resource.id}`,
      steps: [{ action: 'correct_id' }],
    });
  }
  if (facts.concurrentCreate !== undefined && facts.concurrentCreate !== binding.resource.address) {
    const steps: NextStep[] = [{ action: 'resolve_first', address: facts.concurrentCreate }];
    const reason = `the unknown create of ${facts.concurrentCreate} may have created this record`;
    return decisionWithoutWrite(facts, 'unknown', { reason, steps });
  }
  const changes = creationOf(kind, leaves, facts.fingerprints);
  if (kind.create === undefined) {
    return decisionWithoutWrite(facts, 'manual', { reason, changes, steps: [creationStep(facts), ...facts.missing] });
  }
  if (facts.missing.length > 0) return waitFor(facts, facts.missing);
  const manual = changes.filter((change) => change.manual);
  const steps = [...manualSteps(facts, manual, undefined), ...publishSteps(kind, undefined, true)];
  return {
    planned: toPlannedResource(facts, 'create', {
      reason,
      changes,
      ...(recreates !== undefined && { recreates }),
      ...(steps.length > 0 && { steps }),
      desired: formsOf(leaves),
    }),
    id: undefined,
    settled: undefined,
    warnings: missingSecretWarnings(facts),
  };
}

/** Warns about fields that the manifest omits but a new record needs because of another field, such as the API key of a provider. */
function missingSecretWarnings({ kind, leaves }: Facts): Remark[] {
  return Object.entries(kind.fields).flatMap(([path, { unnecessaryIf: requirement }]) => {
    const value = requirement && leaves.get(requirement.field);
    if (requirement === undefined || typeof value !== 'string' || value === requirement.value || leaves.has(path))
      return [];
    return [{ message: `${path} is not set, but ${requirement.field} is ${value}: the record is created without it.` }];
  });
}

/** Handles an unknown create whose record cannot be found. Only a person can resolve it. */
function decideUnknownCreate(facts: Facts, { since }: PendingCreate): Decision {
  const address = addressInState(facts);
  const isListed = facts.kind.naturalKeyOf !== undefined;
  const reason = `the create sent at ${since} was not confirmed: the record may or may not exist`;
  const steps: NextStep[] = [
    ...facts.candidates.map(
      ({ id, mentions, agrees, differs }): NextStep => ({
        action: 'import',
        address,
        id,
        reason: 'candidate',
        mentions: [...mentions],
        agrees: [...agrees],
        differs: [...differs],
      }),
    ),
    { action: 'import', address, id: null, reason: isListed ? 'not_listed' : 'found' },
    { action: 'resolve_not_created', address },
  ];
  return decisionWithoutWrite(facts, 'unknown', { reason, steps });
}

/** Returns the address of the unknown create. A renamed resource keeps its earlier address until an apply. */
function addressInState({ binding }: Facts): string {
  return binding.previousAddress ?? binding.resource.address;
}
