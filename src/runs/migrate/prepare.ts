import { readList } from '../../engine/observe/read-records.ts';
import { kinds, lookups } from '../../kinds/index.ts';
import type { Address, Resource } from '../../manifests/resource.ts';
import type { PlatformClient } from '../../platform/client.ts';
import { UserError } from '../../problems/user-error.ts';
import { parseProject } from '../../project/load-project.ts';
import type { Desired, ProjectConfig, WorkspaceConfig } from '../../project/project.ts';
import { declarationsOnce } from '../../project/read-declarations.ts';
import { selectWorkspace } from '../../project/select-workspace.ts';
import type { FileEdit } from '../../project/write-back/edit-plan.ts';
import type { State } from '../../state/state.ts';
import { references } from '../../values/value.ts';
import { OpenWorkspace, validOnly } from '../open-workspace.ts';
import type { RunContext } from '../run-context.ts';
import { checkBlockers } from './blockers.ts';
import { Checklist } from './checklist.ts';
import {
  type LookupIndex,
  lookedUp,
  lookupIndexOf,
  type NameMap,
  oddNames,
  settingsFor,
} from './knowledge-map.ts';
import type { LiveExport } from './live-export.ts';
import { foreignIds, withoutIds } from './manifest-ids.ts';
import type { MigrationWorkspaces } from './migration-workspaces.ts';
import { withSettings } from './project-settings.ts';
import { type AddressGlobs, leftOutReferences, selectedBy } from './selection.ts';

interface Preparing {
  readonly context: RunContext;
  readonly ends: MigrationWorkspaces;
  readonly fromState: State;
  readonly toState: State;
  /** Of the workspace that is filled. */
  readonly client: PlatformClient;
  /** Where the manifests are yet to be written. */
  readonly live: LiveExport | undefined;
  readonly globs: AddressGlobs;
  readonly names: NameMap;
}

/** What is to be migrated, before anything of it was compared with the workspace that is filled. */
export interface PreparedMigration {
  /** Everything that the manifests declare for that workspace, as they will be. */
  readonly resources: readonly Resource[];
  readonly selected: readonly Resource[];
  readonly oldIds: ReadonlyMap<Address, string>;
  /** What must be written into the project's files first. */
  readonly edits: readonly FileEdit[];
  readonly list: Checklist;
}

/**
 * Reads the manifests for both workspaces. Writes nothing.
 * @throws InvalidManifests
 * @throws UserError
 */
