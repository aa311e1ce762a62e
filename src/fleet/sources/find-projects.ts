import { compareText } from '../../problems/compare-text.ts';
import { UserError } from '../../problems/user-error.ts';
import { PROJECT_FILES } from '../../project/find-project.ts';
import { projectPatterns } from './project-patterns.ts';

/** The maximum number of folders in a unit. A unit is a folder directly below the base of a glob: `clients/acme` for `clients/**`. */
const MAX_FOLDERS_IN_UNIT = 20_000;
const MAX_FOLDERS_IN_SOURCE = 200_000;
/** The problem that is reported for a unit that is too large. */
export const TOO_LARGE = `the folder has more than ${MAX_FOLDERS_IN_UNIT} folders, too many to search for projects`;
/** The number of folders that are read concurrently. */
const CONCURRENCY = 8;

export interface ListedEntry {
  readonly name: string;
  readonly kind: 'file' | 'folder' | 'link' | 'other';
}

interface Search<E extends ListedEntry> {
  readonly patterns: readonly string[];
  readonly root: E;
  /** The name of the source in messages. */
  readonly shown: string;
  /** Returns the entries of a folder; undefined if it has too many. */
  list(folder: string, entry: E): Promise<readonly E[] | undefined>;
}

interface FoundFolder<E> {
  /** The path relative to the source, with slashes; `.` for the root. */
  readonly project: string;
  readonly entry: E;
  /** The project files in the folder: one of `PROJECT_FILES`, or both. */
  readonly files: readonly [E, ...E[]];
}

interface FoundFolders<E> {
  readonly found: readonly FoundFolder<E>[];
  /** Folders that are too large to be searched. Their projects are unknown. */
  readonly unknown: readonly { readonly folder: string; readonly entry: E }[];
}

/**
 * Finds the project folders of a source. If a unit is too large, only the projects in it remain unknown.
 * @throws UserError if the source as a whole is too large.
 */
export async function findProjects<E extends ListedEntry>(search: Search<E>): Promise<FoundFolders<E>> {
  const { isProject, isSearched, unitOf } = projectPatterns(search.patterns);
  const found: FoundFolder<E>[] = [];
  const units = new Map<string, { readonly folder: string; readonly entry: E; size: number; isTooLarge: boolean }>();
  const queue: { readonly folder: string; readonly entry: E }[] = [{ folder: '.', entry: search.root }];
  let size = 0;
  const tooLargeError = (): UserError =>
    new UserError(`${search.shown} has too many folders to search for projects`, {
      hint: 'Narrow the setting projects of the source in fleet.yaml.',
    });
  /** Counts a folder and returns its unit. The outermost folder of a unit must be counted first. */
  const count = (folder: string, entry: E) => {
    size++;
    if (size > MAX_FOLDERS_IN_SOURCE) throw tooLargeError();
    const name = unitOf(folder);
    if (name === undefined) return undefined;
    const unit = units.get(name) ?? { folder: name, entry, size: 0, isTooLarge: false };
    units.set(name, unit);
    unit.size++;
    if (unit.size > MAX_FOLDERS_IN_UNIT) unit.isTooLarge = true;
    return unit;
  };
  const isUnknown = (folder: string): boolean => units.get(unitOf(folder) ?? '')?.isTooLarge === true;
  const visit = async (folder: string, entry: E): Promise<void> => {
    const entries = await search.list(folder, entry);
    if (entries === undefined) {
      const unit = units.get(unitOf(folder) ?? '');
      if (unit === undefined) throw tooLargeError();
      unit.isTooLarge = true;
      return;
    }
    const [file, ...others] = entries.filter(({ name, kind }) => kind !== 'folder' && PROJECT_FILES.includes(name));
    if (file !== undefined && isProject(folder)) found.push({ project: folder, entry, files: [file, ...others] });
    for (const each of entries) {
      // Only a forged Git tree has names with slashes.
      if (each.kind !== 'folder' || each.name.includes('/')) continue;
      const inner = folder === '.' ? each.name : `${folder}/${each.name}`;
      if (!isSearched(inner)) continue;
      if (count(inner, each)?.isTooLarge === true) return;
      queue.push({ folder: inner, entry: each });
    }
  };
  while (queue.length > 0) {
    const next = queue.splice(-CONCURRENCY).filter(({ folder }) => !isUnknown(folder));
    await Promise.all(next.map(({ folder, entry }) => visit(folder, entry)));
  }
  return {
    found: found.filter(({ project }) => !isUnknown(project)).sort((a, b) => compareText(a.project, b.project)),
    unknown: [...units.values()].filter(({ isTooLarge }) => isTooLarge),
  };
}

/** Returns the problem with the project file of a folder, if any. */
export function fileProblem([file, other]: readonly [ListedEntry, ...ListedEntry[]]): string | undefined {
  if (other !== undefined)
    return `the folder has two project files, ${PROJECT_FILES.join(' and ')}; delete one of them`;
  if (file.kind === 'link') return `${file.name} is a symbolic link; replace it with the file itself`;
  return file.kind === 'file' ? undefined : `${file.name} is not a regular file; replace it with one`;
}
