import { UserError } from '../problems/user-error.ts';
import { type GitCall, shortError, startGit } from './run-git.ts';

interface ObjectHeader {
  readonly id: string;
  readonly type: string;
  /** Size in bytes. */
  readonly size: number;
}

export interface TreeEntry {
  readonly name: string;
  readonly kind: 'file' | 'folder' | 'link' | 'other';
  readonly id: string;
}

/** The maximum number of cached trees. Some repositories contain the same tree many times. */
const MAX_CACHED_TREES = 1000;
/** The maximum number of entries of a cached tree. */
const MAX_CACHED_ENTRIES = 100;

type Reply = ObjectHeader & { readonly content: Buffer };

/** Reads objects of a repository with one git process for headers and one for contents. Missing objects are not fetched. */
export class ObjectReader {
  readonly #headers: CatFile;
  readonly #contents: CatFile;
  readonly #trees = new Map<string, readonly TreeEntry[]>();

  constructor(repository: string, call: GitCall) {
    const start = (option: string) => startGit(['--git-dir', repository, 'cat-file', option], call);
    this.#headers = new CatFile(() => start('--batch-check'), false);
    this.#contents = new CatFile(() => start('--batch'), true);
  }

  /**
   * Returns the type and size of an object; undefined if the repository does not have it.
   * @param name an id or any other name that git resolves, without a line break.
   */
  header(name: string): Promise<ObjectHeader | undefined> {
    return this.#headers.request(name);
  }

  /** Returns the content of an object; undefined if the object is missing or has more than `maxBytes` bytes. */
  async content(id: string, maxBytes: number): Promise<Buffer | undefined> {
    const header = await this.header(id);
    if (header === undefined || header.size > maxBytes) return undefined;
    return (await this.#contents.request(id))?.content;
  }

  /** Returns the entries of a tree; undefined if the tree is missing or has more than `maxBytes` bytes. */
  async tree(id: string, maxBytes: number): Promise<readonly TreeEntry[] | undefined> {
    const known = this.#trees.get(id);
    if (known !== undefined) return known;
    const content = await this.content(id, maxBytes);
    const entries = content && entriesIn(content, id.length / 2);
    if (entries !== undefined && entries.length <= MAX_CACHED_ENTRIES && this.#trees.size < MAX_CACHED_TREES)
      this.#trees.set(id, entries);
    return entries;
  }

  async close(): Promise<void> {
    await Promise.all([this.#headers.close(), this.#contents.close()]);
  }
}

/** A `git cat-file` process, which answers requests in order. */
class CatFile {
  readonly #start: () => ReturnType<typeof startGit>;
  readonly #hasContent: boolean;
  #started: ReturnType<typeof startGit> | undefined;
  #pending: PromiseWithResolvers<Reply | undefined>[] = [];
  #end: { readonly error: unknown } | undefined;
  #header: ObjectHeader | undefined;
  #chunks: Buffer[] = [];
  #received = 0;

  constructor(start: () => ReturnType<typeof startGit>, hasContent: boolean) {
    this.#start = start;
    this.#hasContent = hasContent;
  }

  async request(name: string): Promise<Reply | undefined> {
    this.#started ??= this.#open();
    const { child } = await this.#started;
    if (this.#end !== undefined) throw this.#end.error;
    const reply = Promise.withResolvers<Reply | undefined>();
    this.#pending.push(reply);
    child.stdin.write(`${name}\n`);
    return reply.promise;
  }

  async close(): Promise<void> {
    const started = await this.#started?.catch(() => undefined);
    started?.child.stdin.end();
    await started?.ended.catch(() => undefined);
  }

  async #open(): ReturnType<typeof startGit> {
    const started = await this.#start();
    started.child.stdout.on('data', (bytes: Buffer) => this.#receive(bytes));
    const fail = (error: unknown): void => {
      this.#end = { error };
      for (const { reject } of this.#pending.splice(0)) reject(error);
    };
    started.ended.then(
      ({ errorOutput }) => fail(new UserError(`git cat-file: ${shortError(errorOutput) || 'ended early'}`)),
      fail,
    );
    return started;
  }

  #receive(bytes: Buffer): void {
    this.#chunks.push(bytes);
    this.#received += bytes.length;
    // The chunks of an object are concatenated only after all of them have arrived.
    while (this.#received >= (this.#header === undefined ? 1 : this.#header.size + 1)) {
      const all = Buffer.concat(this.#chunks);
      const used = this.#header === undefined ? this.#takeHeader(all) : this.#takeContent(all, this.#header);
      this.#chunks = [all.subarray(used)];
      this.#received = all.length - used;
      if (used === 0) return;
    }
  }

  #takeHeader(all: Buffer): number {
    const end = all.indexOf('\n');
    if (end === -1) return 0;
    const [id = '', type = '', size] = all.toString('latin1', 0, end).split(' ');
    if (size === undefined) this.#pending.shift()?.resolve(undefined);
    else if (this.#hasContent) this.#header = { id, type, size: Number(size) };
    else this.#pending.shift()?.resolve({ id, type, size: Number(size), content: Buffer.alloc(0) });
    return end + 1;
  }

  #takeContent(all: Buffer, header: ObjectHeader): number {
    this.#header = undefined;
    this.#pending.shift()?.resolve({ ...header, content: all.subarray(0, header.size) });
    return header.size + 1;
  }
}

const KINDS: Readonly<Record<string, TreeEntry['kind']>> = {
  '40000': 'folder',
  '120000': 'link',
  '160000': 'other',
};

/** Parses a tree object. @param idBytes the length of an object id in bytes: 20 for SHA-1, 32 for SHA-256. */
export function entriesIn(tree: Buffer, idBytes: number): TreeEntry[] {
  const entries: TreeEntry[] = [];
  for (let at = 0; at < tree.length; ) {
    const space = tree.indexOf(' ', at);
    const zero = tree.indexOf(0, space);
    const end = zero + 1 + idBytes;
    // The tree may be malformed: git does not verify the objects of a server.
    if (space === -1 || zero === -1) return entries;
    entries.push({
      name: tree.toString('utf8', space + 1, zero),
      kind: KINDS[tree.toString('latin1', at, space)] ?? 'file',
      id: tree.toString('hex', zero + 1, end),
    });
    at = end;
  }
  return entries;
}
