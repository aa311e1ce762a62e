import { X509Certificate } from 'node:crypto';
import path from 'node:path';
import type { z } from 'zod';
import { repeated } from '../manifests/check-resources.ts';
import { type DocumentPath, type Finding, findingOf, type Problem } from '../manifests/finding.ts';
import { escapeGlob, globMatcher, withoutDotSlash } from '../manifests/glob.ts';
import { problemsIn } from '../manifests/issue-messages.ts';
import { lookupNamesIn, NAME_SETTINGS } from '../manifests/kind-schema.ts';
import { isInside, readTextFile, realPath } from '../manifests/read-file.ts';
import { attempt } from '../problems/attempt.ts';
import { suggestion } from '../problems/suggest.ts';
import {
  backendOf,
  locateState,
  type StateLocation,
  type StateSettings,
  stateSchema,
} from '../state/state-location.ts';
import { distinct, isObject, type Json, type JsonObject, mapParts } from '../values/json.ts';
import { isSymbolic } from '../values/value.ts';
import { type LocalPaths, pathProblem } from './local-paths.ts';
import { notifyEvents } from './notify-schema.ts';
import { usablePolicies } from './policy-schema.ts';
import type { Guards, Limits, ProjectConfig, WorkspaceConfig } from './project.ts';
import { type ProjectDocument, projectSchema, projectSchemaFor } from './project-schema.ts';
import { windowsFrom } from './watch-schema.ts';
import {
  INHERITED,
  readSettings,
  type SettingsInput,
  STAND_INS,
  type WorkspaceSettings,
} from './workspace-settings.ts';

export const defaultManifests: readonly string[] = ['manifests/**/*.{yaml,yml,json}'];
const defaultLimits: Limits = { concurrency: 'auto', requestsPerSecond: null, timeoutSeconds: 30 };
const defaultGuards: Guards = { maxChangedPercent: 50, minResources: 10 };

interface ProjectContext extends Pick<SettingsInput, 'root' | 'local' | 'env' | 'settingsRoot' | 'secrets'> {
  /** The path of the project file relative to the root. */
  readonly file: string;
  /** False for an untrusted project. Certificates outside its folder are then not read. */
  readonly readsElsewhere?: boolean | undefined;
}

interface CheckedProject {
  /** The project without its invalid parts. Undefined if nothing is valid. */
  readonly project: ProjectConfig | undefined;
  readonly findings: readonly Finding[];
}

/** Checks a parsed project file and converts it to a configuration. */
export function checkProject(raw: Json, context: ProjectContext): CheckedProject {
  const settings = settingsOf(raw, context);
  const formProblems = [...settings].flatMap(([name, read]): Problem[] =>
    read.problems.map((problem) => ({ ...problem, path: reportedPath(name, problem.path) })),
  );
  const plain = withSettings(raw, settings);
  const parsed = projectSchemaFor(plain).safeParse(plain);
  const document = parsed.success ? parsed.data : usableDocument(plain);
  const problems = [
    ...distinct(formProblems),
    ...problemsIn(parsed.error, { schema: projectSchema(), value: plain, name: 'the project file' }),
    ...(document === undefined ? [] : crossChecks(document, raw, settings, context)),
  ];
  const findings = problems.map((problem) => findingOf(problem, context.file));
  return { project: document && projectFrom(document, settings, context), findings };
}

/** Returns the path of a problem in the project file. A problem in a setting for all workspaces has the path of that setting. */
function reportedPath(workspace: string, [first, ...rest]: Problem['path']): Problem['path'] {
  if (first === INHERITED.state) return ['state', ...rest];
  if (first === INHERITED.secrets) return ['secrets', ...rest];
  return ['workspaces', workspace, first ?? '', ...rest];
}

type Settings = ReadonlyMap<string, WorkspaceSettings>;

function settingsOf(raw: Json, context: ProjectContext): Settings {
  const settings = new Map<string, WorkspaceSettings>();
  if (!isObject(raw) || !isObject(raw.workspaces)) return settings;
  const shared = {
    state: isObject(raw.state) ? (raw.state as JsonObject) : undefined,
    secrets: raw.secrets as Json | undefined,
  };
  for (const [name, workspace] of Object.entries(raw.workspaces)) {
    if (!isObject(workspace)) continue;
    settings.set(name, readSettings(workspace as JsonObject, { ...context, workspace: name }, shared));
  }
  return settings;
}