export async function prepare(input: Preparing): Promise<PreparedMigration> {
  const { live, fromState, toState, globs } = input;
  const { from, to } = input.ends;
  const load = loader(input);
  const there = await load(from.project, from.workspace);
  const first = validOnly(await load(to.project, to.workspace));
  if (live !== undefined) refuseUnmatched(live, there);
  const shelves = await readShelves(first.resources, input);
  const foreign =
    live === undefined
      ? foreignIds(first.resources, {
          from: { name: from.workspace.name, resources: fromState.resources },
          to: { name: to.workspace.name, resources: toState.resources },
        })
      : new Set<Address>();
  const configured = await withProjectSettings(input, { load, there, first, shelves, foreign });
  const resources = configured.resources.map((resource) =>
    foreign.has(resource.address) ? { ...resource, id: undefined } : resource,
  );
  const selected = selectedBy(resources, globs);
  const list = new Checklist();
  checkBlockers(list, selected, { shelves, to: to.workspace.name });
  for (const [address, referring] of leftOutReferences(resources, selected, toState)) {
    list.add('know', `${address} is left out: resources that need it wait`, ...referring);
  }
  const comes = new Set(resources.map(({ address }) => address));
  const { name } = to.workspace;
  for (const { address } of there.resources)
    if (!comes.has(address)) list.add('know', `not migrated: ${name} skips it in the project file`, address);
  checkNames(list, oddNames(there.resources, { names: input.names, shelves }), input);
  if (live !== undefined) checkLive(list, live);
  const edits =
    foreign.size === 0 ? [] : withoutIds(from.project.root, await input.ends.declarations(), foreign);
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

/** The files are read once for all that is loaded. Secrets may be missing: what is, goes on the checklist. */
function loader({ context, ends, live }: Preparing): Load {
  const rooted = (project: ProjectConfig): ProjectConfig =>
    live === undefined ? project : { ...project, root: live.root };
  const declarations =
    live === undefined ? ends.declarations : declarationsOnce(rooted(ends.from.project), { kinds, lookups });
  return (project, workspace) =>
    new OpenWorkspace(context, { project: rooted(project), workspace, declarations }).declared('offline');
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

async function readShelves(
  resources: readonly Resource[],
  { client, names, ends: { to } }: Preparing,
): Promise<ReadonlyMap<string, LookupIndex>> {
  const needed = new Set<string>();
  for (const resource of resources) {
    for (const { kind } of references(resource.spec)) needed.add(kind);
    const kind = kinds.get(resource.kind);
    if (kind !== undefined) for (const { lookup } of lookedUp(resource, kind)) needed.add(lookup.name);
  }
  const shelves = new Map<string, LookupIndex>();
  for (const lookup of lookups.values()) {
    if (!needed.has(lookup.name) && names.size === 0) continue;
    const { workspaceId } = to.workspace;
    shelves.set(lookup.name, lookupIndexOf(await readList(lookup, { client, workspaceId })));
  }
  return shelves;
}

interface LoadedEnds {
  readonly load: Load;
  readonly there: Desired;
  readonly first: Desired;
  readonly shelves: ReadonlyMap<string, LookupIndex>;
  /** Addresses whose manifests name records of the source workspace. */
  readonly foreign: ReadonlySet<Address>;
}

/** What the manifests declare for the target workspace once the project file has the map, and the ids of the source workspace. */
async function withProjectSettings(
  { context, names, ends: { from, to } }: Preparing,
  { load, there, first, shelves, foreign }: LoadedEnds,
): Promise<{ readonly resources: readonly Resource[]; readonly edits: readonly FileEdit[] }> {
  const originals = new Map(there.resources.map((resource) => [resource.address, resource]));
  const { lookupNames } = to.workspace;
  const ids = there.resources.flatMap(({ address, id }) =>
    id === undefined ? [] : [[address, id] as const],
  );
  const edit = withSettings(to.project, {
    to: to.workspace,
    ...settingsFor(first.resources, { originals, names, shelves, lookupNames }),
    from: from.workspace,
    ids: foreign.size === 0 ? {} : Object.fromEntries(ids),
  });
  if (edit === undefined) return { resources: first.resources, edits: [] };
  const project = await parseProject(edit.after.replace(/^\uFEFF/, ''), {
    root: to.project.root,
    file: to.project.file,
    env: context.env,
  });
  const { name } = to.workspace;
  const workspace = selectWorkspace(project, { name, env: context.env });
  const { resources } = validOnly(await load(project, workspace));
  return { resources, edits: [edit] };
}

/** A line of the map with a slip in it does nothing, and would pass for done. */
function checkNames(
  list: Checklist,
  { unused, missing }: ReturnType<typeof oddNames>,
  { names, ends: { from, to } }: Preparing,
): void {
  for (const name of unused) {
    list.add('know', `the map has an unused line: no manifest of ${from.workspace.name} refers to "${name}"`);
  }
  for (const name of missing) {
    list.add(
      'know',
      `the map has "${names.get(name)}" for "${name}", but ${to.workspace.name} has no such name or id yet`,
    );
  }
}

function checkLive(list: Checklist, { drafts, missed }: LiveExport): void {
  for (const { kind, id, because } of missed)
    list.add('know', `${kind}${id === undefined ? '' : ` ${id}`}: ${because}`);
  for (const { kind, id, because } of drafts.leftOut)
    list.add('know', `${kind} ${id} is not migrated: ${because}`);
  for (const { kind, name, omitted } of drafts.manifests) {
    // Of these the manifests tell, wherever they come from.
    for (const { path, because } of omitted)
      if (kinds.get(kind)?.fields[path]?.hidden !== true)
        list.add('know', `${path} is left out: ${because}`, `${kind}/${name}`);
  }
}
