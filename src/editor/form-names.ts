import path from 'node:path';
import { entriesOf } from '../files/input-files.ts';
import { lookups } from '../kinds/index.ts';
import { namesInManifests } from '../manifests/kind-schema.ts';
import { formsIn } from '../manifests/layers.ts';
import { isInside, realPath } from '../manifests/read-file.ts';
import { kindOf } from '../manifests/resource.ts';
import { valueText } from '../output/value-text.ts';
import { attempt } from '../problems/attempt.ts';
import { skipMatcher } from '../project/overlays.ts';
import { isObject, type Json } from '../values/json.ts';
import { toForms } from '../values/value.ts';
import { isVisible, type ProjectSnapshot, withoutSecrets } from './snapshot.ts';

/** A possible name, with a description. */
export interface NameChoice {
  readonly name: string;
  readonly detail: string;
}

/** Returns possible addresses for a `$ref` in this workspace. If the field requires a kind, returns only addresses of that kind. */
export function referableNames(
  snapshot: ProjectSnapshot,
  kind: string | undefined,
  own: string | undefined,
): readonly NameChoice[] {
  const skips = skipMatcher(snapshot.workspace?.skip ?? []);
  const names = new Map(
    snapshot.declarations
      .filter(({ address }) => address !== own && !skips(address))
      .map(({ address, source }) => [address, `${source.file}:${source.line}`]),
  );
  // Records of lookup kinds are not declared. Their names are known from other references and from listings of the platform.
  for (const address of usedNames(snapshot).get('$ref') ?? []) {
    if (lookups.has(kindOf(address))) names.set(address, 'used in this project');
  }
  for (const lookup of lookups.keys()) {
    const { lookupNames } = snapshot.workspace ?? {};
    for (const onPlatform of snapshot.namesOnPlatform(lookup)) {
      const [name] = namesInManifests(lookupNames, lookup, onPlatform);
      if (name === undefined || names.has(`${lookup}/${name}`)) continue;
      names.set(`${lookup}/${name}`, name === onPlatform ? 'on the platform' : `${onPlatform} on the platform`);
    }
  }
  return [...names]
    .filter(([address]) => kind === undefined || kindOf(address) === kind)
    .map(([name, detail]) => ({ name, detail }));
}

export function variableNames(snapshot: ProjectSnapshot): readonly NameChoice[] {
  return Object.entries(snapshot.workspace?.vars ?? {}).map(([name, value]) => ({
    name,
    detail: withoutSecrets(snapshot, valueText(toForms(value))),
  }));
}

/** Returns the names of the secrets that the project uses, and of the files in the secrets folders. Does not read these files. */
export function secretNames(snapshot: ProjectSnapshot): readonly NameChoice[] {
  const folders = snapshot.workspace?.secrets.folders ?? [];
  const files = [...new Set(folders.flatMap(filesIn))];
  const used = usedNames(snapshot).get('$secret') ?? new Set();
  return [
    ...[...used].map((name) => ({ name, detail: 'used in this project' })),
    ...files.filter((name) => !used.has(name)).map((name) => ({ name, detail: 'file in a secrets folder' })),
  ];
}

export function environmentNames(snapshot: ProjectSnapshot): readonly NameChoice[] {
  return [...(usedNames(snapshot).get('$env') ?? [])].map((name) => ({
    name,
    detail: 'used in this project',
  }));
}

/** Returns files and folders that continue the typed path, and the files of other `$file` values. */
export function fileNames(snapshot: ProjectSnapshot, folder: string, typed: string): readonly NameChoice[] {
  const root = snapshot.folder;
  const typedFolder = typed.slice(0, typed.lastIndexOf('/') + 1);
  const searchedFolder = path.resolve(folder, typedFolder);
  const entries = isInside(searchedFolder, root) ? (attempt(() => entriesOf(searchedFolder)) ?? []) : [];
  const canGoUp = /^(?:\.\.\/)*$/.test(typedFolder) && searchedFolder !== root;
  const above = canGoUp ? [{ name: `${typedFolder}../`, detail: 'folder' }] : [];
  const found = entries
    .filter(({ name }) => !name.startsWith('.') && name !== 'node_modules' && !/\.ya?ml$/.test(name))
    .filter(({ name }) => isVisible(snapshot, realPath(path.join(searchedFolder, name))))
    .map((entry): NameChoice => {
      const isFolder = entry.isDirectory();
      return { name: `${typedFolder}${entry.name}${isFolder ? '/' : ''}`, detail: isFolder ? 'folder' : 'file' };
    });
  const used = snapshot.declarations.flatMap(({ home, source }) =>
    [...formNamesIn(home.value)].flatMap(([form, name]) =>
      form === '$file' ? [path.resolve(root, path.dirname(source.file), name)] : [],
    ),
  );
  const others = [...new Set(used)]
    .filter((file) => isVisible(snapshot, realPath(file)))
    .map((file) => path.relative(folder, file).replaceAll(path.sep, '/'));
  const known = new Set(found.map(({ name }) => name));
  return [
    ...above,
    ...found,
    ...others.filter((name) => !known.has(name)).map((name) => ({ name, detail: 'used in this project' })),
  ];
}

function filesIn(folder: string): readonly string[] {
  const entries = attempt(() => entriesOf(folder)) ?? [];
  return entries.filter((entry) => !entry.isDirectory() && !entry.name.startsWith('.')).map(({ name }) => name);
}

type FormNames = ReadonlyMap<string, ReadonlySet<string>>;

const namesByDeclarations = new WeakMap<ProjectSnapshot['declarations'], FormNames>();

/** Returns the names that value forms use in manifests and in the project file, by form. */
function usedNames(snapshot: ProjectSnapshot): FormNames {
  const known = namesByDeclarations.get(snapshot.declarations);
  if (known !== undefined) return known;
  const names = new Map<string, Set<string>>();
  const add = (form: string, name: string): void => {
    names.set(form, (names.get(form) ?? new Set()).add(name));
  };
  const { defaults = {}, workspaces = {} } = snapshot.project ?? {};
  const settings = Object.values(workspaces).map(
    ({ patches, vars }): Json => [patches, Object.values(vars).map(toForms)],
  );
  for (const value of [...snapshot.declarations.map(({ home }) => home.value), defaults, settings]) {
    for (const [form, name] of formNamesIn(value)) add(form, name);
  }
  for (const { apiKey } of Object.values(workspaces)) {
    if (apiKey.name !== '' && apiKey.name !== 'VOXFORM_API_KEY') add('$secret', apiKey.name);
  }
  namesByDeclarations.set(snapshot.declarations, names);
  return names;
}

const namesByValue = new WeakMap<object, readonly (readonly [form: string, name: string])[]>();

/** Caches its results, because each keystroke in one manifest queries all other manifests again. */
function formNamesIn(value: Json): readonly (readonly [form: string, name: string])[] {
  if (!isObject(value) && !Array.isArray(value)) return [];
  const known = namesByValue.get(value);
  if (known !== undefined) return known;
  const found = [...formsIn(value)].flatMap(({ form }) =>
    Object.entries(form).flatMap(([key, name]) =>
      key.startsWith('$') && typeof name === 'string' ? [[key, name] as const] : [],
    ),
  );
  namesByValue.set(value, found);
  return found;
}
