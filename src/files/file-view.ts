import { AsyncLocalStorage } from 'node:async_hooks';
import path from 'node:path';

const current = new AsyncLocalStorage<FileView>();

/** The view of the files for the current work; undefined if that is the disk. */
export function fileView(): FileView | undefined {
  return current.getStore();
}

type Answer = { readonly value: unknown } | { readonly error: unknown };

/** A consistent view of files: given texts replace those on the disk, and everything else is read from the disk once. */
export class FileView {
  #answers = new Map<string, Map<string, Answer>>();
  #contents = new Map<string, Uint8Array>();
  #texts: ReadonlyMap<string, Uint8Array> = new Map();

  /** @param texts by real path; the file need not exist. */
  constructor(texts: ReadonlyMap<string, string> = new Map()) {
    this.setTexts(texts);
  }

  /** An unchanged text keeps its bytes. */
  setTexts(texts: ReadonlyMap<string, string>): void {
    const known = this.#texts;
    this.#texts = new Map([...texts].map(([file, text]) => [file, same(known.get(file), Buffer.from(text))]));
  }

  /** The same files with some more texts. */
  with(texts: ReadonlyMap<string, string>): FileView {
    const view = new FileView(texts);
    view.#texts = new Map([...this.#texts, ...view.#texts]);
    view.#answers = this.#answers;
    view.#contents = this.#contents;
    return view;
  }

  /** Runs work with this view. */
  during<T>(work: () => T): T {
    return current.run(this, work);
  }

  /** Drops cached reads from the disk: all of them, or those of a file, its parent folders and its contents. */
  forget(file?: string): void {
    const isConcerned = (at: string): boolean =>
      file === undefined ||
      `${at}${path.sep}`.startsWith(`${file}${path.sep}`) ||
      `${file}${path.sep}`.startsWith(`${at}${path.sep}`);
    for (const answers of this.#answers.values())
      for (const at of answers.keys()) if (isConcerned(at)) answers.delete(at);
  }

  /** The cached result of a query on a file, which may be an error; else the current result. */
  asked<T>(question: string, file: string, ask: () => T): T {
    const answers = this.#answers.get(question) ?? new Map<string, Answer>();
    this.#answers.set(question, answers);
    const answer = answers.get(file) ?? answerOf(ask);
    answers.set(file, answer);
    if ('error' in answer) throw answer.error;
    return answer.value as T;
  }

  /** The bytes of a given text. @param file a real path. */
  textOf(file: string): Uint8Array | undefined {
    return this.#texts.get(file);
  }

  /** Names of the given texts in a folder. */
  namesIn(folder: string): readonly string[] {
    return [...this.#texts.keys()].filter((file) => path.dirname(file) === folder).map((file) => path.basename(file));
  }

  /** Returns the same object for equal bytes of a file. */
  kept(file: string, bytes: Uint8Array): Uint8Array {
    const kept = same(this.#contents.get(file), bytes);
    this.#contents.set(file, kept);
    return kept;
  }
}

function answerOf(ask: () => unknown): Answer {
  try {
    return { value: ask() };
  } catch (error) {
    return { error };
  }
}

function same(before: Uint8Array | undefined, now: Uint8Array): Uint8Array {
  if (before !== undefined && Buffer.compare(before, now) === 0) return before;
  return Uint8Array.from(now);
}
