import { hash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { deflateSync, inflateSync } from 'node:zlib';

type ObjectType = 'blob' | 'tree' | 'commit';

interface Commit {
  readonly tree: string;
  readonly parents: readonly string[];
  readonly message: string;
}

/** The mode and the id of each file, by path. */
export type Tree = ReadonlyMap<string, { readonly mode: string; readonly id: string }>;

const AUTHOR = 'ann <ann@example.com>';
const FOLDER = '40000';

/** The loose objects of a repository, as git stores them, without a process for each. They must not be packed. */
export class GitObjects {
  readonly #folder: string;

  constructor(repository: string) {
    this.#folder = path.join(repository, 'objects');
  }

  has(id: string): boolean {
    return existsSync(this.#file(id));
  }

  blob(id: string): Buffer {
    return this.#read(id);
  }

  addBlob(text: string): string {
    return this.#add('blob', Buffer.from(text));
  }

  commit(id: string): Commit {
    const [head = '', ...message] = this.#read(id).toString().split('\n\n');
    const values = (name: string): string[] =>
      [...head.matchAll(new RegExp(`^${name} (.*)$`, 'gm'))].map(([, value = '']) => value);
    return { tree: values('tree')[0] ?? '', parents: values('parent'), message: message.join('\n\n') };
  }

  addCommit({ tree, parents, message }: Commit): string {
    const at = `${AUTHOR} ${Math.floor(Date.now() / 1000)} +0000`;
    const head = [`tree ${tree}`, ...parents.map((id) => `parent ${id}`), `author ${at}`, `committer ${at}`];
    return this.#add('commit', Buffer.from(`${head.join('\n')}\n\n${message}`));
  }

  /** Returns all files of a tree, below a folder. */
  tree(id: string, below = ''): Tree {
    const body = this.#read(id);
    const found = new Map<string, { readonly mode: string; readonly id: string }>();
    for (let at = 0; at < body.length; ) {
      const end = body.indexOf(0, at);
      const [, mode = '', name = ''] = /^(\d+) (.*)$/s.exec(body.toString('utf8', at, end)) ?? [];
      const entry = { mode, id: body.toString('hex', end + 1, end + 21) };
      if (mode !== FOLDER) found.set(below + name, entry);
      else for (const [file, inside] of this.tree(entry.id, `${below}${name}/`)) found.set(file, inside);
      at = end + 21;
    }
    return found;
  }

  addTree(files: Tree): string {
    const folders = new Map<string, Map<string, { readonly mode: string; readonly id: string }>>();
    const entries: { readonly mode: string; readonly id: string; readonly name: string }[] = [];
    for (const [file, entry] of files) {
      const [name = '', ...rest] = file.split('/');
      if (rest.length === 0) entries.push({ ...entry, name });
      else folders.set(name, (folders.get(name) ?? new Map()).set(rest.join('/'), entry));
    }
    for (const [name, inside] of folders) entries.push({ mode: FOLDER, name, id: this.addTree(inside) });
    // Git sorts a folder as if its name ended with a slash.
    const key = ({ mode, name }: (typeof entries)[number]) => Buffer.from(mode === FOLDER ? `${name}/` : name);
    const sorted = entries.sort((a, b) => Buffer.compare(key(a), key(b)));
    const parts = sorted.flatMap(({ mode, name, id }) => [Buffer.from(`${mode} ${name}\0`), Buffer.from(id, 'hex')]);
    return this.#add('tree', Buffer.concat(parts));
  }

  #file(id: string): string {
    return path.join(this.#folder, id.slice(0, 2), id.slice(2));
  }

  #read(id: string): Buffer {
    const whole = inflateSync(readFileSync(this.#file(id)));
    return whole.subarray(whole.indexOf(0) + 1);
  }

  #add(type: ObjectType, body: Buffer): string {
    const whole = Buffer.concat([Buffer.from(`${type} ${body.length}\0`), body]);
    const id = hash('sha1', whole);
    const file = this.#file(id);
    if (existsSync(file)) return id;
    mkdirSync(path.dirname(file), { recursive: true });
    replaceFile(file, deflateSync(whole));
    return id;
  }
}

/** Replaces a file atomically. */
export function replaceFile(file: string, content: string | Buffer): void {
  writeFileSync(`${file}.lock`, content);
  renameSync(`${file}.lock`, file);
}
