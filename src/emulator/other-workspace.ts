import type { Emulated } from './emulated.ts';

const OTHER_WORKSPACE_ID = '01JEMV1AT0ROTHERWORKSPACE1';

/** The records, and where the key sees a second workspace, a copy of each there: under another id, alike in all else. */
export function* seenByKey<T extends { readonly id: string; readonly workspace_id: string }>(
  records: Iterable<T>,
  { behaviour }: Emulated,
): Generator<T> {
  for (const record of records) {
    yield record;
    if (!behaviour.seesOtherWorkspace) continue;
    // Half of them come before the record that they are like, whatever the order of the list.
    const first = Number.parseInt(record.id.at(-1) ?? '', 36) % 2 === 0 ? '00' : 'ZZ';
    yield { ...record, id: first + record.id.slice(2), workspace_id: OTHER_WORKSPACE_ID };
  }
}
