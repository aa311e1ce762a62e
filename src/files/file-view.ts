import { AsyncLocalStorage } from 'node:async_hooks';
import path from 'node:path';

const current = new AsyncLocalStorage<FileView>();

/** The view that the work under way has of the files; undefined where it sees the disk. */
export function fileView(): FileView | undefined {
  return current.getStore();
}

type Answer = { readonly value: unknown } | { readonly error: unknown };

/** The files as some work is to see them: texts that stand for what is on the disk, and everything else on the disk looked at once. */
export class FileView {
  #answers = new Map<string, Map<string, Answer>>();
  #contents = new Map<string, Uint8Array>();
  #texts: ReadonlyMap<string, Uint8Array> = new Map();

  /** @param texts by real path; the file need not exist. */
  constructor(texts: ReadonlyMap<string, string> = new Map()) {
    this.setTexts(texts);
  }

  /** What has the same text as before keeps its bytes. */
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

  /** Does work that sees the files so. */
  during<T>(work: () => T): T {
    return current.run(this, work);
  }

  /** Looks at the disk anew from now on: at everything, or at what lies on the way to a file and, if it is a folder, below it. */
  forget(file?: string): void {
    const isConcerned = (at: string): boolean =>
      file === undefined ||
      `${at}${path.sep}`.startsWith(`${file}${path.sep}`) ||
      `${file}${path.sep}`.startsWith(`${at}${path.sep}`);
    for (const answers of this.#answers.values())
      for (const at of answers.keys()) if (isConcerned(at)) answers.delete(at);
  }

  /** What a question about a file was answered with before; else its answer now, be it an error. */
  asked<T>(question: string, file: string, ask: () => T): T {
    const answers = this.#answers.get(question) ?? new Map<string, Answer>();
    this.#answers.set(question, answers);
    const answer = answers.get(file) ?? answerOf(ask);
    answers.set(file, answer);
    if ('error' in answer) throw answer.error;
    return answer.value as T;
  }

  /** The bytes of the text that stands for a file, whatever its size. @param file a real path. */
  textOf(file: string): Uint8Array | undefined {
    return this.#texts.get(file);
  }

  /** Names in a folder of files that are not on the disk. */
  namesIn(folder: string): readonly string[] {
    return [...this.#texts.keys()]
      .filter((file) => path.dirname(file) === folder)
      .map((file) => path.basename(file));
  }

  /** Bytes to keep: equal ones of a file are the same object, however often it is read. */
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
