import { canonicalJson, isObject, type Json, type JsonObject } from '../values/json.ts';
import type { ProjectConfig } from './project.ts';

/** Settings that control where requests, secrets and states are sent. */
const WORKSPACE_SETTINGS = [
  'base_url',
  'workspace_id',
  'api_key',
  'secrets_dir',
  'secrets',
  'state',
  'ca_file',
  'dashboard',
] as const;
const PROJECT_SETTINGS = ['secrets', 'state', 'notify', 'limits'] as const;

/** A trusted version of a project. A run uses its settings, certificates and commands instead of those of another version. */
export interface TrustedProject {
  /** The parsed project file. */
  readonly document: Json;
  readonly project: ProjectConfig;
}

/** Returns the project file with trusted settings, without workspaces that the trusted version lacks and `default_workspace`. */
export function withTrustedSettings(document: Json, trusted: Json): Json {
  if (!isObject(document) || !isObject(trusted)) return document;
  const [own, trustedWorkspaces] = [workspacesIn(document), workspacesIn(trusted)];
  const { default_workspace: _, ...rest } = document as JsonObject;
  const workspaces = Object.entries(own).flatMap(([name, workspace]) => {
    const settings = Object.hasOwn(trustedWorkspaces, name) ? trustedWorkspaces[name] : undefined;
    if (!isObject(workspace) || !isObject(settings)) return [];
    return [[name, withSettings(workspace as JsonObject, settings as JsonObject, WORKSPACE_SETTINGS)] as const];
  });
  return {
    ...withSettings(rest, trusted as JsonObject, PROJECT_SETTINGS),
    workspaces: Object.fromEntries(workspaces),
  };
}

/** Returns the parts of a project file that affect the manifests: everything except the trusted settings. */
export function withoutTrustedSettings(document: Json): Json {
  if (!isObject(document)) return document;
  const without = (settings: Json, names: readonly string[]): Json =>
    isObject(settings)
      ? Object.fromEntries(Object.entries(settings as JsonObject).filter(([name]) => !names.includes(name)))
      : settings;
  const workspaces = Object.values(workspacesIn(document)).map((each) => without(each, WORKSPACE_SETTINGS));
  return [without(without(document, PROJECT_SETTINGS), ['workspaces']), ...workspaces];
}

/** Returns the trusted settings, such as `base_url`, that differ between two versions of a workspace. */
export function changedSettings(before: Json, after: Json, workspace: string): readonly string[] {
  const [older, newer] = [before, after].map((document) => {
    const ofProject = isObject(document) ? (document as JsonObject) : {};
    const workspaces = workspacesIn(document);
    const own = Object.hasOwn(workspaces, workspace) ? workspaces[workspace] : undefined;
    return { ofProject, ofWorkspace: isObject(own) ? (own as JsonObject) : {} };
  });
  const differs = (part: 'ofProject' | 'ofWorkspace', name: string): boolean =>
    textOf(older?.[part][name]) !== textOf(newer?.[part][name]);
  const names = [
    ...WORKSPACE_SETTINGS.filter((name) => differs('ofWorkspace', name)),
    ...PROJECT_SETTINGS.filter((name) => differs('ofProject', name)),
  ];
  return [...new Set(names)];
}

function workspacesIn(document: Json): JsonObject {
  const found = isObject(document) ? (document as JsonObject).workspaces : undefined;
  return isObject(found) ? (found as JsonObject) : {};
}

function withSettings(own: JsonObject, trusted: JsonObject, names: readonly string[]): JsonObject {
  const rest = Object.fromEntries(Object.entries(own).filter(([name]) => !names.includes(name)));
  const settings = names.flatMap((name) => (trusted[name] === undefined ? [] : [[name, trusted[name]] as const]));
  return { ...rest, ...Object.fromEntries(settings) };
}

function textOf(value: Json | undefined): string {
  return value === undefined ? '' : canonicalJson(value);
}