function withSettings(raw: Json, settings: Settings): unknown {
  const [first] = settings.values();
  if (first === undefined || !isObject(raw) || !isObject(raw.workspaces)) return raw;
  const workspaces = Object.entries(raw.workspaces).map(([name, workspace]) => [
    name,
    settings.get(name)?.plain ?? workspace,
  ]);
  const inherited = first.inherited && { state: first.inherited };
  return { ...raw, ...inherited, workspaces: Object.fromEntries(workspaces) };
}

/** Reads the certificates of a `ca_file`. For a project from Git, the file must be part of the project. */
function certificatesOf(
  file: string | undefined,
  { root, settingsRoot = root, local, readsElsewhere = true }: ProjectContext,
): ReturnType<typeof readCertificates> | undefined {
  if (file === undefined) return undefined;
  const absolute = path.resolve(settingsRoot, file);
  if (!readsElsewhere && local === undefined && !isInside(realPath(absolute), settingsRoot)) return undefined;
  return readCertificates(absolute, local && settingsRoot);
}

/** Checks settings that depend on each other. @param raw the file with its invalid workspaces, which the document does not contain. */
function crossChecks(
  { workspaces, default_workspace, state: sharedState }: ProjectDocument,
  raw: Json,
  settings: Settings,
  context: ProjectContext,
): Problem[] {
  const problems: Problem[] = [];
  const report = (code: string, message: string, path: Problem['path']): void => {
    problems.push({ code, message, path, at: 'value' });
  };
  const names = isObject(raw) && isObject(raw.workspaces) ? Object.keys(raw.workspaces) : [];
  if (default_workspace !== undefined && names.length > 0 && !names.includes(default_workspace)) {
    const { text, fix } = suggestion(default_workspace, names);
    const message = `unknown workspace ${JSON.stringify(default_workspace)}${text || `; workspaces: ${names.join(', ')}`}`;
    problems.push({ code: 'unknown-workspace', message, path: ['default_workspace'], at: 'value', fix });
  }
  const states = Object.entries(workspaces).map(([name, workspace]) => {
    const { state, ca_file } = workspace;
    const base = ['workspaces', name];
    for (const [kind, setting] of Object.entries(NAME_SETTINGS)) {
      const names = Object.entries(lookupNamesIn(workspace)[kind] ?? {});
      for (const [[key], [first]] of repeated(names, ([, onPlatform]) => onPlatform)) {
        const message = `${kind}/${first} has the same name in this workspace: names must be unique so that voxform can write them back`;
        report('duplicate-name', message, [...base, setting, key]);
      }
    }
    const read = certificatesOf(ca_file, context);
    if (read !== undefined && 'problem' in read) {
      const message = `${JSON.stringify(ca_file)} cannot be used: ${read.problem}`;
      report('bad-certificate', message, [...base, 'ca_file']);
    }
    const isInherited = state === undefined && sharedState !== undefined;
    const stateSettings = isInherited ? inheritedState(settings.get(name)) : state;
    const location = stateLocation(name, stateSettings, context);
    const at = isInherited ? ['state'] : [...base, 'state'];
    for (const problem of localStateProblems(name, { location, stateSettings }, context.local)) {
      const { setting, code, message } = problem;
      report(code, message, setting === undefined ? at : [...at, setting]);
    }
    return { name, location, at, isInherited };
  });
  const keyOf = ({ location }: (typeof states)[number]) => `${location.backend} ${backendOf(location).keyOf(location)}`;
  for (const [{ name, location, at, isInherited }, owner] of repeated(states, keyOf)) {
    const { locationSetting } = backendOf(location);
    const advice = isInherited ? '; use {workspace} in its value' : '; each workspace needs its own';
    const message = `the workspaces ${owner.name} and ${name} have the same state ${locationSetting}${advice}`;
    report('shared-state', message, [...at, locationSetting]);
  }
  return problems;
}

interface ConfiguredState {
  readonly location: StateLocation;
  readonly stateSettings: StateSettings | undefined;
}

