import type { ComparedDrafts } from '../engine/observe/plan-publications.ts';
import { FileReads } from '../files/input-files.ts';
import { type DocumentCache, DocumentMemory } from '../manifests/parse-cache.ts';
import { RecordCache } from '../platform/record-cache.ts';
import type { RuleSet } from '../policies/rule.ts';
import type { Desired, ProjectConfig, WorkspaceConfig } from '../project/project.ts';
import { createCachingParser, type parseState } from '../state/document-text.ts';

/** The files that a load depends on, as absolute paths. */
export interface InputFiles {
  /** Folders that are searched for manifests, with all subfolders. */
  readonly folders: readonly string[];
  /** Individual files, which need not exist. */
  readonly files: readonly string[];
  /** Folders with one file per secret. */
  readonly secretFolders: readonly string[];
}

/** The result of a load, after all secrets were read. */
export interface LoadedFiles {
  readonly project: ProjectConfig;
  readonly workspace: WorkspaceConfig;
  readonly desired: Desired;
  readonly inputs: InputFiles;
  readonly ruleSet: RuleSet;
}

/** Caches the last load of a workspace until one of the loaded files changes. */
export class LastLoad {
  /** Parses the state. If the text is equal to the last one, returns the last result. */
  readonly parseState: typeof parseState = (bytes, ...more) => {
    this.#stateBytes = bytes.length;
    return this.#parseState(bytes, ...more);
  };
  readonly comparedDrafts: ComparedDrafts;
  readonly answers = new RecordCache();
  readonly #parseState = createCachingParser();
  #stateBytes = 0;
  readonly #documents: DocumentCache;
  readonly #now: (() => number) | undefined;
  #last: { readonly key: string; readonly seen: FileReads; readonly load: LoadedFiles } | undefined;

  /** @param now returns the time of the file system's clock. */
  constructor({
    documents = new DocumentMemory(),
    comparedDrafts = new Map(),
    now,
  }: {
    readonly documents?: DocumentCache;
    readonly comparedDrafts?: ComparedDrafts | undefined;
    readonly now?: () => number;
  } = {}) {
    this.comparedDrafts = comparedDrafts;
    this.#documents = documents;
    this.#now = now;
  }

  /** The approximate size in bytes of the files, the state and the records. */
  get bytes(): number {
    return (this.#last?.seen.bytes ?? 0) + this.#stateBytes + this.answers.characters;
  }

  /** Returns the cached load, or loads again if a file or the key changed. @param key must not depend on the contents of files. */
  async load(key: string, read: (documents: DocumentCache) => Promise<LoadedFiles>): Promise<LoadedFiles> {
    const last = this.#last?.key === key ? this.#last : undefined;
    // A change of a file is detected. A change of a secret in a command or a key store is not.
    if (last?.load.workspace.secrets.isLocal && last.seen.isUnchanged()) return last.load;
    this.#last = undefined;
    const files = new FileReads(this.#now);
    const load = await files.during(() => read(this.#documents));
    this.#last = { key, seen: files, load };
    return load;
  }
}
