import { existsSync } from 'node:fs';
import path from 'node:path';
import { findFiles } from '../../manifests/find-files.ts';
import { isInside, realPath } from '../../manifests/read-file.ts';
import { UserError } from '../../problems/user-error.ts';
import { PROJECT_FILES } from '../../project/find-project.ts';
import { loadProject } from '../../project/load-project.ts';
import { projectAddress } from '../addresses.ts';
import { locationKey, type SourceSettings } from '../fleet-file.ts';
import type { MembersOptions } from '../members.ts';
import { projectPatterns } from './project-patterns.ts';

/** Returns for each project the projects inside its folder. */
export function projectsInside(projects: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const inside = new Map(projects.map((project): [string, string[]] => [project, []]));
  for (const project of projects) {
    if (project !== '.') inside.get('.')?.push(project);
    for (let end = project.lastIndexOf('/'); end > 0; end = project.lastIndexOf('/', end - 1))
      inside.get(project.slice(0, end))?.push(project);
  }
  return inside;
}

interface NamedProject {
  readonly source: string;
  readonly project: string;
}

/** Returns true if projects of another source may be in the folder of a project. */
export function mayContainOthers(settings: SourceSettings, project: string, all: readonly SourceSettings[]): boolean {
  return all.some((other) => {
    if (other.name === settings.name) return false;
    if ('git' in settings || 'git' in other) return locationKey(settings) === locationKey(other);
    const [folder, root] = [realPath(path.join(settings.path, project)), realPath(other.path)];
    return isInside(folder, root) || isInside(root, folder);
  });
}

/** Returns the projects of all sources that are inside a project and contain files that match its manifest patterns. */
export async function overlappingProjects(
  settings: SourceSettings,
  outer: string,
  {
    all,
    env,
    local,
    checkout,
  }: Pick<MembersOptions, 'env' | 'local' | 'checkout'> & { readonly all: readonly SourceSettings[] },
): Promise<NamedProject[]> {
  const project = await loadProject({ cwd: await checkout(), env, local }).catch((error: unknown) => {
    // The run of the project reports this error.
    if (error instanceof UserError) return undefined;
    throw error;
  });
  if (project === undefined) return [];
  const { files } = findFiles(project.root, project.manifests);
  const folders = new Set(files.flatMap(foldersAround));
  return [...folders].flatMap((folder) => {
    if (!PROJECT_FILES.some((name) => existsSync(path.join(project.root, folder, name)))) return [];
    const inner = outer === '.' ? folder : `${outer}/${folder}`;
    return all.flatMap((other) => {
      const inOther = other.name === settings.name ? inner : folderIn(settings, inner, other);
      const isProject = inOther !== undefined && projectPatterns(other.projects).isProject(inOther);
      return isProject ? [{ source: other.name, project: inOther }] : [];
    });
  });
}

/** Returns the folders that contain a file: `a` and `a/b` for `a/b/c.yaml`. */
function foldersAround(file: string): string[] {
  const parts = file.split('/').slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
}

/** Returns the address of the same project in another source, if any. */
export function sameProject(
  settings: SourceSettings,
  project: string,
  all: readonly SourceSettings[],
): string | undefined {
  for (const other of all) {
    if (other.name === settings.name) continue;
    const inOther = folderIn(settings, project, other);
    if (inOther !== undefined && projectPatterns(other.projects).isProject(inOther))
      return projectAddress(other.name, inOther);
  }
  return undefined;
}

/** Returns the folder of a project relative to another source; undefined if the folder is not in that source. */
function folderIn(settings: SourceSettings, project: string, other: SourceSettings): string | undefined {
  if ('git' in settings || 'git' in other) return locationKey(settings) === locationKey(other) ? project : undefined;
  const [root, folder] = [realPath(other.path), realPath(path.join(settings.path, project))];
  return projectAt(root, folder);
}

/** Returns the path of a folder relative to the root of a source; undefined if the folder is outside. Both must be real paths. */
export function projectAt(root: string, folder: string): string | undefined {
  if (!isInside(folder, root)) return undefined;
  return path.relative(root, folder).replaceAll(path.sep, '/') || '.';
}
