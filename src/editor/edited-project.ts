import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { FileView } from '../files/file-view.ts';
import { kinds, lookups } from '../kinds/index.ts';
import type { Declaration, SpecSources } from '../manifests/layers.ts';
import { readTextFile, realPath } from '../manifests/read-file.ts';
import type { Address, Resource } from '../manifests/resource.ts';
import type { Environment } from '../manifests/secret-reader.ts';
import type { ExternalPolicies } from '../policies/rule.ts';
import { UserError } from '../problems/user-error.ts';
import { withEnvFile } from '../project/env-file.ts';
import { loadProject } from '../project/load-project.ts';
import type { Desired, ProjectConfig, WorkspaceConfig } from '../project/project.ts';
import { LoadMemory, type ReadDeclarations } from '../project/read-declarations.ts';
import { knownNames } from '../runs/names-on-platform.ts';
import { validateProject } from '../runs/validate-project.ts';
import type { Redactor } from '../values/redactor.ts';
import { Secret, symbolicLeaves } from '../values/value.ts';
import type { CheckedTexts, ProjectSnapshot } from './snapshot.ts';

export interface EditedProjectOptions {
  /** A real path. */
  readonly folder: string;
  readonly env: Environment;
  readonly usesEnvFile: boolean;
  /** False for an untrusted project. Its secrets are not read. */
  readonly readsSecrets: boolean;
  readonly workspace: string | undefined;
  readonly policies: ExternalPolicies | undefined;
  /** The absolute path of the cache folder for parsed manifests and platform names. Undefined disables the cache. */
  readonly cacheFolder: string | undefined;
  readonly redactor: Redactor;
  readonly onNotice: (text: string) => void;
}

/** A project that is open in an editor. Each load parses only changed files. */
export class EditedProject {
  readonly #options: EditedProjectOptions;
  readonly #view = new FileView();
  readonly #lastValid = new LastValid();
  #memory = new LoadMemory();
  readonly #redacted = new WeakSet<Resource>();
  #env: Environment | undefined;
  #isFirst = true;

  constructor(options: EditedProjectOptions) {
    this.#options = options;
  }

  /** The environment, including `.env`, as of the last load. */
  get env(): Environment {
    return this.#env ?? this.#options.env;
  }

  /** Drops cached reads, so that the next load reads the disk: the reads that one file affects, or all reads. */
  forget(file?: string): void {
    this.#view.forget(file);
  }

