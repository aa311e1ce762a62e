import { hash } from 'node:crypto';
import type { ParsedFile } from './parse-documents.ts';

/** Parsed files by their contents. A cache may drop any entry at any time. */
export interface DocumentCache {
  get(key: string): ParsedFile | undefined;
  set(key: string, parsed: ParsedFile): void;
  /** Called after all files of a project were requested. Entries that were not requested may be dropped. Never throws. */
  endRound(): Promise<void>;
}

/** The digest of a text or of bytes. A text must be well-formed Unicode, because lone surrogates would share a key. */
export function documentKey(text: string | Uint8Array): string {
  return hash('sha256', text, 'base64url');
}

export const KEY_LENGTH = 43;

/** Keeps the entries of the last round in memory. */
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
