import { kinds, lookups } from '../../kinds/index.ts';
import { onlyDocument } from '../../manifests/parse-documents.ts';
import type { Resource } from '../../manifests/resource.ts';
import type { PolicySource } from '../../policies/rule.ts';
import type { Diagnostic } from '../../problems/diagnostic.ts';
import { UserError } from '../../problems/user-error.ts';
import { changedSettings } from '../../project/trusted-settings.ts';
import { validateProject } from '../../runs/validate-project.ts';
import { canonicalJson, isObject, type Json } from '../../values/json.ts';
import { toForms } from '../../values/value.ts';
import { fleetAddress, nameProblem, projectAddress, shownProject } from '../addresses.ts';
import type { FoundProject, FoundProjects, Sources } from '../member.ts';

/** A workspace whose manifests, files, variables or settings differ between two commits. */
export interface AffectedWorkspace {
  /** Of the project if its workspaces are not known. */
  readonly address: string;
  readonly project: FoundProject;
  /** Undefined if the workspaces of the project are not known. */
  readonly workspace: string | undefined;
  readonly change: 'changed' | 'new' | 'removed';
  /** Settings about secrets, state and platform that differ. */
  readonly settings: readonly string[];
  /** The version of the project before the changes, if it existed. */
  readonly before: string | undefined;
  /** Errors and warnings of the newer version, found without secrets. */
  readonly diagnostics: readonly Diagnostic[];
  /** Addresses of its resources. */
  readonly resources: readonly string[];
}

interface Comparing {
  readonly sources: Sources;
  readonly source: string;
  readonly policies: PolicySource | undefined;
  readonly signal: AbortSignal;
}

/** Compares the workspaces of a source at two commits. Reads neither secrets nor the environment. */
export async function affectedWorkspaces(
  comparing: Comparing,
  before: FoundProjects,
  after: FoundProjects,
): Promise<readonly AffectedWorkspace[]> {
  const [old, current] = [before, after].map(({ projects }) => new Map(projects.map((each) => [each.project, each])));
  const names = [...new Set([...(old?.keys() ?? []), ...(current?.keys() ?? [])])].sort();
  const affected: AffectedWorkspace[] = [];
  for (const name of names) {
    const [was, is] = [old?.get(name), current?.get(name)];
    if (was?.version === is?.version) continue;
    const [one, other] = [
      was && (await loadedAt(comparing, was, before)),
      is && (await loadedAt(comparing, is, after)),
    ];
    affected.push(...differences(comparing.source, one, other));
  }
  return affected;
}

interface LoadedProject {
  readonly project: FoundProject;
  readonly document: Json;
  /** Why nothing is known about it. */
  readonly problem: string | undefined;
  readonly workspaces: ReadonlyMap<string, LoadedWorkspace>;
}

interface LoadedWorkspace {
  /** Equal for equal loads. */
  readonly key: string;
  /** The contents of `ca_file`. */
  readonly ca: string | undefined;
  readonly resources: readonly Resource[];
  readonly diagnostics: readonly Diagnostic[];
}

function differences(source: string, before?: LoadedProject, after?: LoadedProject): AffectedWorkspace[] {
  const project = after?.project ?? before?.project;
  if (project === undefined) return [];
  const common = { project, settings: [], diagnostics: [], resources: [], before: before?.project.version };
  if (after?.problem !== undefined) {
    const file = `${shownProject(project.project)}/${project.file}`;
    const problem: Diagnostic = { severity: 'error', code: 'unusable-project', message: after.problem, file };
    const address = projectAddress(source, shownProject(project.project));
    return [{ ...common, address, workspace: undefined, change: 'changed', diagnostics: [problem] }];
  }
  const names = [...new Set([...(before?.workspaces.keys() ?? []), ...(after?.workspaces.keys() ?? [])])];
  return names.flatMap((workspace): AffectedWorkspace[] => {
    const [was, is] = [before?.workspaces.get(workspace), after?.workspaces.get(workspace)];
    const address = fleetAddress(source, project.project, workspace);
    if (is === undefined) return [{ ...common, address, workspace, change: 'removed' }];
    if (was?.key === is.key) return [];
    const { diagnostics } = is;
    const resources = is.resources.map((each) => each.address);
    const isNew = was === undefined && before?.problem === undefined;
    return [
      {
        ...common,
        address,
        workspace,
        change: isNew ? 'new' : 'changed',
        settings: before && after && !isNew ? settingsBetween([before, was], [after, is], workspace) : [],
        diagnostics,
        resources,
      },
    ];
  });
}

type LoadedSide = readonly [LoadedProject, LoadedWorkspace | undefined];

function settingsBetween([before, was]: LoadedSide, [after, is]: LoadedSide, workspace: string): readonly string[] {
  const changed = changedSettings(before.document, after.document, workspace);
  return was?.ca === is?.ca || changed.includes('ca_file') ? changed : [...changed, 'ca_file'];
}

async function loadedAt(
  { sources, source, policies, signal }: Comparing,
  project: FoundProject,
  contents: FoundProjects,
): Promise<LoadedProject> {
  const none = { project, document: null, workspaces: new Map<string, LoadedWorkspace>() };
  const problem = nameProblem(project.project) ?? project.problem;
  if (problem !== undefined) return { ...none, problem };
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
      policies: { files: [], fleet: policies },
      signal,
    });
    const loaded = workspaces.map(({ name = '', workspace, resources, diagnostics }) => {
      const ca = workspace?.ca;
      const key = canonicalJson([keyOf(settingsOf(document ?? null, name), resources, diagnostics), ca ?? null]);
      return [name, { key, ca, resources, diagnostics }] as const;
    });
    if (loaded.length === 1 && loaded[0]?.[0] === '') {
      return { ...none, problem: linesOf(loaded[0][1].diagnostics).join('; ') };
    }
    return { project, document: document ?? null, problem: undefined, workspaces: new Map(loaded) };
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return { ...none, problem: error.message };
  }
}

function linesOf(diagnostics: readonly Diagnostic[]): string[] {
  return diagnostics.flatMap(({ severity, message }) => (severity === 'error' ? [message] : []));
}

/** The project file without the other workspaces. */
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
  return canonicalJson([settings, loaded as unknown as Json, linesOf(diagnostics)]);
}
