import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { kinds, lookups } from '../../kinds/index.ts';
import { onlyDocument } from '../../manifests/parse-documents.ts';
import type { Resource } from '../../manifests/resource.ts';
import type { Environment } from '../../manifests/secret-reader.ts';
import type { ExternalPolicies, PolicySource } from '../../policies/rule.ts';
import type { Diagnostic } from '../../problems/diagnostic.ts';
import { UserError } from '../../problems/user-error.ts';
import { InvalidProject } from '../../project/invalid-project.ts';
import { loadProject } from '../../project/load-project.ts';
import { changedSettings, type TrustedProject } from '../../project/trusted-settings.ts';
import { validateProject } from '../../runs/validate-project.ts';
import { canonicalJson, isObject, type Json } from '../../values/json.ts';
import { toForms } from '../../values/value.ts';
import { fleetAddress, nameProblem, projectAddress, shownProject } from '../addresses.ts';
import type { FoundProject, FoundProjects, Sources } from '../member.ts';

/** A workspace whose manifests, files, variables or settings differ between two commits. */
export interface AffectedWorkspace {
  /** The address of the workspace, or of the project if its workspaces are unknown. */
  readonly address: string;
  readonly project: FoundProject;
  /** The name of the workspace; undefined if the workspaces of the project are unknown. */
  readonly workspace: string | undefined;
  readonly change: 'changed' | 'new' | 'removed';
  /** The changed settings for secrets, state and platform. */
  readonly settings: readonly string[];
  /** The project on the target branch: `invalid` if it is not valid there, undefined if it does not exist there. */
  readonly trusted: TrustedProject | 'invalid' | undefined;
  /** True if the target branch has newer changes to the project. */
  readonly isBehind: boolean;
  /** Errors and warnings of the newer version, from a validation without secrets. */
  readonly diagnostics: readonly Diagnostic[];
  /** The addresses of the workspace's resources. */
  readonly resources: readonly string[];
}

interface ComparisonOptions {
  readonly sources: Sources;
  readonly source: string;
  readonly policies: PolicySource | undefined;
  /** The environment for the settings of the target branch. */
  readonly env: Environment;
  readonly signal: AbortSignal;
  /** The maximum number of projects that may differ, because each of them is checked out. */
  readonly maxProjects: number;
}

interface ComparedCommits {
  /** The projects at the merge base. */
  readonly before: FoundProjects;
  readonly after: FoundProjects;
  /** The projects at the newest commit of the target branch. Their policies apply in addition to the policies of the request. */
  readonly base: FoundProjects;
}

/**
 * Compares the workspaces of a source at two commits. Reads no secrets. Uses the environment only for the settings of the target branch.
 * @throws UserError if too many projects differ.
 */
export async function affectedWorkspaces(
  options: ComparisonOptions,
  { before, after, base }: ComparedCommits,
): Promise<readonly AffectedWorkspace[]> {
  const [old, current] = [before, after].map(({ projects }) => new Map(projects.map((each) => [each.project, each])));
  const names = [...new Set([...(old?.keys() ?? []), ...(current?.keys() ?? [])])].sort();
  const different = names.filter((name) => old?.get(name)?.version !== current?.get(name)?.version);
  if (different.length > options.maxProjects) {
    throw new UserError(`the request changes ${different.length} projects; the maximum is ${options.maxProjects}`, {
      hint: 'Split the request into smaller requests.',
    });
  }
  const affected: AffectedWorkspace[] = [];
  for (const name of different) {
    const [prev, next] = [old?.get(name), current?.get(name)];
    const onBase = base.projects.find((each) => each.project === name);
    const trusted = onBase && (await loadTrusted(options, onBase));
    const loading = { ...options, policies: policiesWith(options.policies, trusted) };
    const loadedBefore = prev && (await loadAt(loading, prev, before));
    const loadedAfter = next && (await loadAt(loading, next, after));
    const isBehind = onBase?.version !== prev?.version;
    const found = differences(options.source, loadedBefore, loadedAfter);
    affected.push(...found.map((each) => ({ ...each, trusted, isBehind })));
  }
  return affected;
}

/** Loads a project of the target branch. Returns `invalid` if the project is not valid. */
async function loadTrusted(
  { sources, source, env, signal }: ComparisonOptions,
  project: FoundProject,
): Promise<TrustedProject | 'invalid'> {
  if (project.problem !== undefined) return 'invalid';
  const { folder } = await sources.checkout({ ...project, source }, signal);
  try {
    const trusted = await loadProject({ cwd: folder, env, local: sources.local(source, project.project) });
    const text = await readFile(path.join(folder, project.file), 'utf8');
    const { value } = onlyDocument(text, { file: project.file, name: 'the project file' });
    return { document: value ?? null, project: trusted };
  } catch (error) {
    if (error instanceof InvalidProject) return 'invalid';
    throw error;
  }
}

/** Returns the policies that a request cannot change: those of the fleet and of the target branch. */
export function policiesWith(
  fleet: PolicySource | undefined,
  trusted: TrustedProject | 'invalid' | undefined,
): ExternalPolicies {
  if (trusted === undefined || trusted === 'invalid') return { files: [], fleet };
  const { root, file = '', policies } = trusted.project;
  return { files: [], fleet, base: { of: 'file', file: `${file} of the base`, path: path.join(root, file), policies } };
}

