import { createHash } from 'node:crypto';
import path from 'node:path';
import { onlyDocument } from '../../manifests/parse-documents.ts';
import { isInside, readFileBytes, readTextFile } from '../../manifests/read-file.ts';
import { UserError } from '../../problems/user-error.ts';
import { projectFileIn } from '../../project/find-project.ts';
import { changedSettings } from '../../project/trusted-settings.ts';
import { isObject, type Json } from '../../values/json.ts';

interface Settings {
  readonly document: Json;
  /** Digests of the files of the project that its commands for secrets name. */
  readonly programs: Json;
}

/**
 * Where the key goes and which programs run, as a person started the server with it. An assistant may edit files, but an edit must not send
 * the key elsewhere or run a program.
 */
export class PinnedSettings {
  readonly #folder: string;
  readonly #pinned: Settings;

  constructor(folder: string) {
    this.#folder = folder;
    this.#pinned = settingsIn(folder);
  }

  /** @throws UserError if the settings of a workspace changed since. */
  check(): void {
    const [before, now] = [this.#pinned, settingsIn(this.#folder)];
    const workspaces = isObject(now.document) && isObject(now.document.workspaces) ? now.document.workspaces : {};
    const changed = new Set(
      [...Object.keys(workspaces), ''].flatMap((name) => changedSettings(before.document, now.document, name)),
    );
    if (JSON.stringify(before.programs) !== JSON.stringify(now.programs)) changed.add('a command of secrets');
    if (changed.size === 0) return;
    throw new UserError(
      `voxform.yaml decides where the API key goes, and changed since the server started: ${[...changed].join(', ')}`,
      {
        hint: 'Ask the user to review the change and to restart this server. validate, explain, schema and format still work.',
      },
    );
  }
}

/** A file that cannot be read or parsed has no settings: the tools report its problems. */
function settingsIn(folder: string): Settings {
  const file = projectFileIn(folder);
  const read = file === undefined ? undefined : readTextFile(path.join(folder, file), folder);
  const text = read !== undefined && 'text' in read ? read.text : '';
  const document = onlyDocument(text, { file: file ?? '', name: 'the project file' }).value ?? null;
  const words = [...new Set(wordsOfCommands(document))].sort();
  return { document, programs: words.flatMap((word) => digestOf(folder, word)) };
}

/** The words of all `command: [...]`, wherever they are. */
function wordsOfCommands(value: Json): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  const { command } = Array.isArray(value) ? {} : (value as { readonly command?: Json });
  const own = Array.isArray(command) ? command.filter((word) => typeof word === 'string') : [];
  return [...own, ...Object.values(value).flatMap((part: Json) => wordsOfCommands(part))];
}

function digestOf(folder: string, word: string): readonly string[] {
  const file = path.resolve(folder, word);
  const read = isInside(file, folder) && file !== folder ? readFileBytes(file) : undefined;
  if (read === undefined || 'problem' in read) return [];
  return [`${word} ${createHash('sha256').update(read.bytes).digest('hex')}`];
}
