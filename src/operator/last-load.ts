import type { ComparedDrafts } from '../engine/observe/plan-publications.ts';
import { FileReads } from '../files/input-files.ts';
import { type DocumentCache, DocumentMemory } from '../manifests/parse-cache.ts';
import { RecordCache } from '../platform/record-cache.ts';
import type { RuleSet } from '../policies/rule.ts';
import type { Desired, ProjectConfig, WorkspaceConfig } from '../project/project.ts';
import { createCachingParser } from '../state/document-text.ts';

/** The files that a load depends on, as absolute paths. */
export interface InputFiles {
  /** Folders that are searched for manifests, with all subfolders. */
  readonly folders: readonly string[];
  /** Individual files, existing or not. */
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

/** The last load of a workspace, valid until any of its files changes. */
export class LastLoad {
  /** Parses the state, or returns the last result for an equal text. */
  readonly parseState = createCachingParser();
  readonly comparedDrafts: ComparedDrafts;
  readonly answers = new RecordCache();
  readonly #documents: DocumentCache;
  readonly #now: (() => number) | undefined;
  #last: { readonly key: string; readonly seen: FileReads; readonly load: LoadedFiles } | undefined;

  /** @param now the clock of the file system. */
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

  /** The approximate size of the files in bytes. */
  get bytes(): number {
    return this.#last?.seen.bytes ?? 0;
  }

  /** @param key equal for loads that differ only in the contents of files. */
  async load(key: string, read: (documents: DocumentCache) => Promise<LoadedFiles>): Promise<LoadedFiles> {
    const last = this.#last?.key === key ? this.#last : undefined;
    // Changed files are detected, but not changed secrets of commands and key stores.
    if (last?.load.workspace.secrets.isLocal && last.seen.isUnchanged()) return last.load;
    this.#last = undefined;
    const files = new FileReads(this.#now);
    const load = await files.during(() => read(this.#documents));
    this.#last = { key, seen: files, load };
    return load;
  }
}
