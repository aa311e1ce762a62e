import path from 'node:path';
import { EditedProject } from '../../src/editor/edited-project.ts';
import type { ProjectSnapshot } from '../../src/editor/snapshot.ts';
import type { Environment } from '../../src/manifests/secret-reader.ts';
import { Redactor } from '../../src/values/redactor.ts';

interface Opening {
  readonly workspace?: string;
  readonly env?: Environment;
  readonly cacheFolder?: string;
  /** The text of open files by name. */
  readonly texts?: Readonly<Record<string, string>>;
  /** The text of files in an earlier load, which may have been valid. */
  readonly before?: Readonly<Record<string, string>>;
}

/** Returns the project in a folder, as an editor has it. `textOf` returns later changes of `texts`. */
export async function openSnapshot(
  folder: string,
  { workspace, env = {}, cacheFolder, texts = {}, before }: Opening = {},
): Promise<ProjectSnapshot> {
  const project = new EditedProject({
    folder,
    env,
    usesEnvFile: false,
    readsSecrets: true,
    workspace,
    policies: undefined,
    cacheFolder,
    redactor: new Redactor(),
    onNotice: () => undefined,
  });
  const load = (open: Readonly<Record<string, string>>): Promise<ProjectSnapshot> =>
    project.load(
      new Map(Object.entries(open).map(([file, text]) => [path.join(folder, file), text])),
      new AbortController().signal,
    );
  if (before !== undefined) await load(before);
  const snapshot = await load(texts);
  return { ...snapshot, textOf: (file) => texts[file] ?? snapshot.textOf(file) };
}
