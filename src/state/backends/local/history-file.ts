import { appendFile, stat } from 'node:fs/promises';
import type { Files } from '../../../files/files.ts';
import { replaceFile } from '../../../files/replace-file.ts';
import { MOST_HISTORY, newestLines } from '../../run-history.ts';
import { readIfThere } from './file-problem.ts';

function historyPathOf(path: string): string {
  return `${path.replace(/(\.state)?\.json$/, '')}.history.jsonl`;
}

/** Not synced, and never a reason to fail: the state is right without it. */
export async function addToHistory(files: Files, path: string, line: string): Promise<void> {
  const file = historyPathOf(path);
  try {
    await appendFile(file, `${line}\n`, { mode: 0o600 });
    if ((await stat(file)).size <= MOST_HISTORY) return;
    const text = (await files.readFile(file)).toString();
    await replaceFile(file, newestLines(text), { isDurable: false });
  } catch {
    // A history with a gap.
  }
}

export async function readHistory(files: Files, path: string): Promise<string[]> {
  return ((await readIfThere(files, historyPathOf(path)))?.toString() ?? '').split('\n');
}
