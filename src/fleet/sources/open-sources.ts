import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { type GitAddress, parseGitAddress } from '../../git/git-address.ts';
import { hostKinds } from '../../hosting/index.ts';
import { realPath } from '../../manifests/read-file.ts';
import type { Environment } from '../../manifests/secret-reader.ts';
import { secretsOf } from '../../operator/git/git-source.ts';
import { PROJECT_FILES } from '../../project/find-project.ts';
import { CHECKOUTS, type LocalPaths, resolveLinks } from '../../project/local-paths.ts';
import { originOf, type ProjectOrigin } from '../../runs/drift-request/request-target.ts';
import { requiredText } from '../../state/backends/settings.ts';
import type { StateLocation } from '../../state/state-location.ts';
import { lazily } from '../../values/lazily.ts';
import type { Redactor } from '../../values/redactor.ts';
import { projectAddress } from '../addresses.ts';
import type { FleetFile, GitSourceSettings, SourceSettings } from '../fleet-file.ts';
import { fleetStateLocation, foreignStateProblem } from '../fleet-state.ts';
import type {
  DiscoveredProject,
  FoundProject,
  FoundProjects,
  SourceContents,
  Sources,
  WantedProject,
} from '../member.ts';
import { type MembersOptions, membersOf } from '../members.ts';
import { FolderProjects } from './folder-projects.ts';
import { GitProjects } from './git-projects.ts';
import { hostAccess } from './host-access.ts';
import { mayContainOthers, projectAt, projectsInside, projectsTaken, sameProject } from './overlaps.ts';
import { projectPatterns, unmatchedPatterns } from './project-patterns.ts';
import type { SourceReader } from './source-reader.ts';

interface SourcesOptions {
  readonly fleet: FleetFile;
  /** Absolute path. `.voxform` below it contains repositories and checkouts. */
  readonly home: string;
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
    if (found === undefined) throw new Error(`no source is named ${source}`);
    return found;
  };
  const local = (source: string, project: string): LocalPaths => localPaths(named(source).settings, project, options);

  const origin = (source: string, project: string): ProjectOrigin => {
    const { settings } = named(source);
    if (!('git' in settings)) return { checkout: path.join(settings.path, project) };
    const { ref, pullRequests } = settings;
    return originOf(addressText(settings), { ref, folder: project, cwd: fleet.folder, host: pullRequests?.host });
  };

  const checkout = async (wanted: WantedProject, signal: AbortSignal) => {
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
      if (inside.length === 0 && !mayContainOthers(settings, project, all)) return [];
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
      if (same !== undefined) refused.set(found.project, `${own} and ${same} are the same project; neither runs`);
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
    async at(source, commit, signal) {
      const found = await named(source).reader.at?.(commit, signal);
      if (found === undefined) throw new Error(`the source ${source} has no commits`);
      return found;
    },
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
    login: loginOf(settings, address, { fleet, env, redactor }),
    ref: settings.ref,
    projects,
    env,
    redact: (text) => redactor.redact(text),
    home: homeOf(address.url, settings.ref, settings.name),
  });
}

/** The credentials for the host's API are also those for fetches from the same server, unless the address has its own. */
function loginOf(
  source: GitSourceSettings,
  { url, credentials }: GitAddress,
  { fleet, env, redactor }: Pick<SourcesOptions, 'fleet' | 'env' | 'redactor'>,
): (() => Promise<GitAddress['credentials']>) | undefined {
  const { pullRequests } = source;
  if (pullRequests === undefined || credentials !== undefined || !/^https?:/.test(url)) return undefined;
  const access = lazily(() =>
    hostAccess(
      { ...source, pullRequests },
      {
        address: url,
        folder: fleet.folder,
        env,
        redactor,
        signal: new AbortController().signal,
        onNotice: () => undefined,
      },
    ),
  );
  return async () => {
    const { host, server, client } = access();
    if (!url.startsWith(`${server}/`)) return undefined;
    const token = await client.credentials.token();
    return { server: `${new URL(url).origin}/`, user: hostKinds[host].gitUser, password: token.reveal() };
  };
}

export function addressText({ git, name }: GitSourceSettings): string {
  const hintFor = (variable: string) => `Set the environment variable ${variable} to the address of the repository.`;
  return requiredText(`the source ${name}`, git, hintFor);
}