interface LoadOptions extends Omit<ComparisonOptions, 'policies'> {
  readonly policies: ExternalPolicies;
}

interface LoadedProject {
  readonly project: FoundProject;
  readonly document: Json;
  /** The reasons why the workspaces are unknown; empty if they are known. */
  readonly problems: readonly Diagnostic[];
  readonly workspaces: ReadonlyMap<string, LoadedWorkspace>;
}

interface LoadedWorkspace {
  /** A comparison key. It is equal for equal manifests and settings. */
  readonly key: string;
  /** The contents of `ca_file`. */
  readonly ca: string | undefined;
  readonly resources: readonly Resource[];
  readonly diagnostics: readonly Diagnostic[];
}

type Difference = Omit<AffectedWorkspace, 'trusted' | 'isBehind'>;

function differences(source: string, before?: LoadedProject, after?: LoadedProject): Difference[] {
  const project = after?.project ?? before?.project;
  if (project === undefined) return [];
  const common = { project, settings: [], diagnostics: [], resources: [] };
  if (after !== undefined && after.problems.length > 0) {
    const address = projectAddress(source, shownProject(project.project));
    return [{ ...common, address, workspace: undefined, change: 'changed', diagnostics: after.problems }];
  }
  const names = [...new Set([...(before?.workspaces.keys() ?? []), ...(after?.workspaces.keys() ?? [])])];
  return names.flatMap((workspace): Difference[] => {
    const [prev, next] = [before?.workspaces.get(workspace), after?.workspaces.get(workspace)];
    const address = fleetAddress(source, project.project, workspace);
    if (next === undefined) return [{ ...common, address, workspace, change: 'removed' }];
    if (prev?.key === next.key) return [];
    const { diagnostics } = next;
    const resources = next.resources.map((each) => each.address);
    const isNew = prev === undefined && !before?.problems.length;
    return [
      {
        ...common,
        address,
        workspace,
        change: isNew ? 'new' : 'changed',
        settings: before && after && !isNew ? settingsBetween([before, prev], [after, next], workspace) : [],
        diagnostics,
        resources,
      },
    ];
  });
}

type LoadedSide = readonly [LoadedProject, LoadedWorkspace | undefined];

function settingsBetween([before, prev]: LoadedSide, [after, next]: LoadedSide, workspace: string): readonly string[] {
  const changed = changedSettings(before.document, after.document, workspace);
  return prev?.ca === next?.ca || changed.includes('ca_file') ? changed : [...changed, 'ca_file'];
}

/** Validates a project without secrets, and returns its workspaces. */
async function loadAt(
  { sources, source, policies, signal }: LoadOptions,
  project: FoundProject,
  contents: FoundProjects,
): Promise<LoadedProject> {
  const none = { project, document: null, workspaces: new Map<string, LoadedWorkspace>() };
  const problem = nameProblem(project.project) ?? project.problem;
  const unusable = (message: string): LoadedProject => {
    const { file } = project;
    return { ...none, problems: [{ severity: 'error', code: 'unusable-project', message, file }] };
  };
  if (problem !== undefined) return unusable(problem);
  const document = onlyDocument(await contents.text(project), { file: project.file, name: 'the project file' }).value;
  const { folder } = await sources.checkout({ ...project, source }, signal);
  const local = sources.local(source, project.project);
  try {
    const { workspaces } = await validateProject({
      cwd: folder,
      env: {},
      names: 'all',
      mode: 'without-secrets',
      kinds,
      lookups,
      local,
      policies,
      signal,
    });
    const loaded = workspaces.map(({ name = '', workspace, resources, diagnostics }) => {
      const ca = workspace?.ca;
      const key = canonicalJson([keyOf(settingsOf(document ?? null, name), resources, diagnostics), ca ?? null]);
      return [name, { key, ca, resources, diagnostics }] as const;
    });
    if (loaded.length === 1 && loaded[0]?.[0] === '') return { ...none, problems: loaded[0][1].diagnostics };
    return { project, document: document ?? null, problems: [], workspaces: new Map(loaded) };
  } catch (error) {
    if (signal.aborted || !(error instanceof UserError)) throw error;
    return unusable(error.message);
  }
}

function errorMessages(diagnostics: readonly Diagnostic[]): string[] {
  return diagnostics.flatMap(({ severity, message }) => (severity === 'error' ? [message] : []));
}

/** Returns the project file with only one of its workspaces. */
function settingsOf(document: Json, workspace: string): Json {
  if (!isObject(document) || !isObject(document.workspaces)) return document;
  const own = (document.workspaces as Readonly<Record<string, Json>>)[workspace] ?? null;
  return { ...(document as Readonly<Record<string, Json>>), workspaces: { [workspace]: own } };
}

function keyOf(settings: Json, resources: readonly Resource[], diagnostics: readonly Diagnostic[]): string {
  const loaded = resources.map(({ source: _, spec, id, ...rest }) => ({
    ...rest,
    id: id ?? null,
    spec: toForms(spec),
  }));
  return canonicalJson([settings, loaded as unknown as Json, errorMessages(diagnostics)]);
}
