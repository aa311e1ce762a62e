import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { type GitAddress, parseGitAddress } from '../../git/git-address.ts';
import { hostKinds } from '../../hosting/index.ts';
import { realPath } from '../../manifests/read-file.ts';
import type { Environment } from '../../manifests/secret-reader.ts';
import { secretsOf } from '../../operator/git/git-source.ts';
import { UserError } from '../../problems/user-error.ts';
import { PROJECT_FILES } from '../../project/find-project.ts';
import { CHECKOUTS_FOLDER, type LocalPaths, resolveLinks } from '../../project/local-paths.ts';
import { originOf, type ProjectOrigin } from '../../runs/drift-request/request-target.ts';
import { requiredText } from '../../state/backends/settings.ts';
import type { StateLocation } from '../../state/state-location.ts';
import { lazy } from '../../values/lazy.ts';
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
import { mayContainOthers, overlappingProjects, projectAt, projectsInside, sameProject } from './overlaps.ts';
import { projectPatterns, unmatchedPatterns } from './project-patterns.ts';
import type { SourceReader } from './source-reader.ts';

interface SourcesOptions {
  readonly fleet: FleetFile;
  /** The absolute path of a folder. Its subfolder `.voxform` contains repositories and checkouts. */
  readonly home: string;
  readonly env: Environment;
  /** Redacts the passwords of repositories. */
  readonly redactor: Redactor;
}

interface OpenSource {
  readonly settings: SourceSettings;
  readonly reader: SourceReader;
  /** The last result for each project. It is valid until the version of the project changes. */
  readonly known: Map<string, KnownProject>;
}

interface KnownProject {
  readonly found: FoundProject;
  readonly discovered: DiscoveredProject;
  /** The projects of the same source inside the project's folder. */
  readonly inside: readonly string[];
  /** The projects of all sources whose files match the project's manifest patterns. */
  readonly overlapping: Awaited<ReturnType<typeof overlappingProjects>>;
}

