import { dependenciesOf } from '../../engine/decide/order.ts';
import { matching } from '../../engine/decide/scope.ts';
import { readList } from '../../engine/observe/read-records.ts';
import { kinds, lookups } from '../../kinds/index.ts';
import { CannotEdit } from '../../manifests/editing/change.ts';
import type { TextEdit } from '../../manifests/editing/edit-text.ts';
import { type LookupNames, NAME_SETTINGS } from '../../manifests/kind-schema.ts';
import { mergePatch } from '../../manifests/layers.ts';
import { type Address, idKey, type Resource } from '../../manifests/resource.ts';
import type { PlatformClient } from '../../platform/client.ts';
import { compareText } from '../../problems/compare-text.ts';
import { advice, command, UserError, usageError } from '../../problems/user-error.ts';
import { PROJECT_FILE, projectFileIn } from '../../project/find-project.ts';
import { parseProject } from '../../project/load-project.ts';
import type { Desired, ProjectConfig, WorkspaceConfig } from '../../project/project.ts';
import { declarationsOnce, type ReadDeclarations } from '../../project/read-declarations.ts';
import { selectWorkspace } from '../../project/select-workspace.ts';
import { editedFile, type FileEdit } from '../../project/write-back/edit-plan.ts';
import { managedRecords, type State } from '../../state/state.ts';
import { type Json, type JsonObject, jsonEqual } from '../../values/json.ts';
import { references } from '../../values/value.ts';
import { OpenWorkspace, requireValid } from '../open-workspace.ts';
import { checkBlockers } from './blockers.ts';
import { Checklist } from './checklist.ts';
import {
  ineffectiveLines,
  type LookupIndex,
  lookupIndexOf,
  lookupLeaves,
  type NameMap,
  settingsFor,
} from './knowledge-map.ts';
import type { LiveExport } from './live-export.ts';
import type { MigrationWorkspaces } from './migration-workspaces.ts';

export interface PreparationInput {
  readonly workspaces: MigrationWorkspaces;
  readonly fromState: State;
  readonly toState: State;
  /** The client of the target workspace. */
  readonly client: PlatformClient;
  /** The exported manifests, if they are not written to the project yet. */
  readonly live: LiveExport | undefined;
  readonly globs: AddressGlobs;
  readonly names: NameMap;
}

/** The resources to migrate, before they are compared with the target workspace. */
export interface PreparedMigration {
  /** All resources of the target workspace, after the edits. */
  readonly resources: readonly Resource[];
  readonly selected: readonly Resource[];
  readonly oldIds: ReadonlyMap<Address, string>;
  /** Edits to write before the apply. */
  readonly edits: readonly FileEdit[];
  readonly list: Checklist;
}

/**
 * Reads the manifests for both workspaces. Writes nothing.
 * @throws InvalidManifests
 * @throws UserError
 */
export async function prepare(input: PreparationInput): Promise<PreparedMigration> {
  const { live, fromState, toState, globs } = input;
  const { from, to } = input.workspaces;
  const load = createLoader(input);
  const source = await load(from.project, from.workspace);
  const target = requireValid(await load(to.project, to.workspace));
  if (live !== undefined) refuseUnmatched(live, source);
  const indexes = await readIndexes(target.resources, input);
  const states = {
    from: { name: from.workspace.name, resources: fromState.resources },
    to: { name: to.workspace.name, resources: toState.resources },
  };
  const foreign = live === undefined ? foreignIds(target.resources, states) : new Set<Address>();
  const configured = await withProjectSettings(input, { load, source, target, indexes, foreign });
  const resources = configured.resources.map((resource) =>
    foreign.has(resource.address) ? { ...resource, id: undefined } : resource,
  );
  const selected = selectedBy(resources, globs);
  const list = new Checklist();
  checkBlockers(list, selected, { indexes, to: to.workspace.name });
  for (const [address, referring] of leftOutReferences(resources, selected, toState)) {
    list.add('know', `${address} is left out, so resources that refer to it must wait`, ...referring);
  }
  const inTarget = new Set(resources.map(({ address }) => address));
  const { name } = to.workspace;
  for (const { address } of source.resources)
    if (!inTarget.has(address)) list.add('know', `not migrated: skipped by the settings of ${name}`, address);
  checkMapLines(list, ineffectiveLines(source.resources, { names: input.names, indexes }), input);
  if (live !== undefined) checkLive(list, live);
  const edits = foreign.size === 0 ? [] : withoutIds(from.project.root, await input.workspaces.declarations(), foreign);
  return {
    resources,
    selected,
    oldIds: new Map([
      ...[...fromState.resources].map(([address, { id }]) => [address, id] as const),
      ...(live?.ids ?? []),
    ]),
    edits: [...edits, ...configured.edits],
    list,
  };
}

