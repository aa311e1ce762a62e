import { isObject } from '../values/json.ts';

/**
 * What a workspace calls records that are looked up by name, such as knowledge bases: by kind, then by the name in the manifests. A name
 * without an entry is the same in both.
 */
export type LookupNames = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** The settings of a workspace that hold such names, by kind. */
export const NAME_SETTINGS = { KnowledgeBase: 'knowledge_bases' } as const;

/** @param workspace as in the project file; values of another type than text are left out. */
export function lookupNamesIn(workspace: { readonly [setting: string]: unknown }): LookupNames {
  return Object.fromEntries(
    Object.entries(NAME_SETTINGS).map(([kind, setting]) => {
      const names = workspace[setting];
      const entries = isObject(names) ? Object.entries(names) : [];
      const texts = entries.flatMap(([key, name]) =>
        typeof name === 'string' ? [[key, name] as const] : [],
      );
      return [kind, Object.fromEntries(texts)];
    }),
  );
}

/** The name on the platform of what a manifest names. */
export function nameOnPlatform(names: LookupNames | undefined, kind: string, name: string): string {
  const mapped = names?.[kind];
  return mapped !== undefined && Object.hasOwn(mapped, name) ? (mapped[name] ?? name) : name;
}

/** The names by which a manifest can refer to a record of this name, the one to write first; none where its name means another record. */
export function namesInManifests(
  names: LookupNames | undefined,
  kind: string,
  name: string,
): readonly string[] {
  const mapped = names?.[kind] ?? {};
  const keys = Object.keys(mapped).filter((key) => mapped[key] === name);
  return Object.hasOwn(mapped, name) ? keys : [...keys, name];
}