/** Returns the sources of a fleet file, without reading or fetching anything yet. */
export function openSources(options: SourcesOptions): Sources {
  const { fleet, env } = options;
  const open = new Map(
    fleet.sources.map((settings): [string, OpenSource] => [
      settings.name,
      { settings, reader: readerOf(settings, options), known: new Map() },
    ]),
  );
  const sourceNamed = (source: string): OpenSource => {
    const found = open.get(source);
    if (found === undefined) throw new UserError(`the source ${source} is not in the fleet file`);
    return found;
  };
  const local = (source: string, project: string): LocalPaths =>
    localPaths(sourceNamed(source).settings, project, options);

  const origin = (source: string, project: string): ProjectOrigin => {
    const { settings } = sourceNamed(source);
    if (!('git' in settings)) return { checkout: path.join(settings.path, project) };
    const { ref, pullRequests } = settings;
    return originOf(addressText(settings), { ref, folder: project, cwd: fleet.folder, host: pullRequests?.host });
  };

  const checkout = async (wanted: WantedProject, signal: AbortSignal) => {
    const { source, project, version, commit } = wanted;
    return sourceNamed(source).reader.checkout(project, { version, commit }, signal);
  };

  const discover = async (source: string, signal: AbortSignal): Promise<SourceContents> => {
    const { reader } = sourceNamed(source);
    const newest = await reader.newest(signal);
    try {
      return await contentsOf(source, newest, signal);
    } finally {
      await newest.close();
    }
  };

  const contentsOf = async (source: string, newest: FoundProjects, signal: AbortSignal) => {
    const { settings, known } = sourceNamed(source);
    const { commit, projects: all } = newest;
    const projects: DiscoveredProject[] = [];
    const folders = all.map(({ project }) => project);
    const projectsInFolders = projectsInside(folders);
    const refused = new Map<string, string>();
    const overlapsOf = async (project: string, inside: readonly string[], options: MembersOptions) => {
      const all = fleet.sources;
      if (inside.length === 0 && !mayContainOthers(settings, project, all)) return [];
      return overlappingProjects(settings, project, { ...options, all });
    };
    for (const found of all) {
      const previous = known.get(found.project);
      const isSame = previous?.found.version === found.version;
      const options = {
        source,
        rules: fleet.rules,
        env,
        local: local(source, found.project),
        text: () => newest.text(found),
        checkout: async () => (await checkout({ ...found, source }, signal)).folder,
      };
      const discovered = isSame
        ? { ...previous.discovered, commit, members: previous.discovered.members.map((each) => ({ ...each, commit })) }
        : await membersOf(found, options);
      const inside = projectsInFolders.get(found.project) ?? [];
      const mayReuse = isSame && inside.join() === previous.inside.join();
      const isUsable = found.problem === undefined;
      const overlapping = mayReuse
        ? previous.overlapping
        : isUsable
          ? await overlapsOf(found.project, inside, options)
          : [];
      known.set(found.project, { found, discovered, inside, overlapping });
      projects.push(discovered);
      const own = projectAddress(source, found.project);
      const same = sameProject(settings, found.project, fleet.sources);
      if (same !== undefined) refused.set(found.project, `${own} and ${same} are the same project; neither runs`);
      for (const inner of overlapping) {
        const reason = `the manifests of ${own} include those of ${projectAddress(inner.source, inner.project)}`;
        const isOwn = inner.source === source;
        refused.set(found.project, isOwn ? `${reason}; neither runs` : reason);
        if (isOwn) refused.set(inner.project, `${reason}; neither runs`);
      }
    }
    const current = new Set(folders);
    for (const project of known.keys()) if (!current.has(project)) known.delete(project);
    const warnings = unmatchedPatterns(settings.projects, folders).map(
      (pattern) => `no project of ${source} matches ${JSON.stringify(pattern)}`,
    );
    const withRefusals = projects.map(({ members, ...project }) => ({
      ...project,
      members: members.map((each) => ({ ...each, refused: refused.get(project.project) })),
    }));
    return { source, commit, projects: withRefusals, warnings };
  };

  return {
    all: fleet.sources.map(({ name, interval, projects }) => {
      const { shown } = sourceNamed(name).reader;
      return { name, shown, identity: `${shown} (${projects.join(', ')})`, interval };
    }),
    discover,
    async at(source, commit, signal) {
      const found = await sourceNamed(source).reader.at?.(commit, signal);
      if (found === undefined) throw new Error(`the source ${source} has no commits`);
      return found;
    },
    checkout,
    local,
    origin,
    keep: (source, versions, signal) => sourceNamed(source).reader.keep(versions, signal),
  };
}

