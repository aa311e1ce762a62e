import { hash } from 'node:crypto';
import type { ParsedFile } from './parse-documents.ts';

/** Files that were parsed before, by what they held. A member may forget anything at any time. */
export interface DocumentCache {
  get(key: string): ParsedFile | undefined;
  set(key: string, parsed: ParsedFile): void;
  /** To be called when all files of a project were asked for: what this round did not ask for may be forgotten. Never throws. */
  endRound(): Promise<void>;
}

/** The key of a text, or of its bytes: equal ones have the same, others never. A text must be well-formed, as every text of a file is. */
export function documentKey(text: string | Uint8Array): string {
  return hash('sha256', text, 'base64url');
}

/** Characters in every key. */
export const KEY_LENGTH = 43;

/** Keeps in memory what the last round of reading has asked for. */
export class DocumentMemory implements DocumentCache {
  #current = new Map<string, ParsedFile>();
  #last: ReadonlyMap<string, ParsedFile> = new Map();

  get(key: string): ParsedFile | undefined {
    const known = this.#current.get(key) ?? this.#last.get(key);
    if (known !== undefined) this.#current.set(key, known);
    return known;
  }

  set(key: string, parsed: ParsedFile): void {
    this.#current.set(key, parsed);
  }

  async endRound(): Promise<void> {
    this.#last = this.#current;
    this.#current = new Map();
  }
}
