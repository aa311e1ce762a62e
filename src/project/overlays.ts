import picomatch from 'picomatch';
import { suggestAddress } from '../manifests/check-references.ts';
import type { Declaration } from '../manifests/declaration.ts';
import { type KnownNames, unknownKind } from '../manifests/envelope.ts';
import type { DocumentPath, Finding } from '../manifests/finding.ts';
import { isForm, type Layer, mergePatch, type SpecSources, withDefaults } from '../manifests/layers.ts';
import { isObject, type Json } from '../values/json.ts';
import type { Project, WorkspaceConfig } from './project.ts';

export interface OverlayOptions extends KnownNames {
  readonly project: Project;
  readonly workspace: WorkspaceConfig;
}

/** What the project file lays under and over the manifests of one workspace, and which of them it leaves out. */
export class Overlays {
  readonly #options: OverlayOptions;
  readonly #skips: (address: string) => boolean;
  readonly #forms = new Set<unknown>();

  constructor(options: OverlayOptions) {
    const { project, workspace } = options;
    this.#options = options;
    this.#skips = workspace.skip.length === 0 ? () => false : picomatch([...workspace.skip], { dot: true });
    for (const value of [...Object.values(project.defaults), ...Object.values(workspace.patches)]) {
      collectForms(value, this.#forms);
    }
  }

  skips(address: string): boolean {
    return this.#skips(address);
  }

  /** True where the value form stands in the project file, so that its paths begin at the project folder. */
  holds(form: unknown): boolean {
    return this.#forms.has(form);
  }

  /** The spec as written, with defaults under it and the patch over it. */
  lay({ address, kind, home }: Declaration): { readonly value: Json; readonly sources: SpecSources } {
    const { project, workspace } = this.#options;
    const defaults = own(project.defaults, kind.name);
    const patch = own(workspace.patches, address);
    let { value } = home;
    const layers: Layer[] = [home];
    if (defaults !== undefined) {
      value = withDefaults(value, defaults);
      layers.push(this.#layer(defaults, ['defaults', kind.name]));
    }
    if (patch !== undefined) {
      value = mergePatch(value, patch);
      layers.unshift(this.#layer(patch, ['workspaces', workspace.name, 'patches', address]));
    }
    const { value: _, ...vars } = this.#layer(null, ['workspaces', workspace.name, 'vars']);
    return { value, sources: { home, layers, vars } };
  }

  /** Defaults of kinds that do not exist, and patches and exact skips for addresses that no manifest has. */
  findings(declarations: readonly Declaration[]): Finding[] {
    const { project, workspace, kinds } = this.#options;
    const findings: Finding[] = [];
    for (const name of Object.keys(project.defaults)) {
      if (kinds.has(name)) continue;
      const message = unknownKind(name, this.#options);
      findings.push(this.#finding('error', { code: 'unknown-kind', message }, ['defaults', name]));
    }
    const addresses = new Set(declarations.map(({ address }) => address));
    const base = ['workspaces', workspace.name];
    for (const address of Object.keys(workspace.patches)) {
      if (addresses.has(address)) continue;
      const message = `no manifest declares ${address}${suggestAddress(address, addresses)}`;
      findings.push(
        this.#finding('error', { code: 'unknown-address', message }, [...base, 'patches', address]),
      );
    }
    for (const [index, pattern] of workspace.skip.entries()) {
      if (addresses.has(pattern) || picomatch.scan(pattern).isGlob) continue;
      const message = `no manifest declares ${pattern}${suggestAddress(pattern, addresses)}`;
      findings.push(this.#finding('warning', { code: 'unknown-address', message }, [...base, 'skip', index]));
    }
    return findings;
  }

  #layer(value: Json, base: DocumentPath): Layer {
    return { value, file: this.#options.project.file ?? '', document: 0, base };
  }

  #finding(
    severity: 'error' | 'warning',
    problem: { readonly code: string; readonly message: string },
    path: DocumentPath,
  ): Finding {
    const at = typeof path.at(-1) === 'number' ? 'value' : 'key';
    return { severity, ...problem, file: this.#options.project.file ?? '', place: { document: 0, path, at } };
  }
}

function own<T>(record: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

function collectForms(value: unknown, forms: Set<unknown>): void {
  if (isForm(value)) forms.add(value);
  if (Array.isArray(value)) for (const item of value) collectForms(item, forms);
  else if (isObject(value)) for (const item of Object.values(value)) collectForms(item, forms);
}
