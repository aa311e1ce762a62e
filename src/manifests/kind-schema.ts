import type { z } from 'zod';
import { isObject } from '../values/json.ts';
import type { LeafPath } from '../values/path.ts';
import type { Value } from '../values/value.ts';

/** The part of a kind that is needed to read and compare manifests. `kinds/kind.ts` adds access to the records. */
export interface KindSchema {
  readonly name: string;
  /** One sentence for editors and `--help`. */
  readonly description: string;
  /** The key of the kind under `dashboard` in the settings of a workspace, such as `number`. */
  readonly dashboardKey: string;
  /** The schema of `spec` in a manifest. It is strict and has the API's limits and a description of every field. */
  readonly spec: z.ZodObject;
  /** The rule of each field. A field without a rule is returned by the platform, compared without normalization, and updatable. */
  readonly fields: Readonly<Record<LeafPath, FieldRule>>;
  /** Returns the value that identifies a record in the platform's lists. Absent if records of this kind have no natural key. */
  naturalKey?(spec: { readonly [key: string]: Value }): NaturalKey | undefined;
}

interface NaturalKey {
  /** The field that holds the key, such as `number`. */
  readonly field: LeafPath;
  /** The normalized key: equal keys mean the same record. The key of a phone number is its digits. */
  readonly key: string;
}

export interface FieldRule {
  /** The order of this array has no meaning. */
  readonly set?: true;
  /** This object or array is one value. Its contents are not checked. */
  readonly opaque?: true;
  /** A secret: the platform never returns it. A returned value is ignored, because it may be masked. */
  readonly writeOnly?: true;
  /** Another field and its value that make this field unnecessary. */
  readonly unnecessaryIf?: { readonly field: LeafPath; readonly value: string };
  /** The value is hard to restore. Warnings about fields that may be erased list this field right after secrets. */
  readonly hardToRestore?: true;
  /** The platform may return this string as a JSON number, without plus and leading zeros. A create must not send that number. */
  readonly returnedAsNumber?: true;
  /** The platform accepts this field, but never returns it. */
  readonly hidden?: true;
  /** The field can only be set at create. A change requires a new record. */
  readonly immutable?: true;
  /** No endpoint changes this field on an existing record. A person must change it in the dashboard. */
  readonly manual?: true;
  /** No endpoint sets this field at create. */
  readonly notAtCreate?: true;
  /** The kind of the records that this field, or each of its items, refers to by id. */
  readonly refersTo?: string;
  /** Normalizes desired and observed values before they are compared. */
  normalise?(value: unknown): unknown;
}

interface RuledField {
  readonly field: LeafPath;
  readonly rule: FieldRule;
}

const ruledFields = new WeakMap<KindSchema, readonly RuledField[]>();

/** Returns the fields that hold ids or secrets. Computed once per kind. */
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
 * The name mappings of a workspace, for records that are looked up by name, such as knowledge bases. Maps each kind, and each name in the
 * manifests, to the name on the platform. A name without an entry is the same in both places.
 */
export type LookupNames = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** The workspace setting that maps the names of each kind. */
export const NAME_SETTINGS = { KnowledgeBase: 'knowledge_bases' } as const;

/** Returns the name mappings in the settings of a workspace. Values that are not strings are ignored. */
export function lookupNamesIn(workspace: { readonly [setting: string]: unknown }): LookupNames {
  return Object.fromEntries(
    Object.entries(NAME_SETTINGS).map(([kind, setting]) => {
      const names = workspace[setting];
      const entries = isObject(names) ? Object.entries(names) : [];
      const mapped = entries.flatMap(([key, name]) => (typeof name === 'string' ? [[key, name] as const] : []));
      return [kind, Object.fromEntries(mapped)];
    }),
  );
}

/** Returns the name on the platform for a name in a manifest. */
export function nameOnPlatform(names: LookupNames | undefined, kind: string, name: string): string {
  const mapped = names?.[kind];
  return mapped !== undefined && Object.hasOwn(mapped, name) ? (mapped[name] ?? name) : name;
}

/** Returns the names by which a manifest can refer to a record, the preferred one first. */
export function namesInManifests(names: LookupNames | undefined, kind: string, name: string): readonly string[] {
  const mapped = names?.[kind] ?? {};
  const keys = Object.keys(mapped).filter((key) => mapped[key] === name);
  return Object.hasOwn(mapped, name) ? keys : [...keys, name];
}
