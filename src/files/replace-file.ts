import { randomBytes } from 'node:crypto';
import { lstat, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { type Files, nodeFiles, syncFolderOf, unlinkIfExists, writeAll } from './files.ts';
import { isAlive } from './process-facts.ts';

/*
 * A file is replaced by renaming a draft in the same folder. The package write-file-atomic is not sufficient: it needs the content in one
 * piece, does not sync the folder, and does not remove the drafts of killed processes.
 */

/** An older draft is abandoned, even if a process with its pid is running, because a draft exists only during one write. */
const MAX_DRAFT_AGE_MS = 60_000;

/** Draft names contain the pid of the writer. Names of draft folders also contain `voxform`, because folders are removed recursively. */
const DRAFTS = {
  file: /^\.(.+)\.([\da-f]{6})[\da-f]{2}\.tmp$/s,
  folder: /^\.(.+)\.voxform-export-([\da-f]{6})[\da-f]{2}$/s,
} as const;

type DraftType = keyof typeof DRAFTS;

/** Returns the path for a draft in the folder of its target. `removeDrafts` removes the draft if its writer was killed. */
export function draftPathFor(target: string, type: DraftType = 'file'): string {
  const unique = (process.pid % 2 ** 24).toString(16).padStart(6, '0') + randomBytes(1).toString('hex');
  const end = type === 'file' ? `${unique}.tmp` : `voxform-export-${unique}`;
  return path.join(path.dirname(target), `.${path.basename(target)}.${end}`);
}

type FileContent = string | Iterable<Buffer>;

interface DraftOptions {
  /** The permissions. Default: 0600. */
  readonly mode?: number | undefined;
  /** The path of the draft, which no other process may use at the same time. Default: the result of `draftPathFor`. */
  readonly draft?: string | undefined;
  /** False for a file that may be lost in a power failure, because it can be created again. */
  readonly isDurable?: boolean | undefined;
  /** The file system functions. Default: the functions of Node. */
  readonly files?: Files | undefined;
}

/**
 * Replaces a file atomically; the result survives a power failure. If this fails, the file is unchanged. No draft remains. Drafts that
 * killed processes left for this file are removed too, unless `draft` is set.
 */
export async function replaceFile(file: string, content: FileContent, options: DraftOptions = {}): Promise<void> {
  const { files = nodeFiles } = options;
  if (options.draft === undefined) await removeDrafts([file]);
  const draft = await writeDraftFor(file, content, options);
  try {
    await files.rename(draft, file);
  } catch (error) {
    await files.unlink(draft).catch(() => undefined);
    throw error;
  }
  if (options.isDurable !== false) await syncFolderOf(files, file);
}

/** Writes a draft in the folder of a file, which can then be renamed to the file. @returns the path of the draft. */
export async function writeDraftFor(
  file: string,
  content: FileContent,
  { mode = 0o600, draft: named, isDurable = true, files = nodeFiles }: DraftOptions = {},
): Promise<string> {
  const draft = named ?? draftPathFor(file);
  if (named !== undefined) await unlinkIfExists(files, named);
  await using handle = await files.open(draft, 'wx', 0o600);
  try {
    await handle.chmod(mode & 0o7777);
    for (const piece of typeof content === 'string' ? [Buffer.from(content)] : content) await writeAll(handle, piece);
    if (isDurable) await handle.sync();
  } catch (error) {
    await files.unlink(draft).catch(() => undefined);
    throw error;
  }
  return draft;
}

/** Removes the drafts of these paths that killed processes left behind. Ignores errors. */
export async function removeDrafts(targets: Iterable<string>, type: DraftType = 'file'): Promise<void> {
  for (const [folder, inFolder] of Map.groupBy(targets, (target) => path.dirname(target))) {
    const names = new Set(inFolder.map((target) => path.basename(target)));
    for (const entry of await readdir(folder).catch(() => [])) {
      const [, name = '', writer = ''] = DRAFTS[type].exec(entry) ?? [];
      if (!names.has(name)) continue;
      const draft = path.join(folder, entry);
      const isStale = await isAbandoned(draft, { type, writer: Number.parseInt(writer, 16) }).catch(() => false);
      if (isStale) await rm(draft, { recursive: type === 'folder', force: true }).catch(() => undefined);
    }
  }
}

async function isAbandoned(draft: string, { type, writer }: { type: DraftType; writer: number }): Promise<boolean> {
  const found = await lstat(draft);
  const hasType = type === 'file' ? found.isFile() : found.isDirectory();
  if (!hasType || (process.getuid !== undefined && found.uid !== process.getuid())) return false;
  // A live pid may belong to another process if the writer ran on another machine or in another container.
  if (!isAlive(writer)) return true;
  return (await clockOf(path.dirname(draft))) - found.mtimeMs > MAX_DRAFT_AGE_MS;
}

/** Returns the time of the file system's clock in milliseconds. It may be the clock of another machine. */
async function clockOf(folder: string): Promise<number> {
  const probe = await writeDraftFor(path.join(folder, 'clock'), '');
  try {
    return (await lstat(probe)).mtimeMs;
  } finally {
    await rm(probe, { force: true });
  }
}
