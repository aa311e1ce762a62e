import { createHash } from 'node:crypto';
import path from 'node:path';
import { parseGitAddress } from '../../git/git-address.ts';
import type { Environment } from '../../manifests/secret-reader.ts';
import { secretsOf } from '../../operator/git/git-source.ts';
import { UserError } from '../../problems/user-error.ts';
import { CHECKOUTS, type LocalPaths } from '../../project/local-paths.ts';
import { originOf, type ProjectOrigin } from '../../runs/drift-request/request-place.ts';
import type { StatePlace } from '../../state/state-place.ts';
import type { Redactor } from '../../values/redactor.ts';
import { projectAddress } from '../addresses.ts';
import type { FleetFile, GitSourceSettings, SourceSettings } from '../fleet-file.ts';
import { fleetStatePlace, foreignStateProblem } from '../fleet-state.ts';
import type { DiscoveredProject, ProjectWanted, SourceContents, Sources } from '../member.ts';
import { type MembersOptions, membersOf } from '../members.ts';
import { FolderProjects } from './folder-projects.ts';
import { GitProjects } from './git-projects.ts';
import { mayHoldOthers, projectsInside, projectsTaken, sameProject } from './overlaps.ts';
import { unmatchedPatterns } from './project-patterns.ts';
import { foreignSecrets, secretsFolder } from './secret-folders.ts';
import type { FoundProject, FoundProjects, SourceReader } from './source-reader.ts';

interface SourcesOptions {
  readonly fleet: FleetFile;
  /** Absolute path. `.voxform` below it contains repositories and checkouts. */
  readonly home: string;
  /** The environment for projects. */
  readonly env: Environment;
  /** Receives the passwords of repositories. */
  readonly redactor: Redactor;
}

interface OpenSource {
  readonly settings: SourceSettings;
  readonly reader: SourceReader;
  /** The last result for a project, valid as long as its version. */
  readonly known: Map<string, KnownProject>;
}

interface KnownProject {
  readonly found: FoundProject;
  readonly made: DiscoveredProject;
  /** Projects of its source inside its folder, and those of all sources whose files match its manifests. */
  readonly inside: readonly string[];
  readonly taken: Awaited<ReturnType<typeof projectsTaken>>;
}

/** The sources of a fleet file. Accesses nothing yet. */
export function openSources(options: SourcesOptions): Sources {
  const { fleet, env } = options;
  const open = new Map(
    fleet.sources.map((settings): [string, OpenSource] => [
      settings.name,
      { settings, reader: readerOf(settings, options), known: new Map() },
    ]),
  );
  const named = (source: string): OpenSource => {
    const found = open.get(source);
    if (found === undefined) throw new Error(`there is no source ${source}`);
    return found;
  };
  const local = (source: string, project: string): LocalPaths =>
    localPaths(named(source).settings, project, options);

  const origin = (source: string, project: string): ProjectOrigin => {
    const { settings } = named(source);
    if (!('git' in settings)) return { checkout: path.join(settings.path, project) };
    return originOf(addressText(settings), { ref: settings.ref, folder: project, cwd: fleet.folder });
  };

  const checkout = async (wanted: ProjectWanted, signal: AbortSignal) => {
    const { source, project, version, commit } = wanted;
    return named(source).reader.checkout(project, { version, commit }, signal);
  };

  const discover = async (source: string, signal: AbortSignal): Promise<SourceContents> => {
    const { reader } = named(source);
    const newest = await reader.newest(signal);
    try {
      return await contentsOf(source, newest, signal);
    } finally {
      await newest.close();
    }
  };

  const contentsOf = async (source: string, newest: FoundProjects, signal: AbortSignal) => {
    const { settings, known } = named(source);
    const { commit, projects: all } = newest;
    const projects: DiscoveredProject[] = [];
    const folders = all.map(({ project }) => project);
    const insides = projectsInside(folders);
    const refused = new Map<string, string>();
    const takenBy = async (project: string, inside: readonly string[], options: MembersOptions) => {
      const all = fleet.sources;
      if (inside.length === 0 && !mayHoldOthers(settings, project, all)) return [];
      return projectsTaken(settings, project, { ...options, all });
    };
    for (const found of all) {
      const before = known.get(found.project);
      const isSame = before?.found.version === found.version;
      const options = {
        source,
        rules: fleet.rules,
        env,
        local: local(source, found.project),
        text: () => newest.text(found),
        checkout: async () => (await checkout({ ...found, source }, signal)).folder,
      };
      const made = isSame
        ? { ...before.made, commit, members: before.made.members.map((each) => ({ ...each, commit })) }
        : await membersOf(found, options);
      const inside = insides.get(found.project) ?? [];
      const isTold = isSame && inside.join() === before.inside.join();
      const isUsable = found.problem === undefined;
      const taken = isTold ? before.taken : isUsable ? await takenBy(found.project, inside, options) : [];
      known.set(found.project, { found, made, inside, taken });
      projects.push(made);
      const own = projectAddress(source, found.project);
      const same = sameProject(settings, found.project, fleet.sources);
      if (same !== undefined)
        refused.set(found.project, `${own} and ${same} are the same project; neither runs`);
      for (const inner of taken) {
        const why = `the manifests of ${own} include those of ${projectAddress(inner.source, inner.project)}`;
        const isOwn = inner.source === source;
        refused.set(found.project, isOwn ? `${why}; neither runs` : why);
        if (isOwn) refused.set(inner.project, `${why}; neither runs`);
      }
    }
    const stays = new Set(folders);
    for (const project of known.keys()) if (!stays.has(project)) known.delete(project);
    const warnings = unmatchedPatterns(settings.projects, folders).map(
      (pattern) => `no project of ${source} matches ${JSON.stringify(pattern)}`,
    );
    const judged = projects.map(({ members, ...project }) => ({
      ...project,
      members: members.map((each) => ({ ...each, refused: refused.get(project.project) })),
    }));
    return { source, commit, projects: judged, warnings };
  };

  return {
    all: fleet.sources.map(({ name, interval, projects }) => {
      const { shown } = named(name).reader;
      return { name, shown, identity: `${shown} (${projects.join(', ')})`, interval };
    }),
    discover,
    checkout,
    local,
    origin,
    keep: (source, versions) => named(source).reader.keep(versions),
  };
}