  /**
   * Loads the project. Loads must not overlap.
   * @param texts replacements for the contents of files, by real path.
   * @throws UserError if aborted, or if the project cannot be loaded at all.
   */
  load(texts: ReadonlyMap<string, string>, signal: AbortSignal): Promise<ProjectSnapshot> {
    this.#view.setTexts(texts);
    return this.#view.during(async () => {
      const { folder, cacheFolder } = this.#options;
      const env = this.#environment();
      const validated = await this.#validate(env, signal);
      // Only the first load reads the disk cache. Text that is being typed is not worth caching on disk.
      this.#isFirst = false;
      const { project, read, workspaces } = validated;
      const [{ workspace, ...desired } = { workspace: undefined, resources: [], diagnostics: [] }] = workspaces;
      const { diagnostics } = desired;
      this.#redactSecrets(desired.resources);
      const valid = this.#lastValid.after({ project, workspace, read, desired });
      const textOf = (file: string): string | undefined => this.#textOf(path.resolve(folder, file));
      const checkedWith = (other: ReadonlyMap<string, string>) => this.#checkedWith(other, env);
      const namesOnPlatform = (lookup: string): readonly string[] =>
        valid.workspace === undefined ? [] : knownNames({ cacheFolder, workspace: valid.workspace, lookup });
      return { folder, ...valid, diagnostics, textOf, namesOnPlatform, checkedWith };
    });
  }

  async #validate(env: Environment, signal: AbortSignal): Promise<CheckedTexts> {
    const { folder: cwd, workspace, policies, cacheFolder: folderOfCache, onNotice } = this.#options;
    const mode = this.#mode;
    const cacheFolder = this.#isFirst ? folderOfCache : undefined;
    const known = { cwd, env, cacheFolder, kinds, lookups, policies, signal, memory: this.#memory };
    const validate = (name: string | undefined) =>
      validateProject({ ...known, names: [name], mode, withSources: true });
    try {
      return await validate(workspace);
    } catch (error) {
      if (!(error instanceof UserError) || signal.aborted) throw error;
      // No workspace is selected, or the selected one does not exist.
      const { workspaces, defaultWorkspace } = await loadProject({
        cwd,
        env,
        readsElsewhere: this.#options.readsSecrets,
      });
      const [first = defaultWorkspace] = defaultWorkspace === undefined ? Object.keys(workspaces) : [];
      if (first === undefined) throw error;
      const validated = await validate(first);
      onNotice(`${error.message}: the editor uses ${first}. ${error.hint ?? ''}`.trim());
      return validated;
    }
  }

  #checkedWith(texts: ReadonlyMap<string, string>, env: Environment): Promise<CheckedTexts> {
    const { folder: cwd, policies } = this.#options;
    const view = this.#view.with(new Map([...texts].map(([file, text]) => [realPath(path.resolve(cwd, file)), text])));
    const memory = this.#memory.forOtherWorkspace();
    return view.during(() =>
      validateProject({ cwd, env, kinds, lookups, policies, memory, names: 'all', mode: this.#mode }),
    );
  }

  get #mode(): 'offline' | 'without-secrets' {
    return this.#options.readsSecrets ? 'offline' : 'without-secrets';
  }

  #redactSecrets(resources: readonly Resource[]): void {
    for (const resource of resources) {
      if (this.#redacted.has(resource)) continue;
      this.#redacted.add(resource);
      for (const leaf of symbolicLeaves(resource.spec)) {
        if (leaf instanceof Secret && leaf.isSet) this.#options.redactor.add(leaf.reveal());
      }
    }
  }

  #environment(): Environment {
    const { folder, env: own, usesEnvFile } = this.#options;
    const env = usesEnvFile ? withEnvFile(folder, own) : own;
    if (this.#env !== undefined && !isDeepStrictEqual({ ...env }, { ...this.#env })) this.#memory = new LoadMemory();
    this.#env = env;
    return env;
  }

  #textOf(file: string): string | undefined {
    return this.#view.during(() => {
      const read = readTextFile(file);
      return 'text' in read ? read.text : undefined;
    });
  }
}

interface LoadResult {
  /** Undefined if the project file is invalid. */
  readonly project: ProjectConfig | undefined;
  readonly workspace: WorkspaceConfig | undefined;
  readonly read: ReadDeclarations | undefined;
  readonly desired: Desired;
}

type ValidParts = Omit<ProjectSnapshot, 'folder' | 'diagnostics' | 'textOf' | 'namesOnPlatform' | 'checkedWith'>;

/** A project before its first load. */
export const NOT_LOADED: ValidParts = {
  project: undefined,
  workspace: undefined,
  files: [],
  declarations: [],
  resources: [],
  sources: new Map(),
};

/** Keeps the last valid load of a project. */
class LastValid {
  #valid = NOT_LOADED;

  /** Returns the result of a load. Invalid parts are replaced by their last valid form. */
  after({ project, workspace, read, desired }: LoadResult): ValidParts {
    if (project === undefined || read === undefined) return this.#valid;
    const broken = new Set(read.findings.flatMap(({ severity, file }) => (severity === 'error' ? [file] : [])));
    const declared = new Set(read.declarations.map(({ address }) => address));
    const lost = this.#valid.declarations.filter(
      ({ address, source }) => broken.has(source.file) && !declared.has(address),
    );
    const { resources, sources } = this.#withLost(lost, desired);
    this.#valid = {
      project,
      workspace,
      files: [...new Set([...read.declarations.map(({ source }) => source.file), ...broken])],
      declarations: [...read.declarations, ...lost],
      resources,
      sources,
    };
    return this.#valid;
  }

  #withLost(
    lost: readonly Declaration[],
    { resources, sources = new Map() }: Desired,
  ): { resources: readonly Resource[]; sources: ReadonlyMap<Address, SpecSources> } {
    if (lost.length === 0) return { resources, sources };
    const addresses = new Set(lost.map(({ address }) => address));
    const lastResources = this.#valid.resources.filter(({ address }) => addresses.has(address));
    const allSources = new Map(sources);
    for (const { address } of lastResources) {
      const known = this.#valid.sources.get(address);
      if (known !== undefined) allSources.set(address, known);
    }
    return { resources: [...resources, ...lastResources], sources: allSources };
  }
}
