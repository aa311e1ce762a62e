import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import type { StateDocument } from './document.ts';

const mark = z.object({
  serial: z.int().min(0),
  write: z.string(),
  /** Absolute, of the state that was written. */
  path: z.string(),
});

/** The last write of a state that this machine has seen, kept apart from the state: it stays when Git puts an older one back. */
export type Mark = Readonly<z.infer<typeof mark>>;

/** Neither ever rejects: a machine that keeps no marks works as well, and only notices less. */
export interface Marks {
  read(document: StateDocument): Promise<Mark | undefined>;
  /** Keeps the write unless a higher one is known. */
  raise(document: StateDocument, statePath: string): Promise<void>;
}

export interface MarksOptions {
  /** Absolute; made where it is not there. */
  readonly folder: string;
  debug(message: string): void;
}

/** Marks in files of a user's own. */
export function createMarks({ folder, debug }: MarksOptions): Marks {
  const fileOf = ({ lineage, workspace_id }: StateDocument): string => {
    const name = createHash('sha256')
      .update(JSON.stringify([workspace_id, lineage]))
      .digest('hex');
    return path.join(folder, `${name.slice(0, 32)}.json`);
  };
  const read = async (document: StateDocument): Promise<Mark | undefined> => {
    try {
      return mark.parse(JSON.parse(await readFile(fileOf(document), 'utf8')));
    } catch (error) {
      debug(`no mark of the state is read: ${String(error)}`);
      return undefined;
    }
  };
  return {
    read,
    async raise(document, statePath) {
      const { serial, write } = document;
      try {
        if (((await read(document))?.serial ?? 0) > serial) return;
        await mkdir(folder, { recursive: true, mode: 0o700 });
        const file = fileOf(document);
        const fresh = `${file}.${randomUUID()}`;
        await writeFile(fresh, `${JSON.stringify({ serial, write, path: statePath })}\n`, { mode: 0o600 });
        await rename(fresh, file);
      } catch (error) {
        debug(`no mark of the state is kept: ${String(error)}`);
      }
    },
  };
}

/** Where programs of this user keep what must outlast a project; undefined where the environment names no such place. */
export function marksFolder(env: Readonly<Record<string, string | undefined>>): string | undefined {
  const { XDG_STATE_HOME: state, LOCALAPPDATA: local, HOME: home } = env;
  const base = [state, local, home && path.join(home, '.local', 'state')].find(
    (folder) => folder !== undefined && path.isAbsolute(folder),
  );
  return base && path.join(base, 'voxform', 'states');
}
