import { isObject } from '../values/json.ts';

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
