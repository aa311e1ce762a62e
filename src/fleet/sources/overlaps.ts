import path from 'node:path';
import { findFiles } from '../../manifests/find-files.ts';
import { isInside, realPath } from '../../manifests/read-file.ts';
import { UserError } from '../../problems/user-error.ts';
import { loadProject } from '../../project/load-project.ts';
import { projectAddress } from '../addresses.ts';
import { placeOf, type SourceSettings } from '../fleet-file.ts';
import type { MembersOptions } from '../members.ts';
import { projectMatcher } from './project-patterns.ts';

/** By each project, those in folders inside of its own. */
export function projectsInside(projects: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const inside = new Map(projects.map((project): [string, string[]] => [project, []]));
  for (const project of projects) {
    if (project !== '.') inside.get('.')?.push(project);
    for (let end = project.lastIndexOf('/'); end > 0; end = project.lastIndexOf('/', end - 1))
      inside.get(project.slice(0, end))?.push(project);
  }
  return inside;
}

/** Those of the projects inside of one whose files its manifests take in. */
export async function projectsTaken(
  outer: string,
  inside: readonly string[],
  { env, local, checkout }: Pick<MembersOptions, 'env' | 'local' | 'checkout'>,
): Promise<string[]> {
  if (inside.length === 0) return [];
  const project = await loadProject({ cwd: await checkout(), env, local }).catch((error: unknown) => {
    // Whoever runs it is told.
    if (error instanceof UserError) return undefined;
    throw error;
  });
  if (project === undefined) return [];
  const { files } = findFiles(project.root, project.manifests);
  return inside.filter((each) => {
    const folder = outer === '.' ? each : each.slice(outer.length + 1);
    return files.some((file) => file.startsWith(`${folder}/`));
  });
}

/** The same project under the name that another source has for it; undefined where there is none. */
export function sameProject(
  settings: SourceSettings,
  project: string,
  all: readonly SourceSettings[],
): string | undefined {
  for (const other of all) {
    if (other.name === settings.name) continue;
    const there = folderIn(settings, project, other);
    if (there !== undefined && projectMatcher(other.projects)(there))
      return projectAddress(other.name, there);
  }
  return undefined;
}

function folderIn(settings: SourceSettings, project: string, other: SourceSettings): string | undefined {
  if ('git' in settings || 'git' in other) return placeOf(settings) === placeOf(other) ? project : undefined;
  const [root, folder] = [realPath(other.path), realPath(path.join(settings.path, project))];
  if (!isInside(folder, root)) return undefined;
  return path.relative(root, folder).replaceAll(path.sep, '/') || '.';
}
