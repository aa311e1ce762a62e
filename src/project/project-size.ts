import type { ObjectReader, TreeEntry } from '../git/object-reader.ts';
import { MAX_FILE_BYTES } from '../manifests/read-file.ts';

/** The maximum number of files and folders of one project. */
const MAX_ENTRIES = 10_000;
const MAX_BYTES = 64 * 1024 * 1024;
const MAX_DEPTH = 100;

/** The maximum size of a Git tree object. A larger one has far more entries than a project may have. */
export const MAX_TREE_BYTES = 4 * 1024 * 1024;

const TOO_MANY_ENTRIES = `it has more than ${MAX_ENTRIES} files and folders`;

/** Counts the files of a project from an untrusted source before they are read. */
export class ProjectSize {
  #entries = 0;
  #bytes = 0;
  #problem: string | undefined;

  /** The exceeded limit, as a clause, if any. Counting can then stop. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Reports a folder with too many entries to read. */
  failWithTooManyEntries(): void {
    this.#problem ??= TOO_MANY_ENTRIES;
  }

  /** @param name the path relative to the project, with forward slashes. */
  add(name: string): void {
    this.#entries++;
    if (this.#entries > MAX_ENTRIES) this.failWithTooManyEntries();
    if (name.split('/', MAX_DEPTH + 1).length > MAX_DEPTH)
      this.#problem ??= `it has folders more than ${MAX_DEPTH} levels deep`;
  }

  addContent(name: string, bytes: number): void {
    this.#bytes += bytes;
    if (bytes > MAX_FILE_BYTES) this.#problem ??= `${name} has ${bytes} bytes, more than 1 MiB (${MAX_FILE_BYTES})`;
    if (this.#bytes > MAX_BYTES) this.#problem ??= 'its files have more than 64 MiB in total';
  }
}

/** Returns the limit that a Git tree exceeds, as a clause, if any. Reads no files, and no more trees than a project may have. */
export async function treeProblem(objects: ObjectReader, tree: string): Promise<string | undefined> {
  const size = new ProjectSize();
  const files: { readonly name: string; readonly id: string }[] = [];
  const folders = [{ name: '', id: tree }];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const entries: readonly TreeEntry[] | undefined = await objects.tree(folder.id, MAX_TREE_BYTES);
    if (entries === undefined) return `its folder ${folder.name || '.'} is damaged or too large`;
    for (const { name: entryName, kind, id } of entries) {
      const name = folder.name === '' ? entryName : `${folder.name}/${entryName}`;
      size.add(name);
      if (size.problem !== undefined) return size.problem;
      if (kind === 'folder') folders.push({ name, id });
      else if (kind !== 'other') files.push({ name, id });
    }
  }
  const headers = await Promise.all(files.map(({ id }) => objects.header(id)));
  for (const [index, { name }] of files.entries()) size.addContent(name, headers[index]?.size ?? 0);
  return size.problem;
}
