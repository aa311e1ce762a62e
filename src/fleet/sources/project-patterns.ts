import picomatch from 'picomatch';

/** The maximum depth of a search with `**`. */
const DEEPEST = 32;

/** Matches folders of a source with the globs of its projects. Folders have slashes, and `.` is the root. */
interface ProjectPatterns {
  isProject(folder: string): boolean;
  /** True if the folder is a project, or may contain projects. */
  isSearched(folder: string): boolean;
  /** The outermost folder around it that a glob matches, such as `clients/acme` for `clients/**`; undefined for folders above. */
  unitOf(folder: string): string | undefined;
}

/** A glob with `!` excludes folders. */
export function projectPatterns(patterns: readonly string[]): ProjectPatterns {
  const named = patterns.filter((pattern) => !pattern.startsWith('!'));
  const matchers = named.map(matcher);
  const reaches = named.map(searchRangeOf);
  const excluded = patterns
    .filter((pattern) => pattern.startsWith('!'))
    .flatMap((pattern) => [matcher(pattern.slice(1)), matcher(`${pattern.slice(1)}/**`)]);
  const isExcluded = (folder: string): boolean => excluded.some((matches) => matches(folder));
  return {
    isProject: (folder) => matchers.some((matches) => matches(folder)) && !isExcluded(folder),
    isSearched: (folder) => {
      const parts = partsOf(folder);
      return reaches.some((glob) => mayReach(glob, parts)) && !isExcluded(folder);
    },
    unitOf: (folder) => {
      const parts = partsOf(folder);
      const above = Math.max(...reaches.map(({ base }) => commonLength(base, parts)));
      return parts.length > above ? parts.slice(0, above + 1).join('/') : undefined;
    },
  };
}

/** The globs that match no folder. */
export function unmatchedPatterns(patterns: readonly string[], folders: readonly string[]): string[] {
  return patterns.filter((pattern) => !pattern.startsWith('!') && !folders.some(matcher(pattern)));
}

function matcher(pattern: string): (folder: string) => boolean {
  if (pattern === '.') return (folder) => folder === '.';
  // A name may contain a newline.
  const matches = picomatch(pattern, { flags: 's' });
  return (folder) => (folder === '.' ? pattern === '**' : matches(folder));
}

interface GlobReach {
  /** The folders at the start of the pattern. */
  readonly base: readonly string[];
  readonly depth: number;
}

function searchRangeOf(pattern: string): GlobReach {
  const { base, glob } = picomatch.scan(pattern);
  const parts = partsOf(base);
  const depth = glob.includes('**') ? DEEPEST : parts.length + (glob === '' ? 0 : glob.split('/').length);
  return { base: parts, depth };
}

/** Folders that begin with a dot belong to tools, unless a pattern names them. */
function mayReach({ base, depth }: GlobReach, folder: readonly string[]): boolean {
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
  const differs = a.findIndex((part, index) => part !== b[index]);
  return differs === -1 ? a.length : differs;
}
