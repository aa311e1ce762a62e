import { randomBytes } from 'node:crypto';
import { lstat, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { type Files, nodeFiles, syncFolderOf, unlinkIfThere, writeFully } from './files.ts';
import { isAlive } from './process-facts.ts';

/*
 * A file is replaced by writing its new content beside it and renaming that. write-file-atomic does less: it wants the content in
 * one piece, does not sync the folder, and leaves behind what a killed process wrote.
 */

/** Of a draft that nobody writes any more, whatever its writer is doing: it has its name for as long as one write takes. */
const LEFT_MILLISECONDS = 60_000;

/** Name of a draft, with the number of its writer. Folders say whose they are, because all that is in them goes. */
const DRAFTS = {
  file: /^\.(.+)\.([\da-f]{6})[\da-f]{2}\.tmp$/s,
  folder: /^\.(.+)\.voxform-export-([\da-f]{6})[\da-f]{2}$/s,
} as const;

type Sort = keyof typeof DRAFTS;

/** A path beside another, for what is to take its place. `removeDrafts` knows it, and whether its writer still runs. */
export function draftBeside(target: string, sort: Sort = 'file'): string {
  const unique = (process.pid % 2 ** 24).toString(16).padStart(6, '0') + randomBytes(1).toString('hex');
  const end = sort === 'file' ? `${unique}.tmp` : `voxform-export-${unique}`;
  return path.join(path.dirname(target), `.${path.basename(target)}.${end}`);
}

/** A text, or the pieces of what may be too large for one. */
type FileContent = string | Iterable<Buffer>;

interface DraftOptions {
  /** Permissions; 0600 where absent. */
  readonly mode?: number | undefined;
  /** The path to write to first, where nobody else uses it at the same time; one of `draftBeside` where absent. */
  readonly draft?: string | undefined;
  /** False for what may be lost with the power, because it can be made again. */
  readonly isDurable?: boolean | undefined;
  /** Node's where absent. */
  readonly files?: Files | undefined;
}

/**
 * Replaces a file in one step that survives a loss of power. After a failure it is as it was, and nothing is left beside
 * it, nor of a process that was killed earlier.
 */
export async function replaceFile(
  file: string,
  content: FileContent,
  options: DraftOptions = {},
): Promise<void> {
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

/** Writes to the disk beside a file, so that the draft can take the file's name in one step. Returns its path. */
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
    for (const piece of typeof content === 'string' ? [Buffer.from(content)] : content)
      await writeFully(handle, piece);
    if (isDurable) await handle.sync();
  } catch (error) {
    await files.unlink(draft).catch(() => undefined);
    throw error;
  }
  return draft;
}

/** Removes the drafts that killed processes left beside these paths. What cannot be removed stays. */
export async function removeDrafts(targets: Iterable<string>, sort: Sort = 'file'): Promise<void> {
  for (const [folder, inFolder] of Map.groupBy(targets, (target) => path.dirname(target))) {
    const names = new Set(inFolder.map((target) => path.basename(target)));
    for (const entry of await readdir(folder).catch(() => [])) {
      const [, name = '', writer = ''] = DRAFTS[sort].exec(entry) ?? [];
      if (!names.has(name)) continue;
      const draft = path.join(folder, entry);
      const isStale = await isAbandoned(draft, { sort, writer: Number.parseInt(writer, 16) }).catch(
        () => false,
      );
      if (isStale) await rm(draft, { recursive: sort === 'folder', force: true }).catch(() => undefined);
    }
  }
}

async function isAbandoned(
  draft: string,
  { sort, writer }: { sort: Sort; writer: number },
): Promise<boolean> {
  const found = await lstat(draft);
  const isSort = sort === 'file' ? found.isFile() : found.isDirectory();
  if (!isSort || (process.getuid !== undefined && found.uid !== process.getuid())) return false;
  // On another machine, or in another container, the number may be anyone's.
  if (!isAlive(writer)) return true;
  return (await clockOf(path.dirname(draft))) - found.mtimeMs > LEFT_MILLISECONDS;
}

/** What time it is for the file system, whose clock may be another machine's. In milliseconds. */
async function clockOf(folder: string): Promise<number> {
  const probe = await writeBeside(path.join(folder, 'clock'), '');
  try {
    return (await lstat(probe)).mtimeMs;
  } finally {
    await rm(probe, { force: true });
  }
}
