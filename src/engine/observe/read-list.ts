import type { Kind, ShownRecord } from '../../kinds/kind.ts';
import type { Address, Resource } from '../../manifests/resource.ts';
import type { PlatformClient } from '../../platform/client.ts';
import { PlatformError } from '../../platform/platform-error.ts';
import { UserError } from '../../problems/user-error.ts';
import type { Binding } from '../decide/bind.ts';
import type { Observation } from '../decide/observed.ts';
import type { ObserveOptions } from './observe-options.ts';
import { ReadCounter } from './read-counter.ts';
import { unlisted } from './read-record.ts';

/** All records of a kind or a lookup; empty if the platform cannot list them. */
export async function readList<T>(
  source: { list?(client: PlatformClient): AsyncIterable<T> },
  { client, workspaceId }: Pick<ObserveOptions, 'client' | 'workspaceId'>,
  progress = new ReadCounter(),
): Promise<T[]> {
  const all: T[] = [];
  try {
    await progress.list(async () => {
      for await (const record of source.list?.(client) ?? []) {
        all.push(record);
        progress.expect(1);
        progress.done(1);
      }
    });
  } catch (error) {
    if (error instanceof PlatformError && (error.saysMissing || error.saysForbidden)) {
      throw new UserError(`${error.message}: cannot read workspace ${workspaceId}`, {
        hint: error.saysMissing
          ? 'Check base_url (without /api/v1), workspace_id and api_key.'
          : 'Check workspace_id and api_key: the key must belong to that workspace.',
        cause: error,
      });
    }
    throw error;
  }
  return all;
}

/**
 * Matches resources to a list: the record with the recorded id, else the one with the natural key.
 * @throws UserError if several records have the natural key.
 */
export function* matchToList(
  kind: Kind,
  members: readonly Binding[],
  { shown, client }: { readonly shown: readonly ShownRecord[]; readonly client: PlatformClient },
): Generator<[Address, Observation]> {
  const byId = new Map(shown.map((record) => [record.id, record]));
  const byKey = Map.groupBy(shown, (record) => kind.naturalKeyOf?.(record));
  const problems: string[] = [];
  for (const { resource, id, pending, released } of members) {
    const { address } = resource;
    const isRecorded = id !== undefined && pending === undefined && released === undefined;
    const recorded = isRecorded ? byId.get(id) : undefined;
    if (recorded !== undefined) {
      yield [address, { status: 'shown', record: recorded }];
      continue;
    }
    if (isRecorded && id === resource.id) {
      yield [address, unlisted(id, client)];
      continue;
    }
    const key = pending?.natural_key ?? kind.naturalKey?.(resource.spec)?.key;
    const [record, ...more] = key === undefined ? [] : (byKey.get(key) ?? []);
    const wasKnown = isRecorded || (pending === undefined && released !== undefined);
    if (record === undefined) {
      yield [address, isRecorded ? unlisted(id, client) : { status: wasKnown ? 'missing' : 'absent' }];
    } else if (more.length > 0) problems.push(ambiguity(resource, [record, ...more]));
    else yield [address, { status: 'shown', record, ...(isRecorded && { successor: true as const }) }];
  }
  if (problems.length === 0) return;
  throw new UserError(problems.sort().join('\n'), { hint: 'Set metadata.id to the id of the right one.' });
}

function ambiguity({ address, source }: Resource, records: readonly ShownRecord[]): string {
  const ids = records.map((record) => record.id).sort();
  return `${source.file}:${source.line}  ${address} matches ${ids.length} records: ${ids.join(', ')}`;
}