type Load = (project: ProjectConfig, workspace: WorkspaceConfig) => Promise<Desired>;

/** Returns a function that loads the resources of a workspace. The files are read once, and missing secrets are allowed. */
function createLoader({ workspaces, live }: PreparationInput): Load {
  const rooted = (project: ProjectConfig): ProjectConfig =>
    live === undefined ? project : { ...project, root: live.root };
  const declarations =
    live === undefined
      ? workspaces.declarations
      : declarationsOnce(rooted(workspaces.from.project), { kinds, lookups });
  return (project, workspace) =>
    new OpenWorkspace(workspaces.to.context, { project: rooted(project), workspace, declarations }).declared('offline');
}

function refuseUnmatched({ drafts }: LiveExport, { resources }: Desired): void {
  if (resources.length === drafts.manifests.length) return;
  throw new UserError(
    `${drafts.manifests.length} manifests would be written, but the project reads only ${resources.length} of them for the source workspace`,
    {
      hint: 'Make `manifests` in voxform.yaml match manifests/**/*.yaml, and remove `skip` during the migration.',
    },
  );
}

async function readIndexes(
  resources: readonly Resource[],
  { client, names, workspaces: { to } }: PreparationInput,
): Promise<ReadonlyMap<string, LookupIndex>> {
  const needed = new Set<string>();
  for (const resource of resources) {
    for (const { kind } of references(resource.spec)) needed.add(kind);
    const kind = kinds.get(resource.kind);
    if (kind !== undefined) for (const { lookup } of lookupLeaves(resource, kind)) needed.add(lookup.name);
  }
  const indexes = new Map<string, LookupIndex>();
  for (const lookup of lookups.values()) {
    if (!needed.has(lookup.name) && names.size === 0) continue;
    const { workspaceId } = to.workspace;
    indexes.set(lookup.name, lookupIndexOf(await readList(lookup, { client, workspaceId })));
  }
  return indexes;
}

interface LoadedWorkspaces {
  readonly load: Load;
  readonly source: Desired;
  readonly target: Desired;
  readonly indexes: ReadonlyMap<string, LookupIndex>;
  /** The addresses of manifests whose `metadata.id` names a record of the source workspace. */
  readonly foreign: ReadonlySet<Address>;
}

/** Returns the edits that add the map and the source's ids to the project file, and the target's resources after these edits. */
async function withProjectSettings(
  { names, workspaces: { from, to } }: PreparationInput,
  { load, source, target, indexes, foreign }: LoadedWorkspaces,
): Promise<{ readonly resources: readonly Resource[]; readonly edits: readonly FileEdit[] }> {
  const originals = new Map(source.resources.map((resource) => [resource.address, resource]));
  const { lookupNames } = to.workspace;
  const { env } = to.context;
  const ids = source.resources.flatMap(({ address, id }) => (id === undefined ? [] : [[address, id] as const]));
  const edit = withSettings(to.project, {
    to: to.workspace,
    ...settingsFor(target.resources, { originals, names, indexes, lookupNames }),
    from: from.workspace,
    ids: foreign.size === 0 ? {} : Object.fromEntries(ids),
  });
  if (edit === undefined) return { resources: target.resources, edits: [] };
  const { root, file } = to.project;
  const project = await parseProject(edit.after.replace(/^\uFEFF/, ''), { root, file, env });
  const workspace = selectWorkspace(project, { name: to.workspace.name, env });
  const { resources } = requireValid(await load(project, workspace));
  return { resources, edits: [edit] };
}