/** The address with its password, if any. Paths are relative to the folder of the fleet file. */
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
  const stateOf = (workspace: string) => fleetStateLocation(fleet, { source, project, workspace });
  const allowedWith = `set secrets of the source ${source} in the fleet file`;
  const isGit = 'git' in settings;
  const common = {
    allowed: [],
    allowedWith,
    mayRunCommands: settings.allowsCommands,
    secretSources: settings.secretSources && { settings: settings.secretSources, folder: fleet.folder },
    stateOf,
    stateProblem: (workspace: string, place: StateLocation) => foreignStateProblem(place, stateOf(workspace)),
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
      isTemporary: true,
      ...(secrets !== undefined && { secrets: { folder: secrets, isDefault: true } }),
    };
  }
  const root = path.join(settings.path, project);
  return { ...common, root, secrets: { folder: secrets ?? root, isDefault: secrets !== undefined } };
}

const PROJECT = '{project}';
/** Replaces `{project}` for the root of a source, whose own path would contain the folders of all projects. */
const ROOT_FOLDER = '.root';

/** The folder of the fleet file for the secrets of a project; undefined if its source names none. */
function secretsFolder(settings: SourceSettings, project: string): string | undefined {
  return templateOf(settings)?.replaceAll(PROJECT, () => (project === '.' ? ROOT_FOLDER : project));
}

interface Owner {
  readonly settings: SourceSettings;
  readonly project: string;
  readonly all: readonly SourceSettings[];
}

/**
 * The reason why a project must not read secrets from a folder inside its own: another project may have its secrets there, or would read it
 * as part of its files. Only the patterns of the fleet file matter, so that no project depends on the contents of another.
 */
function foreignSecrets(folder: string, owner: Owner): string | undefined {
  const { settings, project, all } = owner;
  const own = secretsFolder(settings, project);
  const real = resolveLinks(folder) ?? folder;
  const others = all.map((other) => {
    const { isProject: matches } = projectPatterns(other.projects);
    const isOwn = (there: string): boolean => other.name === settings.name && there === project;
    return {
      other,
      has: (there: string | undefined): there is string => there !== undefined && matches(there) && !isOwn(there),
    };
  });
  if (own !== undefined) {
    const below = path.relative(resolveLinks(own) ?? own, real);
    for (const each of foldersBetween(own, path.join(own, below))) {
      for (const { other, has } of others) {
        const there = projectOfSecrets(other, each);
        const isCommon = templateOf(other) === each && templateOf(settings) !== each;
        if (!isCommon && !has(there)) continue;
        const whose = isCommon || there === undefined ? other.name : projectAddress(other.name, there);
        const fix = each === own ? '; write {source} into secrets of both sources in the fleet file' : '';
        return `${each} is for the secrets of ${whose}${fix}`;
      }
    }
  }
  for (const each of foldersBetween(path.parse(real).root, real)) {
    if (!PROJECT_FILES.some((name) => existsSync(path.join(each, name)))) continue;
    for (const { other, has } of others) {
      const there = 'git' in other ? undefined : projectAt(realPath(other.path), each);
      if (has(there)) {
        const reader = projectAddress(other.name, there);
        return `${real} is in the folder of ${reader}, which can read it; set secrets of ${settings.name} in the fleet file`;
      }
    }
  }
  return undefined;
}

/** Only `{project}` remains to be replaced. */
function templateOf({ name, secrets }: SourceSettings): string | undefined {
  return secrets?.replaceAll('{source}', () => name);
}

/** The project whose secrets would be in a folder; undefined for none, or for the whole source. */
function projectOfSecrets(settings: SourceSettings, folder: string): string | undefined {
  const [before = '', ...after] = templateOf(settings)?.split(PROJECT) ?? [];
  const fixed = before.length + after.join('').length;
  const name = folder.slice(before.length, before.length + (folder.length - fixed) / after.length);
  const project = name === ROOT_FOLDER ? '.' : name;
  return name !== '' && secretsFolder(settings, project) === folder ? project : undefined;
}

/** A folder, and those between it and another. */
function foldersBetween(top: string, bottom: string): string[] {
  const above = bottom === top || bottom === path.dirname(bottom) ? [] : foldersBetween(top, path.dirname(bottom));
  return [...above, bottom];
}
