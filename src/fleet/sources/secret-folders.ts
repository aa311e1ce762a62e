import { existsSync } from 'node:fs';
import path from 'node:path';
import { realPath } from '../../manifests/read-file.ts';
import { PROJECT_FILES } from '../../project/find-project.ts';
import { leadsTo } from '../../project/local-paths.ts';
import { projectAddress } from '../addresses.ts';
import type { SourceSettings } from '../fleet-file.ts';
import { projectAt } from './overlaps.ts';
import { projectPatterns } from './project-patterns.ts';

const PROJECT = '{project}';
/** Replaces `{project}` for the root of a source, whose own path would contain the folders of all projects. */
const OF_ROOT = '.root';

/** The folder of the fleet file for the secrets of a project; undefined if its source names none. */
export function secretsFolder(settings: SourceSettings, project: string): string | undefined {
  return templateOf(settings)?.replaceAll(PROJECT, () => (project === '.' ? OF_ROOT : project));
}

interface Owner {
  readonly settings: SourceSettings;
  readonly project: string;
  readonly all: readonly SourceSettings[];
}

/**
 * Why a project may not read secrets from a folder inside its own: another project may have its secrets there, or would read it as part
 * of its files. Only the patterns of the fleet file matter, so that no project depends on the contents of another.
 */
export function foreignSecrets(folder: string, owner: Owner): string | undefined {
  const { settings, project, all } = owner;
  const own = secretsFolder(settings, project);
  const real = leadsTo(folder) ?? folder;
  const others = all.map((other) => {
    const { isProject: matches } = projectPatterns(other.projects);
    const isOwn = (there: string): boolean => other.name === settings.name && there === project;
    return {
      other,
      has: (there: string | undefined): there is string =>
        there !== undefined && matches(there) && !isOwn(there),
    };
  });
  if (own !== undefined) {
    const below = path.relative(leadsTo(own) ?? own, real);
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
  const project = name === OF_ROOT ? '.' : name;
  return name !== '' && secretsFolder(settings, project) === folder ? project : undefined;
}

/** A folder, and those between it and another. */
function foldersBetween(top: string, bottom: string): string[] {
  const above =
    bottom === top || bottom === path.dirname(bottom) ? [] : foldersBetween(top, path.dirname(bottom));
  return [...above, bottom];
}