/** Yields the reasons why a fetched project, such as one from Git, must not use this state. Without `setting`, all are affected. */
function* localStateProblems(
  workspace: string,
  { location, stateSettings }: ConfiguredState,
  local: LocalPaths | undefined,
): Generator<Pick<Problem, 'code' | 'message'> & { readonly setting?: string }> {
  if (local === undefined) return;
  const { locationSetting, fileOf, folderOf } = backendOf(location);
  const file = fileOf?.(location);
  const folder = folderOf?.(location);
  const paths = [
    ...(stateSettings?.[locationSetting] === undefined || file === undefined
      ? []
      : [{ setting: locationSetting, path: file }]),
    ...(folder === undefined ? [] : [folder]),
  ];
  for (const { setting, path: file } of paths) {
    const message = pathProblem(`state.${setting}`, file, local);
    if (message !== undefined) yield { code: 'outside-folder', message, setting };
  }
  if (local.isTemporary && file !== undefined) {
    const message =
      "a fleet cannot use a local state for a project from Git; remove state to use the fleet's database, or choose another backend";
    yield { code: 'local-state', message };
  }
  const message = local.stateProblem?.(workspace, location);
  if (message !== undefined) yield { code: 'foreign-state', message };
}

/** Returns the project's `state` with the secrets of this workspace. */
function inheritedState(settings: WorkspaceSettings | undefined): StateSettings | undefined {
  return stateSchema().safeParse(settings?.inherited).data;
}

function stateLocation(
  workspace: string,
  settings: StateSettings | undefined,
  { root, local }: ProjectContext,
): StateLocation {
  const { seal, ...rest } = settings ?? {};
  if (Object.keys(rest).length === 0 && local?.stateOf !== undefined) return { ...local.stateOf(workspace), seal };
  return locateState(settings, { workspace, root: local?.root ?? root, source: local?.source });
}

function projectFrom(document: ProjectDocument, settings: Settings, context: ProjectContext): ProjectConfig {
  const { root, local, file } = context;
  const { manifests, default_workspace, defaults, limits = {}, guards = {} } = document;
  const workspaces: Record<string, WorkspaceConfig> = {};
  for (const [name, workspace] of Object.entries(document.workspaces)) {
    const { patches, ids, skip, dashboard, ca_file, state } = workspace;
    const certificates = certificatesOf(ca_file, context);
    const read = settings.get(name);
    if (read === undefined) continue;
    const { baseUrl, workspaceId, apiKey, vars, secrets, unset } = read;
    workspaces[name] = {
      name,
      baseUrl,
      workspaceId,
      apiKey,
      vars,
      patches: (patches ?? {}) as Readonly<Record<string, JsonObject>>,
      ids,
      lookupNames: lookupNamesIn(workspace),
      skip: skip ?? [],
      secrets,
      dashboard,
      ca: certificates && 'pem' in certificates ? certificates.pem : undefined,
      state: stateLocation(name, state ?? (document.state && inheritedState(read)), context),
      unset,
    };
  }
  return {
    root,
    ...(local !== undefined && {
      localRoot: local.root,
      maxValues: local.maxValues,
      maxCharacters: local.maxCharacters,
    }),
    file,
    manifests: withoutOwnFiles(manifests ?? defaultManifests, Object.values(workspaces), context),
    defaultWorkspace: Object.hasOwn(workspaces, default_workspace ?? '') ? default_workspace : undefined,
    workspaces,
    defaults: (defaults ?? {}) as Readonly<Record<string, JsonObject>>,
    limits: {
      concurrency: limits.concurrency ?? defaultLimits.concurrency,
      requestsPerSecond: limits.requests_per_second ?? defaultLimits.requestsPerSecond,
      timeoutSeconds: limits.timeout_seconds ?? defaultLimits.timeoutSeconds,
    },
    guards: {
      maxChangedPercent: guards.max_changed_percent ?? defaultGuards.maxChangedPercent,
      minResources: guards.min_resources ?? defaultGuards.minResources,
    },
    literalVariables: document.literal_variables ?? [],
    windows: windowsFrom(document.watch),
    pullRequests: document.pull_requests ?? {},
    webhooks: (document.notify ?? []).map((webhook) => ({ ...webhook, on: webhook.on ?? [...notifyEvents] })),
    policies: document.policies ?? [],
  };
}

