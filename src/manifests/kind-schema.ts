import type { z } from 'zod';
import type { LeafPath } from '../values/path.ts';
import type { Value } from '../values/value.ts';

/** What reading and comparing manifests need to know of a kind. `kinds/kind.ts` adds how its records are reached. */
export interface KindSchema {
  readonly name: string;
  /** One sentence for editors and `--help`. */
  readonly description: string;
  /** What `dashboard` of a workspace calls its records, e.g. `number`. */
  readonly dashboardKey: string;
  /** The manifest's `spec`: strict, with the API's limits and a description of every field. */
  readonly spec: z.ZodObject;
  /** What is special about single leaves. A leaf that is not named is plain: shown, compared as it is, updatable. */
  readonly fields: Readonly<Record<LeafPath, FieldRule>>;
  /** The text by which the platform's own lists tell two such records apart, where the kind has one. */
  naturalKey?(spec: { readonly [key: string]: Value }): NaturalKey | undefined;
}

interface NaturalKey {
  /** The field it is made of, e.g. `number`. */
  readonly field: LeafPath;
  /** Normalised, so that equal keys mean the same record, e.g. the digits of a number. */
  readonly key: string;
}

export interface FieldRule {
  /** An array whose order does not count. */
  readonly set?: true;
  /** An object or array that is one value: neither descended into nor checked inside. */
  readonly opaque?: true;
  /** Sent, never shown by any read, and not to be trusted if something is shown (a mask, say). */
  readonly writeOnly?: true;
  /** A field, and the value of it with which this one has no use. */
  readonly needlessWith?: { readonly field: LeafPath; readonly value: string };
  /** Hard to restore: named first, after secrets, of what an update may erase. */
  readonly costly?: true;
  /** A text that the platform may show as a JSON number, which loses a plus and leading zeros: that is not what to create it with. */
  readonly shownAsNumber?: true;
  /** Sent with requests and shown by no read. */
  readonly hidden?: true;
  /** Fixed at create: another value needs another record. */
  readonly immutable?: true;
  /** No endpoint writes it on an existing record: a person sets it in the dashboard. */
  readonly manual?: true;
  /** No endpoint writes it at create either. */
  readonly notAtCreate?: true;
  /** The kind whose ids the field holds: itself or as items. */
  readonly refersTo?: string;
  /** Brings desired and observed to one form before they are compared. */
  normalise?(value: unknown): unknown;
}

/** A field with a rule that asks something of every manifest. */
interface RuledField {
  readonly field: LeafPath;
  readonly rule: FieldRule;
}

const ruledFields = new WeakMap<KindSchema, readonly RuledField[]>();

/** The fields for ids and those for secrets: worked out once a kind, because each manifest is asked for them. */
export function idsAndSecrets(kind: KindSchema): readonly RuledField[] {
  const known = ruledFields.get(kind);
  if (known !== undefined) return known;
  const ruled = Object.entries(kind.fields)
    .filter(([, rule]) => rule.refersTo !== undefined || rule.writeOnly === true)
    .map(([field, rule]) => ({ field, rule }));
  ruledFields.set(kind, ruled);
  return ruled;
}

/** Something that a `$ref` can name although no manifest declares it. */
export interface LookupName {
  readonly name: string;
  readonly description: string;
}
