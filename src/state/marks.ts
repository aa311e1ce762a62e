import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { makeFolders } from '../files/files.ts';
import { replaceFile } from '../files/replace-file.ts';
import { normalizedBaseUrl } from '../platform/base-url.ts';
import type { StateDocument } from './state-document.ts';

const mark = z.object({
  serial: z.int().min(0),
  write: z.string(),
  /** Absolute path of a local state; the location of other states. */
  path: z.string(),
  /** Base URL of the platform, normalized; absent if unknown. An absent URL matches every platform. */
  base_url: z.string().transform(normalizedBaseUrl).optional(),
});

/** The last write of a state that this machine has seen. Marks are stored separately, because Git may restore an older state. */
export type StateMark = Readonly<z.infer<typeof mark>>;

/** True if `last` is a later write than the document, or another write with the same serial. */
export function isSuperseded(
  { serial, write }: Pick<StateDocument, 'serial' | 'write'>,
  last: Pick<StateMark, 'serial' | 'write'>,
): boolean {
  return last.serial > serial || (last.serial === serial && last.write !== write);
}

export type Marks = ReturnType<typeof createMarks>;

interface MarksOptions {
  /** Absolute path. The folder is created if it is missing. */
  readonly folder: string;
  /** Base URL of the platform, normalized; empty if it is not set. */
  readonly baseUrl?: string | undefined;
  debug(message: string): void;
}

/** Stores marks in files of the user. No call rejects, because without marks voxform merely detects fewer mistakes. */
export function createMarks({ folder, baseUrl, debug }: MarksOptions) {
  const platform = baseUrl || undefined;
  const fileOf = ({ lineage, workspace_id }: StateDocument): string =>
    path.join(folder, `${partOf(workspace_id)}-${partOf(lineage)}.json`);
  const readFrom = async (file: string): Promise<StateMark | undefined> => {
    try {
      return mark.parse(JSON.parse(await readFile(file, 'utf8')));
    } catch (error) {
      debug(`cannot read the record of the last state: ${String(error)}`);
      return undefined;
    }
  };
  const read = (document: StateDocument) => readFrom(fileOf(document));
  return {
    read,
    /** Returns the marks of all states of a workspace on this platform. */
    async of(workspaceId: string): Promise<readonly StateMark[]> {
      const names = await readdir(folder).catch(() => []);
      const prefix = `${partOf(workspaceId)}-`;
      const own = names.filter((name) => name.startsWith(prefix) && name.endsWith('.json'));
      const marks = await Promise.all(own.sort().map((name) => readFrom(path.join(folder, name))));
      const isOther = (base_url: string | undefined): boolean =>
        base_url !== undefined && platform !== undefined && base_url !== platform;
      return marks.filter((each) => each !== undefined).filter((each) => !isOther(each.base_url));
    },
    /** Stores the mark of a write unless a higher serial is known. */
    async raise(document: StateDocument, statePath: string): Promise<void> {
      const { serial, write } = document;
      try {
        if (((await read(document))?.serial ?? 0) > serial) return;
        await makeFolders(folder, { mode: 0o700 });
        const written = { serial, write, path: statePath, base_url: platform };
        await replaceFile(fileOf(document), `${JSON.stringify(written)}\n`);
      } catch (error) {
        debug(`cannot write the record of the last state: ${String(error)}`);
      }
    },
  };
}

/** Converts a string to a part of a file name. */
function partOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 24);
}
