import { AsyncLocalStorage } from 'node:async_hooks';
import path from 'node:path';

const current = new AsyncLocalStorage<FileView>();

/** Returns the view of the current work, or undefined if the work reads directly from the disk. */
export function fileView(): FileView | undefined {
  return current.getStore();
}

type Answer = { readonly value: unknown } | { readonly error: unknown };

/** A consistent view of files. The given texts override the files on the disk. All other files are read from the disk only once. */
export class FileView {
  #answers = new Map<string, Map<string, Answer>>();
  #contents = new Map<string, Uint8Array>();
  #texts: ReadonlyMap<string, Uint8Array> = new Map();

  /** @param texts the given texts, by real path. The files need not exist. */
  constructor(texts: ReadonlyMap<string, string> = new Map()) {
    this.setTexts(texts);
  }

  /** Replaces all given texts. An unchanged text keeps its `Uint8Array`. */
  setTexts(texts: ReadonlyMap<string, string>): void {
    const known = this.#texts;
    this.#texts = new Map([...texts].map(([file, text]) => [file, reuseEqual(known.get(file), Buffer.from(text))]));
  }

  /** Returns a view with additional texts that shares the cache. */
  with(texts: ReadonlyMap<string, string>): FileView {
    const view = new FileView(texts);
    view.#texts = new Map([...this.#texts, ...view.#texts]);
    view.#answers = this.#answers;
    view.#contents = this.#contents;
    return view;
  }

  during<T>(work: () => T): T {
    return current.run(this, work);
  }

  /** Drops cached reads: all reads, or only the reads of a path, of its parent folders and of everything below the path. */
  forget(file?: string): void {
    const isAffected = (at: string): boolean =>
      file === undefined ||
      `${at}${path.sep}`.startsWith(`${file}${path.sep}`) ||
      `${file}${path.sep}`.startsWith(`${at}${path.sep}`);
    for (const answers of this.#answers.values())
      for (const at of answers.keys()) if (isAffected(at)) answers.delete(at);
  }

  /** Returns the cached result of a query on a file, or throws its cached error. Runs the query if it is not cached. */
  cached<T>(question: string, file: string, query: () => T): T {
    const answers = this.#answers.get(question) ?? new Map<string, Answer>();
    this.#answers.set(question, answers);
    const answer = answers.get(file) ?? answerOf(query);
    answers.set(file, answer);
    if ('error' in answer) throw answer.error;
    return answer.value as T;
  }

  /** Returns the bytes of a given text. @param file a real path. */
  textOf(file: string): Uint8Array | undefined {
    return this.#texts.get(file);
  }

  /** Returns the file names of the given texts in a folder. */
  namesIn(folder: string): readonly string[] {
    return [...this.#texts.keys()].filter((file) => path.dirname(file) === folder).map((file) => path.basename(file));
  }

  /** Returns the previous `Uint8Array` of a file if the bytes are equal, so that callers can compare by identity. */
  reuseBytes(file: string, bytes: Uint8Array): Uint8Array {
    const content = reuseEqual(this.#contents.get(file), bytes);
    this.#contents.set(file, content);
    return content;
  }
}

function answerOf(query: () => unknown): Answer {
  try {
    return { value: query() };
  } catch (error) {
    return { error };
  }
}

function reuseEqual(before: Uint8Array | undefined, now: Uint8Array): Uint8Array {
  if (before !== undefined && Buffer.compare(before, now) === 0) return before;
  return Uint8Array.from(now);
}
