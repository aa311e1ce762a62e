import { z } from 'zod';
import { UserError } from '../../../problems/user-error.ts';
import { lazily } from '../../../values/lazily.ts';
import { storedLock } from '../object-store/object-store.ts';

/** The only object that is replaced. */
export const HEAD = 'head.json';

const part = (kind: string) => z.string().regex(new RegExp(`^[0-9a-f-]{36}\\.${kind}$`));

const head = lazily(() =>
  z.looseObject({
    version: z.literal(1),
    /** `Change.write` of the last write. */
    write: z.string(),
    lock: storedLock().nullable(),
    /** Of the document, for people; null for the mark of a state that was moved. */
    lineage: z.string().nullable(),
    serial: z.number().nullable(),
    /** Of the document. Earlier versions did not write it. */
    workspace_id: z.string().nullish(),
    /** The object with the document; null without one. */
    state: part('state').nullable(),
    /** The objects with the journal, and its last lines. */
    journal: z.array(part('journal')),
    journal_end: z.string(),
    /** The same of the history. */
    history: z.array(part('history')),
    history_end: z.string(),
    /** True for a store that compares tags only without quotes. */
    bare_tags: z.boolean(),
    /** The time when objects without use were last removed, ISO 8601. */
    cleaned: z.string(),
  }),
);

export type Head = z.infer<ReturnType<typeof head>>;

export function newHead(bareTags: boolean, now: Date): Head {
  return {
    version: 1,
    write: '',
    lock: null,
    lineage: null,
    serial: null,
    state: null,
    journal: [],
    journal_end: '',
    history: [],
    history_end: '',
    bare_tags: bareTags,
    cleaned: now.toISOString(),
  };
}

/** Undefined if it is not the head of a state. */
export function headIn(bytes: Uint8Array): Head | undefined {
  return head().safeParse(jsonIn(bytes)).data;
}

/** @throws UserError if it is not the head of a state. */
export function parseHead(bytes: Uint8Array, location: string): Head {
  const found = headIn(bytes);
  if (found !== undefined) return found;
  throw new UserError(`${location}/${HEAD} is not the head of a state that this version of voxform can read`, {
    hint: 'Nothing was changed. Set state.key to a key that nothing else uses, or update voxform.',
  });
}

function jsonIn(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString());
  } catch {
    return undefined;
  }
}