/** Adds patterns that exclude the project file and state files. */
function withoutOwnFiles(
  patterns: readonly string[],
  workspaces: readonly WorkspaceConfig[],
  { root, file }: ProjectContext,
): readonly string[] {
  const states = workspaces.flatMap(({ state }) => backendOf(state).fileOf?.(state) ?? []);
  const own = [file, ...states.map((state) => path.relative(root, state).replaceAll(path.sep, '/'))];
  const globs = patterns.filter((pattern) => !pattern.startsWith('!'));
  const matches = globMatcher(globs.map(withoutDotSlash));
  return [...patterns, ...own.filter((each) => matches(each)).map((each) => `!${escapeGlob(each)}`)];
}

const PEM_CERTIFICATE = /-----BEGIN (?:TRUSTED )?CERTIFICATE-----[^-]*-----END (?:TRUSTED )?CERTIFICATE-----/g;

/**
 * Reads the certificates of a PEM file, or returns the problem.
 * @param inside the real path of a folder that must contain the file; undefined permits any folder.
 */
function readCertificates(file: string, inside?: string): { readonly pem: string } | { readonly problem: string } {
  const read = readTextFile(file, inside);
  if ('problem' in read) return { problem: read.problem.message };
  const blocks = read.text.match(PEM_CERTIFICATE) ?? [];
  if (blocks.length === 0) return { problem: 'the file contains no PEM certificate' };
  for (const [index, block] of blocks.entries()) {
    if (attempt(() => new X509Certificate(block)) === undefined)
      return { problem: `certificate ${index + 1} of the file cannot be read` };
  }
  return { pem: blocks.join('\n') };
}

/** Replaces an invalid list item, so that later items keep their indices. It matches no file and no address. */
const NO_ITEM = '-';

/** The maximum number of rounds. Each round removes all parts that the schema rejects, which may reveal further problems. */
const MAX_ROUNDS = 8;

/** Returns a project file without its invalid parts, and with stand-ins for required parts, to find further problems. */
function usableDocument(raw: unknown): ProjectDocument | undefined {
  if (!isObject(raw)) return undefined;
  const copy = copyOf(raw);
  const policies = usablePolicies(raw.policies);
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const parsed = projectSchema().safeParse(copy);
    if (parsed.success) return { ...parsed.data, policies };
    for (const issue of parsed.error.issues) repair(copy, issue);
  }
  return undefined;
}

/** Returns a deep copy that shares its secrets with the original. */
function copyOf(value: unknown): unknown {
  return isSymbolic(value) ? value : mapParts(value, copyOf);
}

function repair(root: unknown, issue: z.core.$ZodIssue): void {
  const path = issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part));
  const wrong = issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...path, key]) : [path];
  const [top] = path;
  // Remove the whole section, because nothing else in the file depends on it.
  if (top === 'watch' || top === 'notify' || top === 'policies') setAtPath(root, [top], undefined);
  else for (const each of wrong) setAtPath(root, each, standInFor(each));
}

function standInFor(path: DocumentPath): unknown {
  const [top, , setting, ...more] = path;
  const last = path.at(-1);
  if (path.length === 1 && top === 'version') return 1;
  if (path.length === 1 && top === 'workspaces') return { 'stand-in': { ...STAND_INS } };
  if (top === 'workspaces' && more.length === 0 && (setting === 'base_url' || setting === 'workspace_id')) {
    return STAND_INS[setting];
  }
  return typeof last === 'number' ? NO_ITEM : undefined;
}

/** Sets the value at a path, or removes the key if the value is undefined. */
function setAtPath(root: unknown, path: DocumentPath, value: unknown): void {
  const last = path.at(-1);
  if (last === undefined) return;
  let parent: unknown = root;
  for (const part of path.slice(0, -1)) {
    if (typeof parent !== 'object' || parent === null) return;
    parent = Reflect.get(parent, part);
  }
  if (typeof parent !== 'object' || parent === null) return;
  if (value === undefined) Reflect.deleteProperty(parent, last);
  else Reflect.set(parent, last, value);
}
