import { canonicalJson, isObject, type Json, type JsonObject } from '../values/json.ts';
import type { ProjectConfig } from './project.ts';

/** Settings that decide where requests, secrets and states go. */
const OF_WORKSPACE = [
  'base_url',
  'workspace_id',
  'api_key',
  'secrets_dir',
  'secrets',
  'state',
  'ca_file',
  'dashboard',
] as const;
const OF_PROJECT = ['secrets', 'state', 'notify', 'limits'] as const;

/** A version of a project whose settings a run uses in place of those of another version, with their certificates and commands. */
export interface TrustedProject {
  /** The parsed project file. */
  readonly document: Json;
  readonly project: ProjectConfig;
}

/**
 * The project file with the trusted settings. Workspaces that the trusted version does not have are left out, and so is
 * `default_workspace`, which may name one of them.
 */
export function withTrustedSettings(document: Json, trusted: Json): Json {
  if (!isObject(document) || !isObject(trusted)) return document;
  const [own, theirs] = [workspacesIn(document), workspacesIn(trusted)];
  const { default_workspace: _, ...rest } = document as JsonObject;
  const workspaces = Object.entries(own).flatMap(([name, workspace]) => {
    const there = Object.hasOwn(theirs, name) ? theirs[name] : undefined;
    if (!isObject(workspace) || !isObject(there)) return [];
    return [[name, replaced(workspace as JsonObject, there as JsonObject, OF_WORKSPACE)] as const];
  });
  return {
    ...replaced(rest, trusted as JsonObject, OF_PROJECT),
    workspaces: Object.fromEntries(workspaces),
  };
}

/** A project file without the trusted settings: what manifests consist of. */
export function withoutTrustedSettings(document: Json): Json {
  if (!isObject(document)) return document;
  const without = (settings: Json, names: readonly string[]): Json =>
    isObject(settings)
      ? Object.fromEntries(Object.entries(settings as JsonObject).filter(([name]) => !names.includes(name)))
      : settings;
  const workspaces = Object.values(workspacesIn(document)).map((each) => without(each, OF_WORKSPACE));
  return [without(without(document, OF_PROJECT), ['workspaces']), ...workspaces];
}

/** The trusted settings of a workspace in which two versions differ, such as `base_url`. */
export function changedSettings(before: Json, after: Json, workspace: string): readonly string[] {
  const [one, other] = [before, after].map((document) => {
    const ofProject = isObject(document) ? (document as JsonObject) : {};
    const workspaces = workspacesIn(document);
    const own = Object.hasOwn(workspaces, workspace) ? workspaces[workspace] : undefined;
    return { ofProject, ofWorkspace: isObject(own) ? (own as JsonObject) : {} };
  });
  const differs = (part: 'ofProject' | 'ofWorkspace', name: string): boolean =>
    textOf(one?.[part][name]) !== textOf(other?.[part][name]);
  const names = [
    ...OF_WORKSPACE.filter((name) => differs('ofWorkspace', name)),
    ...OF_PROJECT.filter((name) => differs('ofProject', name)),
  ];
  return [...new Set(names)];
}

function workspacesIn(document: Json): JsonObject {
  const found = isObject(document) ? (document as JsonObject).workspaces : undefined;
  return isObject(found) ? (found as JsonObject) : {};
}

function replaced(own: JsonObject, trusted: JsonObject, names: readonly string[]): JsonObject {
  const rest = Object.fromEntries(Object.entries(own).filter(([name]) => !names.includes(name)));
  const taken = names.flatMap((name) => (trusted[name] === undefined ? [] : [[name, trusted[name]] as const]));
  return { ...rest, ...Object.fromEntries(taken) };
}

function textOf(value: Json | undefined): string {
  return value === undefined ? '' : canonicalJson(value);
}