function readerOf(settings: SourceSettings, { fleet, home, env, redactor }: SourcesOptions): SourceReader {
  const { projects } = settings;
  const homeOf = (...place: string[]): string => {
    const key = createHash('sha256').update(JSON.stringify(place)).digest('hex').slice(0, 16);
    return path.join(home, CHECKOUTS, key);
  };
  if (!('git' in settings)) {
    return new FolderProjects({ folder: settings.path, projects, home: homeOf(settings.path) });
  }
  const address = parseGitAddress(addressText(settings), { cwd: fleet.folder, option: 'git' });
  for (const secret of secretsOf(address)) redactor.add(secret);
  return new GitProjects({
    address,
    ref: settings.ref,
    projects,
    env,
    redact: (text) => redactor.redact(text),
    home: homeOf(address.url, settings.ref, settings.name),
  });
}

function addressText({ git, name }: GitSourceSettings): string {
  if (typeof git === 'string') return git;
  if (git.isSet) return git.reveal();
  throw new UserError(`the source ${name} needs ${git.name}, which is not set`, {
    hint: `Set the environment variable ${git.name} to the address of the repository.`,
  });
}

/** With its password, if any. Paths are relative to the folder of the fleet file. */
function sourceAddress(settings: GitSourceSettings, folder: string): string {
  const text = addressText(settings);
  return text.includes('://') ? text : parseGitAddress(text, { cwd: folder, option: 'git' }).url;
}

/** The folders that a project may use beside its files. It never sees the secrets of another project. */
function localPaths(
  settings: SourceSettings,
  project: string,
  { fleet, home }: Pick<SourcesOptions, 'fleet' | 'home'>,
): LocalPaths {
  const { name: source } = settings;
  const secrets = secretsFolder(settings, project);
  const stateOf = (workspace: string) => fleetStatePlace(fleet, { source, project, workspace });
  const allowedWith = `set secrets of the source ${source} in the fleet file`;
  const isGit = 'git' in settings;
  const common = {
    allowed: [],
    allowedWith,
    stateOf,
    stateProblem: (workspace: string, place: StatePlace) => foreignStateProblem(place, stateOf(workspace)),
    secretsProblem: (folder: string) =>
      isGit && secrets === undefined
        ? `the project has no folder for secrets; ${allowedWith}`
        : foreignSecrets(folder, { settings, project, all: fleet.sources }),
  };
  if (isGit) {
    return {
      ...common,
      root: path.join(home, '.voxform', 'fleet', 'projects', source, project),
      source: sourceAddress(settings, fleet.folder),
      isFleeting: true,
      ...(secrets !== undefined && { secrets: { folder: secrets, isDefault: true } }),
    };
  }
  const root = path.join(settings.path, project);
  return { ...common, root, secrets: { folder: secrets ?? root, isDefault: secrets !== undefined } };
}
