import path from 'node:path';
import { entriesOf, type FolderEntry, isFolder, realPathOf } from '../files/input-files.ts';
import { globMatcher, splitGlob, withoutDotSlash } from './glob.ts';
import { isInside, reasonOf } from './read-file.ts';

interface FoundFiles {
  /** Paths relative to the root, with forward slashes, in code-unit order. Each real file is listed once. */
  readonly files: readonly string[];
  /** Patterns that are outside the project or match nothing. */
  readonly patterns: readonly PatternProblem[];
  /** Files and folders that the search found but cannot use. */
  readonly entries: readonly EntryProblem[];
}

interface PatternProblem {
  readonly index: number;
  readonly code: 'outside-project' | 'no-match';
  readonly message: string;
}

interface EntryProblem {
  readonly file: string;
  readonly code: string;
  readonly message: string;
}

/**
 * Returns the files that match the globs. A glob that begins with `!` excludes files. `node_modules` and folders whose names begin with a
 * dot are skipped unless a glob names them. Symbolic links are followed only inside the root.
 * @param root a real path.
 */
export function findFiles(root: string, patterns: readonly string[]): FoundFiles {
  const isExcluded = globMatcher(
    patterns.filter((pattern) => pattern.startsWith('!')).map((pattern) => withoutDotSlash(pattern.slice(1))),
  );
  const files = new Map<string, string>();
  const problems: PatternProblem[] = [];
  const entries = new Map<string, EntryProblem>();
  for (const [index, written] of patterns.entries()) {
    if (written.startsWith('!')) continue;
    const pattern = withoutDotSlash(written);
    if (path.posix.isAbsolute(pattern) || pattern.split('/').includes('..')) {
      const message = `the pattern ${JSON.stringify(written)} points outside the project folder`;
      problems.push({ index, code: 'outside-project', message });
      continue;
    }
    const search = new PatternSearch(root, pattern);
    search.run();
    for (const problem of search.problems) entries.set(problem.file, problem);
    const found = search.found.filter(({ file }) => !isExcluded(file));
    if (found.length === 0 && search.problems.length === 0) {
      problems.push({ index, code: 'no-match', message: `no file matches ${JSON.stringify(written)}` });
    }
    for (const { file, real } of found) {
      const known = files.get(real);
      if (known === undefined || file < known) files.set(real, file);
    }
  }
  return { files: [...files.values()].sort(), patterns: problems, entries: [...entries.values()] };
}

/** True for the name of a YAML or JSON file. */
export function isManifestName(name: string): boolean {
  return /\.(ya?ml|json)$/i.test(name);
}

interface FoundFile {
  readonly file: string;
  readonly real: string;
}

/** Finds the files of one pattern. Symbolic links are followed last, so that a file is found under its real name first. */
class PatternSearch {
  readonly found: FoundFile[] = [];
  readonly problems: EntryProblem[] = [];
  readonly #root: string;
  readonly #base: string;
  readonly #depth: number;
  readonly #matches: (file: string) => boolean;
  readonly #links: string[] = [];
  readonly #visited = new Set<string>();

  constructor(root: string, pattern: string) {
    const { base, rest } = splitGlob(pattern);
    this.#root = root;
    this.#base = base === '.' ? '' : base;
    this.#depth = rest.includes('**') ? Number.POSITIVE_INFINITY : rest.split('/').length;
    const matchesAnyName = /(^|\/)\*+$/.test(pattern);
    const matches = globMatcher([pattern]);
    this.#matches = (file) => matches(file) && (!matchesAnyName || isManifestName(file));
  }

  run(): void {
    const isRoot = this.#base === '';
    if (isRoot || isFolder(path.join(this.#root, this.#base))) this.#walk(this.#base, this.#real(this.#base));
    else if (this.#matches(this.#base)) this.#add(this.#base, this.#real(this.#base));
    while (this.#links.length > 0) for (const link of this.#links.splice(0).sort()) this.#follow(link);
  }

  /** Returns the real path of a file or folder. Returns undefined, and reports the problem, if it is outside the root or missing. */
  #real(file: string): string | undefined {
    try {
      const real = realPathOf(path.join(this.#root, file));
      if (isInside(real, this.#root)) return real;
      const message = 'a symbolic link points outside the project folder';
      this.problems.push({ file, code: 'outside-project', message });
    } catch (error) {
      // If the base of a pattern does not exist, the pattern matches nothing.
      if (file !== this.#base || file === '') this.#reportUnreadable(file, error);
    }
    return undefined;
  }

  #walk(folder: string, real: string | undefined): void {
    if (real === undefined || this.#visited.has(real)) return;
    this.#visited.add(real);
    const depth = folder === this.#base ? 0 : folder.split('/').length - segmentCount(this.#base);
    if (depth >= this.#depth) return;
    let entries: readonly FolderEntry[];
    try {
      entries = entriesOf(real);
    } catch (error) {
      this.#reportUnreadable(folder, error);
      return;
    }
    for (const entry of entries) {
      const file = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (entry.isSymbolicLink()) this.#links.push(file);
      else if (entry.isDirectory()) {
        if (!isSkipped(entry.name)) this.#walk(file, path.join(real, entry.name));
      } else if (this.#matches(file)) this.#add(file, path.join(real, entry.name));
    }
  }

  #follow(link: string): void {
    if (isFolder(path.join(this.#root, link))) {
      if (!isSkipped(path.posix.basename(link))) this.#walk(link, this.#real(link));
    } else if (this.#matches(link)) this.#add(link, this.#real(link));
  }

  #add(file: string, real: string | undefined): void {
    if (real === undefined || this.#visited.has(real)) return;
    this.#visited.add(real);
    this.found.push({ file, real });
  }

  #reportUnreadable(file: string, error: unknown): void {
    this.problems.push({ file, code: 'unreadable-file', message: `the path cannot be read: ${reasonOf(error)}` });
  }
}

function segmentCount(folder: string): number {
  return folder === '' ? 0 : folder.split('/').length;
}

function isSkipped(name: string): boolean {
  return name.startsWith('.') || name === 'node_modules';
}