/** Adds notes on lines of the map that have no effect, because they may contain a spelling mistake. */
function checkMapLines(
  list: Checklist,
  { unused, missing }: ReturnType<typeof ineffectiveLines>,
  { names, workspaces: { from, to } }: PreparationInput,
): void {
  for (const name of unused) {
    list.add('know', `the map has an unused line: no manifest of ${from.workspace.name} refers to "${name}"`);
  }
  for (const name of missing) {
    list.add(
      'know',
      `the map replaces "${name}" with "${names.get(name)}", but ${to.workspace.name} has no such name or id yet`,
    );
  }
}

function checkLive(list: Checklist, { drafts, missed }: LiveExport): void {
  for (const { kind, id, because } of missed)
    list.add('know', `${kind}${id === undefined ? '' : ` ${id}`}: ${because}`);
  for (const { kind, id, because } of drafts.leftOut) list.add('know', `${kind} ${id} is not migrated: ${because}`);
  for (const { kind, name, omitted } of drafts.manifests) {
    // Hidden fields are reported for all manifests.
    for (const { path, because } of omitted)
      if (kinds.get(kind)?.fields[path]?.hidden !== true)
        list.add('know', `${path} is left out: ${because}`, `${kind}/${name}`);
  }
}

/** Globs of addresses, as in `skip`. Without `include`, all resources are included. */
interface AddressGlobs {
  readonly include: readonly string[];
  readonly exclude: readonly string[];
}

/**
 * Returns the selected resources in their original order.
 * @throws UserError if a glob matches nothing, or no resource is selected.
 */
export function selectedBy(resources: readonly Resource[], { include, exclude }: AddressGlobs): Resource[] {
  const addresses = resources.map(({ address }) => address);
  const included = new Set(include.flatMap((glob) => matching(glob, addresses, '--include')));
  const excluded = new Set(exclude.flatMap((glob) => matching(glob, addresses, '--exclude')));
  const selected = resources.filter(
    ({ address }) => (include.length === 0 || included.has(address)) && !excluded.has(address),
  );
  if (selected.length === 0) throw usageError('--include and --exclude leave nothing to migrate');
  return selected;
}

/** Returns unselected addresses without a record in the target workspace, each with the selected resources that refer to it. */
export function leftOutReferences(
  resources: readonly Resource[],
  selected: readonly Resource[],
  state: Pick<State, 'resources'>,
): ReadonlyMap<Address, readonly Address[]> {
  const included = new Set(selected.map(({ address }) => address));
  const others = new Set(
    resources.flatMap(({ address }) => (included.has(address) || state.resources.has(address) ? [] : [address])),
  );
  const referring = new Map<Address, Address[]>();
  for (const resource of selected) {
    for (const address of dependenciesOf(resource, others)) {
      referring.set(address, [...(referring.get(address) ?? []), resource.address]);
    }
  }
  return new Map([...referring].sort(([a], [b]) => compareText(a, b)));
}

type NamedState = Pick<State, 'resources'> & { readonly name: string };

/**
 * Returns the addresses whose `metadata.id` names a record of the source workspace instead of the target workspace.
 * @throws UserError if an id is in neither state.
 */
