import type { Change } from '../object-store/object-store.ts';

/* The content of a state commit, in git's formats. */

export const STATE = 'state.json';
export const LOCK = 'lock.json';
export const HISTORY = 'history.jsonl';

/** Bytes after which the journal continues in another file, which bounds the cost of a write. The size is part of the format. */
const JOURNAL_FILE_BYTES = 256_000;

function journalName(index: number): string {
  return index === 0 ? 'journal.jsonl' : `journal-${index}.jsonl`;
}

/** Returns the index of a journal file, from its name in the tree; undefined for other files. */
export function journalIndex(name: string): number | undefined {
  const found = /^journal(?:-([1-9]\d{0,8}))?\.jsonl$/.exec(name);
  return found === null ? undefined : Number(found[1] ?? 0);
}

/** Divides the journal into files. The offset of a line determines its file, so that appended lines change only the last files. */
export function journalFiles(journal: Uint8Array): Map<string, Uint8Array> {
  const files = new Map<string, Uint8Array>();
  let start = 0;
  let index = 0;
  for (let at = 0; at < journal.length; ) {
    const end = journal.indexOf(0x0a, at);
    const next = end === -1 ? journal.length : end + 1;
    if (Math.floor(at / JOURNAL_FILE_BYTES) > Math.floor(start / JOURNAL_FILE_BYTES)) {
      files.set(journalName(index), journal.subarray(start, at));
      index += 1;
      start = at;
    }
    at = next;
  }
  if (start < journal.length) files.set(journalName(index), journal.subarray(start));
  return files;
}

interface NewCommit extends Pick<Change, 'write' | 'summary'> {
  readonly parent: string | undefined;
  readonly at: Date;
  /** File contents by name. Null removes a file. */
  readonly files: ReadonlyMap<string, Uint8Array | null>;
  readonly isBranch: boolean;
  readonly idDigits: number;
}

const AUTHOR = 'voxform <voxform@localhost>';

/** Returns the input for `git fast-import`, which then prints the id of the commit and creates no ref. */
export function commitStream(commit: NewCommit): Uint8Array[] {
  const { parent, at, files, write, summary, isBranch, idDigits } = commit;
  const ref = `refs/new/${write}`;
  // Makes hosts that build every branch skip this commit.
  const body = isBranch ? '[skip ci]\n\n' : '';
  const message = Buffer.from(`${summary.replaceAll(/\s+/g, ' ')}\n\n${body}Write: ${write}\n`);
  const changes = [...files].flatMap(([name, bytes]) =>
    bytes === null
      ? [Buffer.from(`D ${name}\n`)]
      : [Buffer.from(`M 100644 inline ${name}\ndata ${bytes.length}\n`), bytes, Buffer.from('\n')],
  );
  return [
    Buffer.from(`commit ${ref}\nmark :1\ncommitter ${AUTHOR} ${Math.floor(at.getTime() / 1000)} +0000\n`),
    Buffer.from(`data ${message.length}\n`),
    message,
    Buffer.from(parent === undefined ? '\n' : `\nfrom ${parent}\n`),
    ...changes,
    Buffer.from(`\nget-mark :1\nreset ${ref}\nfrom ${'0'.repeat(idDigits)}\n\ndone\n`),
  ];
}

/** Returns the id of the write (`Change.write`) that created a commit in git's format; undefined for a commit of another program. */
export function writeOf(commit: Buffer): string | undefined {
  return /\n\n[\s\S]*\nWrite: (\S+)\s*$/.exec(commit.toString())?.[1];
}

export interface GitObject {
  readonly type: string;
  readonly bytes: Buffer;
}

/** Parses the output of `git cat-file --batch`. Returns the objects in the order of the request; undefined for a missing object. */
export function objectsIn(printed: Buffer): (GitObject | undefined)[] {
  const objects: (GitObject | undefined)[] = [];
  for (let at = 0; at < printed.length; ) {
    const end = printed.indexOf(0x0a, at);
    const [, type = '', size] = printed.subarray(at, end).toString().split(' ');
    at = end + 1;
    if (size === undefined) {
      objects.push(undefined);
      continue;
    }
    objects.push({ type, bytes: printed.subarray(at, at + Number(size)) });
    at += Number(size) + 1;
  }
  return objects;
}

export function isOurs(name: string): boolean {
  return [STATE, LOCK, HISTORY].includes(name) || journalIndex(name) !== undefined;
}
