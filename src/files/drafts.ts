import { randomBytes } from 'node:crypto';
import { lstat, open, readdir, rm } from 'node:fs/promises';
import path from 'node:path';

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

/** Writes a text to the disk beside a file, so that it can take the file's name in one step. Returns its path. */
export async function writeBeside(file: string, text: string, mode = 0o600): Promise<string> {
  const draft = draftBeside(file);
  const handle = await open(draft, 'wx', 0o600);
  try {
    await handle.writeFile(text);
    await handle.chmod(mode & 0o7777);
    await handle.sync();
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  } finally {
    await handle.close();
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
      const isLeft = await isLeftBehind(draft, { sort, writer: Number.parseInt(writer, 16) }).catch(
        () => false,
      );
      if (isLeft) await rm(draft, { recursive: sort === 'folder', force: true }).catch(() => undefined);
    }
  }
}

async function isLeftBehind(
  draft: string,
  { sort, writer }: { sort: Sort; writer: number },
): Promise<boolean> {
  const found = await lstat(draft);
  const isSort = sort === 'file' ? found.isFile() : found.isDirectory();
  if (!isSort || (process.getuid !== undefined && found.uid !== process.getuid())) return false;
  if (!isRunning(writer)) return true;
  return (await clockOf(path.dirname(draft))) - found.mtimeMs > LEFT_MILLISECONDS;
}

/** On another machine, or in another container, the number may be anyone's. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH');
  }
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