export function foreignIds(
  resources: readonly Resource[],
  { from, to }: { readonly from: NamedState; readonly to: NamedState },
): ReadonlySet<Address> {
  const withId = resources.filter(({ id }) => id !== undefined);
  const isOf = ({ resources: known }: NamedState, { address, id }: Resource): boolean => known.get(address)?.id === id;
  const sourceRecords = managedRecords(from);
  const foreign = withId.filter((each) => !isOf(to, each) && sourceRecords.has(idKey(each.kind, each.id ?? '')));
  const unknown = withId.filter((each) => !isOf(to, each) && !foreign.includes(each));
  const [first] = unknown;
  if (first !== undefined) {
    const more = unknown.length === 1 ? '' : `; other manifests with this problem: ${unknown.length - 1}`;
    throw new UserError(
      `${first.source.file}:${first.source.line}  ${first.address} names the record ${first.id}, which is neither in the state of ${from.name} nor in the state of ${to.name}${more}`,
      {
        hint: advice`Import the existing records first: ${command(`apply -w ${from.name}`)}. Then remove metadata.id from the manifests.`,
      },
    );
  }
  return new Set(foreign.map(({ address }) => address));
}

/** Returns the edits that remove `metadata.id` from these resources. Does not write the edits. */
function withoutIds(
  root: string,
  { declarations }: Pick<ReadDeclarations, 'declarations'>,
  addresses: ReadonlySet<Address>,
): FileEdit[] {
  const concerned = declarations.filter(({ address }) => addresses.has(address));
  return [...Map.groupBy(concerned, ({ home }) => home.file)].map(([file, members]) => {
    try {
      const path = ['metadata', 'id'];
      return editedFile(
        root,
        file,
        members.map(({ home: { document } }) => ({ document, path, value: undefined })),
      );
    } catch (error) {
      if (!(error instanceof CannotEdit)) throw error;
      throw new UserError(`cannot remove metadata.id from ${file}: ${error.message}`, {
        hint: 'Edit the file to remove it. The state already has the record.',
        cause: error,
      });
    }
  });
}

/** Settings that a migration adds to the project file. */
interface AddedSettings {
  readonly to: WorkspaceConfig;
  readonly lookupNames: LookupNames;
  readonly patches: ReadonlyMap<Address, JsonObject>;
  readonly from: WorkspaceConfig;
  /** Ids in the source workspace; empty if the manifests keep their ids. */
  readonly ids: Readonly<Record<Address, string>>;
}

/** Returns the edit that adds these settings to the project file; undefined if the file has them. Does not write the file. */
function withSettings(
  { root }: Pick<ProjectConfig, 'root'>,
  { to, lookupNames, patches, from, ids }: AddedSettings,
): FileEdit | undefined {
  const edits: TextEdit[] = [];
  const set = (workspace: string, setting: string, [before, after]: readonly [Json, Json]): void => {
    if (jsonEqual(before, after)) return;
    edits.push({ document: 0, path: ['workspaces', workspace, setting], value: after });
  };
  for (const [kind, setting] of Object.entries(NAME_SETTINGS))
    set(to.name, setting, [to.lookupNames?.[kind] ?? {}, lookupNames[kind] ?? {}]);
  const all: Record<Address, JsonObject> = { ...to.patches };
  for (const [address, patch] of patches) all[address] = mergePatch(all[address] ?? {}, patch) as JsonObject;
  set(to.name, 'patches', [to.patches, all]);
  set(from.name, 'ids', [from.ids ?? {}, { ...from.ids, ...ids }]);
  if (edits.length === 0) return undefined;
  const file = projectFileIn(root) ?? PROJECT_FILE;
  try {
    return editedFile(root, file, edits);
  } catch (error) {
    if (!(error instanceof CannotEdit)) throw error;
    const settings = edits.map(({ path: [, workspace, setting] }) => `${setting} of ${workspace}`);
    throw new UserError(`cannot write ${settings.join(' and ')}: ${error.message}`, {
      hint: `Add these settings to ${file} yourself, then run the command again.`,
      cause: error,
    });
  }
}
