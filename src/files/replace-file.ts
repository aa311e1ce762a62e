import { randomBytes } from 'node:crypto';
import { lstat, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { type Files, nodeFiles, syncFolderOf, unlinkIfThere, writeFully } from './files.ts';
import { isAlive } from './process-facts.ts';

/*
 * A file is replaced by a rename of a draft beside it. write-file-atomic does less: it takes the content in one piece, does not sync the
 * folder, and leaves the drafts of killed processes.
 */

/** Age of an abandoned draft, also if its writer still runs: a draft exists only during one write. */
const LEFT_MILLISECONDS = 60_000;

/** Name of a draft, with the pid of its writer. Folders have voxform's name, because they are removed with their contents. */
const DRAFTS = {
  file: /^\.(.+)\.([\da-f]{6})[\da-f]{2}\.tmp$/s,
  folder: /^\.(.+)\.voxform-export-([\da-f]{6})[\da-f]{2}$/s,
} as const;

type Sort = keyof typeof DRAFTS;

/** A path beside another, for its replacement. `removeDrafts` removes it if its writer died. */
export function draftBeside(target: string, sort: Sort = 'file'): string {
  const unique = (process.pid % 2 ** 24).toString(16).padStart(6, '0') + randomBytes(1).toString('hex');
  const end = sort === 'file' ? `${unique}.tmp` : `voxform-export-${unique}`;
  return path.join(path.dirname(target), `.${path.basename(target)}.${end}`);
}

/** A text, or pieces. */
type FileContent = string | Iterable<Buffer>;

interface DraftOptions {
  /** Permissions; default: 0600. */
  readonly mode?: number | undefined;
  /** Path of the draft, if no other process uses it at the same time; default: `draftBeside`. */
  readonly draft?: string | undefined;
  /** False for a file that a loss of power may destroy, because it can be created again. */
  readonly isDurable?: boolean | undefined;
  /** Default: Node's. */
  readonly files?: Files | undefined;
}

/**
 * Replaces a file in one step that survives a loss of power. After a failure the file is unchanged, and no draft is left, also not of a
 * process that was killed earlier.
 */
export async function replaceFile(file: string, content: FileContent, options: DraftOptions = {}): Promise<void> {
  const { files = nodeFiles } = options;
  if (options.draft === undefined) await removeDrafts([file]);
  const draft = await writeBeside(file, content, options);
  try {
    await files.rename(draft, file);
  } catch (error) {
    await files.unlink(draft).catch(() => undefined);
    throw error;
  }
  if (options.isDurable !== false) await syncFolderOf(files, file);
}

/** Writes a draft beside a file, which can then take the file's name in one step. @returns its path. */
export async function writeBeside(
  file: string,
  content: FileContent,
  { mode = 0o600, draft: named, isDurable = true, files = nodeFiles }: DraftOptions = {},
): Promise<string> {
  const draft = named ?? draftBeside(file);
  if (named !== undefined) await unlinkIfThere(files, named);
  await using handle = await files.open(draft, 'wx', 0o600);
  try {
    await handle.chmod(mode & 0o7777);
    for (const piece of typeof content === 'string' ? [Buffer.from(content)] : content) await writeFully(handle, piece);
    if (isDurable) await handle.sync();
  } catch (error) {
    await files.unlink(draft).catch(() => undefined);
    throw error;
  }
  return draft;
}

/** Removes the drafts of killed processes beside these paths, as far as possible. */
export async function removeDrafts(targets: Iterable<string>, sort: Sort = 'file'): Promise<void> {
  for (const [folder, inFolder] of Map.groupBy(targets, (target) => path.dirname(target))) {
    const names = new Set(inFolder.map((target) => path.basename(target)));
    for (const entry of await readdir(folder).catch(() => [])) {
      const [, name = '', writer = ''] = DRAFTS[sort].exec(entry) ?? [];
      if (!names.has(name)) continue;
      const draft = path.join(folder, entry);
      const isStale = await isAbandoned(draft, { sort, writer: Number.parseInt(writer, 16) }).catch(() => false);
      if (isStale) await rm(draft, { recursive: sort === 'folder', force: true }).catch(() => undefined);
    }
  }
}

async function isAbandoned(draft: string, { sort, writer }: { sort: Sort; writer: number }): Promise<boolean> {
  const found = await lstat(draft);
  const isSort = sort === 'file' ? found.isFile() : found.isDirectory();
  if (!isSort || (process.getuid !== undefined && found.uid !== process.getuid())) return false;
  // On another machine, or in another container, the pid may be of another process.
  if (!isAlive(writer)) return true;
  return (await clockOf(path.dirname(draft))) - found.mtimeMs > LEFT_MILLISECONDS;
}

/** Milliseconds by the clock of the file system, which may be another machine's. */
async function clockOf(folder: string): Promise<number> {
  const probe = await writeBeside(path.join(folder, 'clock'), '');
  try {
    return (await lstat(probe)).mtimeMs;
  } finally {
    await rm(probe, { force: true });
  }
}
