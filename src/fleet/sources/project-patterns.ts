import { globMatcher, splitGlob } from '../../manifests/glob.ts';

/** The maximum depth of a search with `**`. */
const MAX_DEPTH = 32;

/** Matches the folders of a source against its globs. Folder paths use slashes; `.` is the root. */
interface ProjectPatterns {
  isProject(folder: string): boolean;
  /** Returns true if the folder may be a project or contain projects. */
  isSearched(folder: string): boolean;
  /** Returns the folder directly below a glob's base that is or contains this folder, such as `clients/acme` for `clients/**`. */
  unitOf(folder: string): string | undefined;
}

/** Compiles globs. A glob with a leading `!` excludes folders. */
export function projectPatterns(patterns: readonly string[]): ProjectPatterns {
  const included = patterns.filter((pattern) => !pattern.startsWith('!'));
  const matchers = included.map(matcher);
  const ranges = included.map(searchRangeOf);
  const excluded = patterns
    .filter((pattern) => pattern.startsWith('!'))
    .flatMap((pattern) => [matcher(pattern.slice(1)), matcher(`${pattern.slice(1)}/**`)]);
  const isExcluded = (folder: string): boolean => excluded.some((matches) => matches(folder));
  return {
    isProject: (folder) => matchers.some((matches) => matches(folder)) && !isExcluded(folder),
    isSearched: (folder) => {
      const parts = partsOf(folder);
      return ranges.some((range) => isInRange(range, parts)) && !isExcluded(folder);
    },
    unitOf: (folder) => {
      const parts = partsOf(folder);
      const above = Math.max(...ranges.map(({ base }) => commonLength(base, parts)));
      return parts.length > above ? parts.slice(0, above + 1).join('/') : undefined;
    },
  };
}

/** Returns the globs that match no folder. */
export function unmatchedPatterns(patterns: readonly string[], folders: readonly string[]): string[] {
  return patterns.filter((pattern) => !pattern.startsWith('!') && !folders.some(matcher(pattern)));
}

function matcher(pattern: string): (folder: string) => boolean {
  if (pattern === '.') return (folder) => folder === '.';
  const matches = globMatcher([pattern]);
  return (folder) => (folder === '.' ? pattern === '**' : matches(folder));
}

interface SearchRange {
  /** The folders at the start of the pattern, before its first wildcard. */
  readonly base: readonly string[];
  /** The maximum number of folders in a path. */
  readonly depth: number;
}

function searchRangeOf(pattern: string): SearchRange {
  const { base, rest } = splitGlob(pattern);
  const parts = partsOf(base);
  const depth = rest.includes('**') ? MAX_DEPTH : parts.length + (rest === '' ? 0 : rest.split('/').length);
  return { base: parts, depth };
}

/** Returns true if a pattern may match the folder or its subfolders. Skips hidden folders and `node_modules` below the base. */
function isInRange({ base, depth }: SearchRange, folder: readonly string[]): boolean {
  const inside = folder.slice(base.length);
  return (
    folder.length <= depth &&
    commonLength(base, folder) === Math.min(base.length, folder.length) &&
    !inside.some((part) => part.startsWith('.') || part === 'node_modules')
  );
}

function partsOf(folder: string): string[] {
  return folder.split('/').filter((part) => part !== '' && part !== '.');
}

function commonLength(a: readonly string[], b: readonly string[]): number {
  const firstDifference = a.findIndex((part, index) => part !== b[index]);
  return firstDifference === -1 ? a.length : firstDifference;
}
