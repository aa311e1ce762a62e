import type { ObjectReader, TreeEntry } from '../git/object-reader.ts';
import { MAX_FILE_BYTES } from '../manifests/read-file.ts';

/** The maximum number of files and folders of one project. */
const MAX_ENTRIES = 10_000;
const MAX_BYTES = 64 * 1024 * 1024;
const DEEPEST = 100;

/** A larger tree object has far more entries than any project may have. */
export const MAX_TREE_BYTES = 4 * 1024 * 1024;

const MANY = `it has more than ${MAX_ENTRIES} files and folders`;

/** Counts the files of a project from an untrusted source before they are read. */
export class ProjectSize {
  #entries = 0;
  #bytes = 0;
  #problem: string | undefined;

  /** The exceeded bound: counting can stop. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** A folder has too many entries to be read. */
  fail(): void {
    this.#problem ??= MANY;
  }

  /** @param name relative to the project, with slashes. */
  add(name: string): void {
    this.#entries++;
    if (this.#entries > MAX_ENTRIES) this.fail();
    if (name.split('/', DEEPEST + 1).length > DEEPEST)
      this.#problem ??= `it has folders more than ${DEEPEST} levels deep`;
  }

  addContent(name: string, bytes: number): void {
    this.#bytes += bytes;
    if (bytes > MAX_FILE_BYTES) this.#problem ??= `${name} has ${bytes} bytes, more than 1 MiB (${MAX_FILE_BYTES})`;
    if (this.#bytes > MAX_BYTES) this.#problem ??= 'its files have more than 64 MiB together';
  }
}

/** The bound that a Git tree exceeds, if any. Reads no files, and no more trees than a project may have. */
export async function treeProblem(objects: ObjectReader, tree: string): Promise<string | undefined> {
  const size = new ProjectSize();
  const files: { readonly name: string; readonly id: string }[] = [];
  const folders = [{ name: '', id: tree }];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const entries: readonly TreeEntry[] | undefined = await objects.tree(folder.id, MAX_TREE_BYTES);
    if (entries === undefined) return `its folder ${folder.name || '.'} is damaged or too large`;
    for (const { name: own, kind, id } of entries) {
      const name = folder.name === '' ? own : `${folder.name}/${own}`;
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
