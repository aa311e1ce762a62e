import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { TextDocument } from 'vscode-languageserver-textdocument';
import { isInside, realPath } from '../manifests/read-file.ts';
import { attempt } from '../problems/attempt.ts';

export interface OpenFile {
  readonly document: TextDocument;
  /** The real path; undefined for a document without a file. */
  readonly file: string | undefined;
}

/** The open documents of the editor, and the URIs that the editor uses for files. */
export class OpenFiles {
  readonly #open = new Map<string, OpenFile>();
  /** The folders of the editor, by real path. */
  readonly #folders = new Map<string, string>();

  addFolder(uri: string): void {
    const folder = pathOf(uri);
    if (folder !== undefined) this.#folders.set(realPath(folder), folder);
  }

  removeFolder(uri: string): void {
    const folder = pathOf(uri);
    for (const [real, shown] of this.#folders) if (shown === folder) this.#folders.delete(real);
  }

  /** Returns true if the folder is open in the editor, or inside a folder that is open. @param folder a real path. */
  isShown(folder: string): boolean {
    return [...this.#folders.keys()].some((real) => isInside(folder, real));
  }

  open(uri: string, languageId: string, version: number, text: string): OpenFile {
    const opened = { document: TextDocument.create(uri, languageId, version, text), file: realFileOf(uri) };
    this.#open.set(uri, opened);
    return opened;
  }

  close(uri: string): void {
    this.#open.delete(uri);
  }

  get(uri: string): OpenFile | undefined {
    return this.#open.get(uri);
  }

  all(): readonly OpenFile[] {
    return [...this.#open.values()];
  }

  /** Returns the texts of the open documents below a folder or in `others`, by real path. */
  textsIn(folder: string, others: readonly string[]): ReadonlyMap<string, string> {
    const texts = new Map<string, string>();
    for (const { document, file } of this.#open.values()) {
      if (file === undefined) continue;
      if (isInside(file, folder) || others.includes(file)) texts.set(file, document.getText());
    }
    return texts;
  }

  /** Returns the open document of a file, if any. @param file a real path. */
  ofFile(file: string): OpenFile | undefined {
    return this.all().find((each) => each.file === file);
  }

  /** Returns the URI that the editor uses for a file. @param file a real path. */
  uriOf(file: string): string {
    const open = this.ofFile(file);
    if (open !== undefined) return open.document.uri;
    for (const [real, shown] of this.#folders) {
      if (isInside(file, real)) return pathToFileURL(path.join(shown, path.relative(real, file))).href;
    }
    return pathToFileURL(file).href;
  }
}

function pathOf(uri: string): string | undefined {
  return uri.startsWith('file:') ? attempt(() => fileURLToPath(uri)) : undefined;
}

/** Returns the real path of a file, which may not exist yet. */
export function realFileOf(uri: string): string | undefined {
  const file = pathOf(uri);
  if (file === undefined) return undefined;
  const real = realPath(file);
  return real === file ? path.join(realPath(path.dirname(file)), path.basename(file)) : real;
}