function readerOf(settings: SourceSettings, { fleet, home, env, redactor }: SourcesOptions): SourceReader {
  const { projects } = settings;
  const homeOf = (...location: string[]): string => {
    const key = createHash('sha256').update(JSON.stringify(location)).digest('hex').slice(0, 16);
    return path.join(home, CHECKOUTS_FOLDER, key);
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

/** Returns a function that provides the server's API credentials for fetches; undefined if the address contains credentials. */
function loginOf(
  source: GitSourceSettings,
  { url, credentials }: GitAddress,
  { fleet, env, redactor }: Pick<SourcesOptions, 'fleet' | 'env' | 'redactor'>,
): (() => Promise<GitAddress['credentials']>) | undefined {
  const { pullRequests } = source;
  if (pullRequests === undefined || credentials !== undefined || !/^https?:/.test(url)) return undefined;
  const access = lazy(() =>
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

/** Returns the address of a repository as in the fleet file. @throws UserError if its variable is not set. */
export function addressText({ git, name }: GitSourceSettings): string {
  const hintFor = (variable: string) => `Set the environment variable ${variable} to the address of the repository.`;
  return requiredText(`the source ${name}`, git, hintFor);
}

/** Returns the address with its password, if any, and with an absolute path. */
function sourceAddress(settings: GitSourceSettings, folder: string): string {
  const text = addressText(settings);
  return text.includes('://') ? text : parseGitAddress(text, { cwd: folder, option: 'git' }).url;
}

/** Returns the folders that a project may use in addition to its files. No folder contains secrets of another project. */
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
    maxValues: fleet.limits.values,
    maxCharacters: fleet.limits.characters,
    secretSources: settings.secretSources && { settings: settings.secretSources, folder: fleet.folder },
    stateOf,
    stateProblem: (workspace: string, location: StateLocation) => foreignStateProblem(location, stateOf(workspace)),
    secretsProblem: (folder: string) =>
      isGit && secrets === undefined
        ? `the project has no folder for secrets; ${allowedWith}`
        : foreignSecretsProblem(folder, { settings, project, all: fleet.sources }),
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

const PROJECT_PLACEHOLDER = '{project}';
/** The value of `{project}` for the project at the root. With the path `.`, its folder would contain the secrets of all projects. */
const ROOT_FOLDER = '.root';

/** Returns the folder for the secrets of a project; undefined if the fleet file sets no such folder for the project's source. */
function secretsFolder(settings: SourceSettings, project: string): string | undefined {
  return templateOf(settings)?.replaceAll(PROJECT_PLACEHOLDER, () => (project === '.' ? ROOT_FOLDER : project));
}

interface SecretsOwner {
  readonly settings: SourceSettings;
  readonly project: string;
  readonly all: readonly SourceSettings[];
}

/**
 * Returns the reason why a project must not read secrets from a folder, if any: the folder is for the secrets of another project, or
 * another project can read it. Only the patterns of the fleet file matter, so that no project depends on the contents of another project.
 */
function foreignSecretsProblem(folder: string, owner: SecretsOwner): string | undefined {
  const { settings, project, all } = owner;
  const own = secretsFolder(settings, project);
  const real = resolveLinks(folder) ?? folder;
  const others = all.map((other) => {
    const { isProject: matches } = projectPatterns(other.projects);
    const isOwn = (candidate: string): boolean => other.name === settings.name && candidate === project;
    return {
      other,
      has: (candidate: string | undefined): candidate is string =>
        candidate !== undefined && matches(candidate) && !isOwn(candidate),
    };
  });
  if (own !== undefined) {
    const below = path.relative(resolveLinks(own) ?? own, real);
    for (const each of foldersBetween(own, path.join(own, below))) {
      for (const { other, has } of others) {
        const candidate = projectOfSecrets(other, each);
        const isCommon = templateOf(other) === each && templateOf(settings) !== each;
        if (!isCommon && !has(candidate)) continue;
        const secretsOwner = isCommon || candidate === undefined ? other.name : projectAddress(other.name, candidate);
        const fix = each === own ? '; add {source} to the secrets folders of both sources in the fleet file' : '';
        return `${each} is for the secrets of ${secretsOwner}${fix}`;
      }
    }
  }
  for (const each of foldersBetween(path.parse(real).root, real)) {
    if (!PROJECT_FILES.some((name) => existsSync(path.join(each, name)))) continue;
    for (const { other, has } of others) {
      const candidate = 'git' in other ? undefined : projectAt(realPath(other.path), each);
      if (has(candidate)) {
        const reader = projectAddress(other.name, candidate);
        return `${real} is in the folder of ${reader}, which can read it; set secrets of ${settings.name} in the fleet file`;
      }
    }
  }
  return undefined;
}

/** Returns the setting for the secrets folder of a source. `{source}` is replaced; `{project}` is not. */
function templateOf({ name, secrets }: SourceSettings): string | undefined {
  return secrets?.replaceAll('{source}', () => name);
}

/** Returns the project of a source whose secrets belong in a folder; undefined if there is none, or if all projects share the folder. */
function projectOfSecrets(settings: SourceSettings, folder: string): string | undefined {
  const [before = '', ...after] = templateOf(settings)?.split(PROJECT_PLACEHOLDER) ?? [];
  const fixed = before.length + after.join('').length;
  const name = folder.slice(before.length, before.length + (folder.length - fixed) / after.length);
  const project = name === ROOT_FOLDER ? '.' : name;
  return name !== '' && secretsFolder(settings, project) === folder ? project : undefined;
}

/** Returns the folders from `top` to `bottom`, including both. */
function foldersBetween(top: string, bottom: string): string[] {
  const above = bottom === top || bottom === path.dirname(bottom) ? [] : foldersBetween(top, path.dirname(bottom));
  return [...above, bottom];
}
