import path from 'node:path';
import picomatch from 'picomatch';
import { entriesOf, type FolderEntry, isFolder, realPathOf } from '../files/input-files.ts';
import { isInside, reasonOf } from './read-file.ts';

interface FoundFiles {
  /** Relative to the root, with forward slashes, in code-unit order. Each real file occurs once. */
  readonly files: readonly string[];
  /** Problems of a pattern: it is outside the project or matches nothing. */
  readonly patterns: readonly PatternProblem[];
  /** Problems of a matching file or folder. */
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
 * The files that match the globs; a glob with `!` excludes files. Folders that begin with a dot and `node_modules` are skipped unless a
 * glob names them. Symbolic links are followed only inside the root.
 * @param root a real path.
 */
export function findFiles(root: string, patterns: readonly string[]): FoundFiles {
  const isExcluded = picomatch(
    patterns.filter((pattern) => pattern.startsWith('!')).map((pattern) => normal(pattern.slice(1))),
  );
  const files = new Map<string, string>();
  const problems: PatternProblem[] = [];
  const entries = new Map<string, EntryProblem>();
  for (const [index, written] of patterns.entries()) {
    if (written.startsWith('!')) continue;
    const pattern = normal(written);
    if (path.posix.isAbsolute(pattern) || pattern.split('/').includes('..')) {
      const message = `the pattern ${JSON.stringify(written)} leads out of the project folder`;
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

function normal(pattern: string): string {
  return pattern.replace(/^(\.\/+)+/, '');
}

interface FoundFile {
  readonly file: string;
  readonly real: string;
}

/** One walk for one pattern. Links are followed last, so that a file is found under its real name first. */
class PatternSearch {
  readonly found: FoundFile[] = [];
  readonly problems: EntryProblem[] = [];
  readonly #root: string;
  readonly #base: string;
  readonly #depth: number;
  readonly #matches: (file: string) => boolean;
  readonly #links: string[] = [];
  readonly #seen = new Set<string>();

  constructor(root: string, pattern: string) {
    const { base, glob } = picomatch.scan(pattern);
    this.#root = root;
    this.#base = base === '.' ? '' : base;
    this.#depth = glob.includes('**') ? Number.POSITIVE_INFINITY : glob.split('/').length;
    const takesAny = /(^|\/)\*+$/.test(pattern);
    const matches = picomatch(pattern, { dot: false });
    this.#matches = (file) => matches(file) && (!takesAny || /\.(ya?ml|json)$/i.test(file));
  }

  run(): void {
    const isWhole = this.#base === '';
    if (isWhole || isFolder(path.join(this.#root, this.#base))) this.#walk(this.#base, this.#real(this.#base));
    else if (this.#matches(this.#base)) this.#add(this.#base, this.#real(this.#base));
    while (this.#links.length > 0) for (const link of this.#links.splice(0).sort()) this.#follow(link);
  }

  /** The real path of the target of a link; undefined if it is outside or does not exist. */
  #real(file: string): string | undefined {
    try {
      const real = realPathOf(path.join(this.#root, file));
      if (isInside(real, this.#root)) return real;
      const message = 'a symbolic link leads out of the project folder';
      this.problems.push({ file, code: 'outside-project', message });
    } catch (error) {
      // A pattern without a glob may name a file that does not exist.
      if (file !== this.#base || file === '') this.#unreadable(file, error);
    }
    return undefined;
  }

  #walk(folder: string, real: string | undefined): void {
    if (real === undefined || this.#seen.has(real)) return;
    this.#seen.add(real);
    const depth = folder === this.#base ? 0 : folder.split('/').length - segments(this.#base);
    if (depth >= this.#depth) return;
    let entries: readonly FolderEntry[];
    try {
      entries = entriesOf(real);
    } catch (error) {
      this.#unreadable(folder, error);
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
    if (real === undefined || this.#seen.has(real)) return;
    this.#seen.add(real);
    this.found.push({ file, real });
  }

  #unreadable(file: string, error: unknown): void {
    this.problems.push({ file, code: 'unreadable-file', message: `it cannot be read: ${reasonOf(error)}` });
  }
}

function segments(folder: string): number {
  return folder === '' ? 0 : folder.split('/').length;
}

function isSkipped(name: string): boolean {
  return name.startsWith('.') || name === 'node_modules';
}
