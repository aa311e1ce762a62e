import type { Declaration } from '../manifests/declaration.ts';
import type { SpecSources } from '../manifests/layers.ts';
import type { Address, Resource } from '../manifests/resource.ts';
import type { Desired, ProjectConfig, WorkspaceConfig } from '../project/project.ts';
import type { ReadDeclarations } from '../project/read-declarations.ts';
import type { ProjectSnapshot } from './snapshot.ts';

interface Loaded {
  /** Undefined if the project file is invalid. */
  readonly project: ProjectConfig | undefined;
  readonly workspace: WorkspaceConfig | undefined;
  readonly read: ReadDeclarations | undefined;
  readonly desired: Desired;
}

type Good = Omit<ProjectSnapshot, 'folder' | 'diagnostics' | 'textOf' | 'namesOnPlatform' | 'checkedWith'>;

/** A project before its first load. */
export const NOT_LOADED: Good = {
  project: undefined,
  workspace: undefined,
  files: [],
  declarations: [],
  resources: [],
  sources: new Map(),
};

/** Keeps the last valid load of a project. */
export class LastGood {
  #good = NOT_LOADED;

  /** A load, with broken parts replaced by their last valid form. */
  after({ project, workspace, read, desired }: Loaded): Good {
    if (project === undefined || read === undefined) return this.#good;
    const broken = new Set(read.findings.flatMap(({ severity, file }) => (severity === 'error' ? [file] : [])));
    const declared = new Set(read.declarations.map(({ address }) => address));
    const lost = this.#good.declarations.filter(
      ({ address, source }) => broken.has(source.file) && !declared.has(address),
    );
    const { resources, sources } = this.#withLost(lost, desired);
    this.#good = {
      project,
      workspace,
      files: [...new Set([...read.declarations.map(({ source }) => source.file), ...broken])],
      declarations: [...read.declarations, ...lost],
      resources,
      sources,
    };
    return this.#good;
  }

  #withLost(
    lost: readonly Declaration[],
    { resources, sources = new Map() }: Desired,
  ): { resources: readonly Resource[]; sources: ReadonlyMap<Address, SpecSources> } {
    if (lost.length === 0) return { resources, sources };
    const addresses = new Set(lost.map(({ address }) => address));
    const kept = this.#good.resources.filter(({ address }) => addresses.has(address));
    const places = new Map(sources);
    for (const { address } of kept) {
      const known = this.#good.sources.get(address);
      if (known !== undefined) places.set(address, known);
    }
    return { resources: [...resources, ...kept], sources: places };
  }
}
