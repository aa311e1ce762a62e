import { createHash } from 'node:crypto';
import type { ParsedFile } from './parse-documents.ts';

/** Files that were parsed before, by what they held. A member may forget anything at any time. */
export interface DocumentCache {
  get(key: string): ParsedFile | undefined;
  set(key: string, parsed: ParsedFile): void;
}

/** The key of a text: equal texts have the same, others never. */
export function documentKey(text: string): string {
  return createHash('sha256').update(text).digest('base64');
}

/** Keeps in memory what the last two rounds of reading have asked for. */
export class DocumentMemory implements DocumentCache {
  #current = new Map<string, ParsedFile>();
  #last: ReadonlyMap<string, ParsedFile> = new Map();

  /** To be called before all files are read once more: what the round before did not ask for is forgotten. */
  beginRound(): void {
    this.#last = this.#current;
    this.#current = new Map();
  }

  get(key: string): ParsedFile | undefined {
    const known = this.#current.get(key) ?? this.#last.get(key);
    if (known !== undefined) this.#current.set(key, known);
    return known;
  }

  set(key: string, parsed: ParsedFile): void {
    this.#current.set(key, parsed);
  }
}
