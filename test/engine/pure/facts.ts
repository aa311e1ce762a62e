import { createHash } from 'node:crypto';
import type { Observed } from '../../../src/engine/decide/observed.ts';
import { kinds } from '../../../src/kinds/index.ts';
import type { Kind, ShownRecord } from '../../../src/kinds/kind.ts';
import type { Fingerprints } from '../../../src/state/fingerprint.ts';
import type { State } from '../../../src/state/state.ts';
import type { ResourceEntry } from '../../../src/state/state-document.ts';
import { Secret, type Value } from '../../../src/values/value.ts';

/** Fast fingerprints, which are sufficient because these tests protect no secret. */
export const fingerprints: Fingerprints = {
  prepare: () => Promise.resolve(),
  of: (value) => createHash('sha256').update(value).digest('base64url').slice(0, 12),
};

/** The spec of a manifest. */
export type Spec = { readonly [key: string]: Value };

export const secret = new Secret('KEY', 'sk-secret');

/** Returns a secret in the form of the state. */
export const fingerprint = (text: string) => ({ $fingerprint: fingerprints.of(text) });

export function kindOf(name: string): Kind {
  const kind = kinds.get(name);
  if (kind === undefined) throw new Error(`no kind ${name}`);
  return kind;
}

export const agentKind = kindOf('Agent');
export const numberKind = kindOf('PhoneNumber');
export const webhookKind = kindOf('Webhook');
export const userKind = kindOf('WorkspaceUser');

export function entryOf(recorded: ResourceEntry['recorded'], rest: Partial<ResourceEntry> = {}): ResourceEntry {
  return { id: 'R1', recorded, observed: {}, unobserved: [], ...rest };
}

export function stateOf(resources: Record<string, ResourceEntry>, rest: Partial<State> = {}): State {
  return {
    lineage: 'L1',
    serial: 3,
    salt: 'S1',
    workspaceId: 'W1',
    resources: new Map(Object.entries(resources)),
    pending: new Map(),
    orphans: [],
    ...rest,
  };
}

export function observedOf(records: Record<string, ShownRecord | 'missing' | 'absent' | 'remembered'>): Observed {
  return {
    records: new Map(
      Object.entries(records).map(([address, record]) => [
        address,
        typeof record === 'string' ? { status: record } : { status: 'shown', record },
      ]),
    ),
    lists: new Map(),
    lookups: new Map(),
    candidates: new Map(),
    returned: [],
  };
}
