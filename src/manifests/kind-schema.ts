import type { z } from 'zod';
import { isObject } from '../values/json.ts';
import type { LeafPath } from '../values/path.ts';
import type { Value } from '../values/value.ts';

/** The part of a kind that reading and comparing manifests needs. `kinds/kind.ts` adds access to the records. */
export interface KindSchema {
  readonly name: string;
  /** One sentence for editors and `--help`. */
  readonly description: string;
  /** The key of its records under `dashboard` of a workspace, such as `number`. */
  readonly dashboardKey: string;
  /** The manifest's `spec`: strict, with the API's limits and a description of every field. */
  readonly spec: z.ZodObject;
  /** Rules of single leaves. A leaf without a rule is shown, compared as it is, and updatable. */
  readonly fields: Readonly<Record<LeafPath, FieldRule>>;
  /** The text that identifies a record in the platform's lists, if the kind has one. */
  naturalKey?(spec: { readonly [key: string]: Value }): NaturalKey | undefined;
}

interface NaturalKey {
  /** The field of the key, such as `number`. */
  readonly field: LeafPath;
  /** Normalized: equal keys mean the same record. For a number, its digits. */
  readonly key: string;
}

export interface FieldRule {
  /** An array without order. */
  readonly set?: true;
  /** An object or array that is one value. Its contents are not checked. */
  readonly opaque?: true;
  /** Sent, but never shown. A shown value is not trusted: it may be a mask. */
  readonly writeOnly?: true;
  /** Another field, and its value for which this field is not needed. */
  readonly needlessWith?: { readonly field: LeafPath; readonly value: string };
  /** Hard to restore: listed after secrets in warnings about fields that may be erased. */
  readonly costly?: true;
  /** A text that the platform may show as a JSON number, without plus and leading zeros. Such a value must not be used for a create. */
  readonly shownAsNumber?: true;
  /** Sent, but never shown. */
  readonly hidden?: true;
  /** Set at create only. Another value needs another record. */
  readonly immutable?: true;
  /** No endpoint changes it on an existing record. A person sets it in the dashboard. */
  readonly manual?: true;
  /** No endpoint sets it at create. */
  readonly notAtCreate?: true;
  /** The kind of the ids in this field or in its items. */
  readonly refersTo?: string;
  /** Normalizes desired and observed values before they are compared. */
  normalise?(value: unknown): unknown;
}

/** A field with a rule that applies to every manifest. */
interface RuledField {
  readonly field: LeafPath;
  readonly rule: FieldRule;
}

const ruledFields = new WeakMap<KindSchema, readonly RuledField[]>();

/** The fields for ids and for secrets, computed once per kind. */
export function idsAndSecrets(kind: KindSchema): readonly RuledField[] {
  const known = ruledFields.get(kind);
  if (known !== undefined) return known;
  const ruled = Object.entries(kind.fields)
    .filter(([, rule]) => rule.refersTo !== undefined || rule.writeOnly === true)
    .map(([field, rule]) => ({ field, rule }));
  ruledFields.set(kind, ruled);
  return ruled;
}

/** A target of `$ref` that no manifest declares. */
export interface LookupName {
  readonly name: string;
  readonly description: string;
}

/**
 * The names in a workspace of records that are looked up by name, such as knowledge bases: by kind, then by the name in the manifests. A
 * name without an entry is the same in both.
 */
export type LookupNames = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** The settings of a workspace with such names, by kind. */
export const NAME_SETTINGS = { KnowledgeBase: 'knowledge_bases' } as const;

/** @param workspace as in the project file; values that are not text are ignored. */
export function lookupNamesIn(workspace: { readonly [setting: string]: unknown }): LookupNames {
  return Object.fromEntries(
    Object.entries(NAME_SETTINGS).map(([kind, setting]) => {
      const names = workspace[setting];
      const entries = isObject(names) ? Object.entries(names) : [];
      const texts = entries.flatMap(([key, name]) => (typeof name === 'string' ? [[key, name] as const] : []));
      return [kind, Object.fromEntries(texts)];
    }),
  );
}

/** The name on the platform for a name in a manifest. */
export function nameOnPlatform(names: LookupNames | undefined, kind: string, name: string): string {
  const mapped = names?.[kind];
  return mapped !== undefined && Object.hasOwn(mapped, name) ? (mapped[name] ?? name) : name;
}

/** The names that a manifest can use for a record, the preferred one first; none if its name means another record. */
export function namesInManifests(names: LookupNames | undefined, kind: string, name: string): readonly string[] {
  const mapped = names?.[kind] ?? {};
  const keys = Object.keys(mapped).filter((key) => mapped[key] === name);
  return Object.hasOwn(mapped, name) ? keys : [...keys, name];
}
