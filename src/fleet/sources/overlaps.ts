import { existsSync } from 'node:fs';
import path from 'node:path';
import { findFiles } from '../../manifests/find-files.ts';
import { isInside, realPath } from '../../manifests/read-file.ts';
import { UserError } from '../../problems/user-error.ts';
import { PROJECT_FILES } from '../../project/find-project.ts';
import { loadProject } from '../../project/load-project.ts';
import { projectAddress } from '../addresses.ts';
import { placeOf, type SourceSettings } from '../fleet-file.ts';
import type { MembersOptions } from '../members.ts';
import { projectPatterns } from './project-patterns.ts';

/** By project: the projects in folders inside its own. */
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

/** True if projects of another source may be in the folder of a project. */
export function mayContainOthers(settings: SourceSettings, project: string, all: readonly SourceSettings[]): boolean {
  return all.some((other) => {
    if (other.name === settings.name) return false;
    if ('git' in settings || 'git' in other) return placeOf(settings) === placeOf(other);
    const [folder, root] = [realPath(path.join(settings.path, project)), realPath(other.path)];
    return isInside(folder, root) || isInside(root, folder);
  });
}

/** The projects of all sources inside a project whose files match its manifests. */
export async function projectsTaken(
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
    // The run of the project reports it.
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
      const there = other.name === settings.name ? inner : folderIn(settings, inner, other);
      const isProject = there !== undefined && projectPatterns(other.projects).isProject(there);
      return isProject ? [{ source: other.name, project: there }] : [];
    });
  });
}

/** Of `a/b/c.yaml`: `a/b` and `a`. */
function foldersAround(file: string): string[] {
  const parts = file.split('/').slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
}

/** The same project in another source, if any. */
export function sameProject(
  settings: SourceSettings,
  project: string,
  all: readonly SourceSettings[],
): string | undefined {
  for (const other of all) {
    if (other.name === settings.name) continue;
    const there = folderIn(settings, project, other);
    if (there !== undefined && projectPatterns(other.projects).isProject(there))
      return projectAddress(other.name, there);
  }
  return undefined;
}

function folderIn(settings: SourceSettings, project: string, other: SourceSettings): string | undefined {
  if ('git' in settings || 'git' in other) return placeOf(settings) === placeOf(other) ? project : undefined;
  const [root, folder] = [realPath(other.path), realPath(path.join(settings.path, project))];
  return projectAt(root, folder);
}

/** The path of a folder relative to a source. Both are real paths. */
export function projectAt(root: string, folder: string): string | undefined {
  if (!isInside(folder, root)) return undefined;
  return path.relative(root, folder).replaceAll(path.sep, '/') || '.';
}
