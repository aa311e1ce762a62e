import type { ComparedDrafts } from '../engine/observe/plan-publications.ts';
import { SeenFiles } from '../files/input-files.ts';
import { type DocumentCache, DocumentMemory } from '../manifests/document-cache.ts';
import { AnswerMemory } from '../platform/answer-memory.ts';
import type { RuleSet } from '../policies/rule.ts';
import type { Desired, ProjectConfig, WorkspaceConfig } from '../project/project.ts';
import { parserWithMemory } from '../state/document-text.ts';

/** The files that a load depends on, as absolute paths. */
export interface InputFiles {
  /** In which manifests are looked for, with all folders below them. */
  readonly folders: readonly string[];
  /** Files of their own, whether they exist or not. */
  readonly files: readonly string[];
  /** A folder with a file for each secret. */
  readonly secretsDir: string | undefined;
}

/** What files say, all secrets read. */
export interface LoadedFiles {
  readonly project: ProjectConfig;
  readonly workspace: WorkspaceConfig;
  readonly desired: Desired;
  readonly inputs: InputFiles;
  readonly ruleSet: RuleSet;
}

/** What a workspace was loaded as, for as long as every file would be found as it was. */
export class LastLoad {
  /** Parses the state; one that did not change is known. */
  readonly parseState = parserWithMemory();
  readonly comparedDrafts: ComparedDrafts;
  readonly answers = new AnswerMemory();
  readonly #documents: DocumentCache;
  readonly #now: (() => number) | undefined;
  #last: { readonly key: string; readonly seen: SeenFiles; readonly load: LoadedFiles } | undefined;

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

  /** About how many bytes the files had. */
  get bytes(): number {
    return this.#last?.seen.bytes ?? 0;
  }

  /** @param key equal for loads that differ in nothing but what files hold. */
  async load(key: string, read: (documents: DocumentCache) => Promise<LoadedFiles>): Promise<LoadedFiles> {
    if (this.#last?.key === key && this.#last.seen.isUnchanged()) return this.#last.load;
    this.#last = undefined;
    const seen = new SeenFiles(this.#now);
    const load = await seen.during(() => read(this.#documents));
    this.#last = { key, seen, load };
    return load;
  }
}
