import { isDeepStrictEqual } from 'node:util';
import type { Checked, Declaration } from '../manifests/declaration.ts';
import type { Finding } from '../manifests/finding.ts';
import type { Inputs } from '../manifests/inputs.ts';
import { readFileBytes } from '../manifests/read-file.ts';
import type { Resource } from '../manifests/resource.ts';
import type { ProjectConfig, WorkspaceConfig } from './project.ts';
import type { UnreadFile } from './unread-files.ts';

/** What one file declares. */
export interface FileDeclarations {
  readonly declarations: readonly Declaration[];
  readonly findings: readonly Finding[];
  readonly unread?: UnreadFile | undefined;
}

/** What a declaration comes to in a workspace. */
export interface MadeResource {
  readonly resource: Resource;
  readonly checked: Checked;
  readonly findings: readonly Finding[];
}

interface KnownResource {
  readonly made: MadeResource;
  /** What it took from files, secrets among them, with what these held. */
  readonly inputs: readonly (readonly [file: string, content: unknown])[];
}

/**
 * What loads of a project with the same environment have in common: what was made of files that did not change. For loads in one file view,
 * which tells the same content by the same bytes.
 */
export class LoadMemory {
  #files = new WeakMap<Uint8Array, Map<string, FileDeclarations>>();
  #resources = new WeakMap<Declaration, KnownResource>();
  #settings: unknown;

  /** For loads of other workspaces: what files declare is the same for all. */
  ofOtherWorkspaces(): LoadMemory {
    const memory = new LoadMemory();
    memory.#files = this.#files;
    return memory;
  }

  declarationsOf(file: string, bytes: Uint8Array): FileDeclarations | undefined {
    return this.#files.get(bytes)?.get(file);
  }

  keepDeclarations(file: string, bytes: Uint8Array, declarations: FileDeclarations): void {
    const known = this.#files.get(bytes) ?? new Map<string, FileDeclarations>();
    this.#files.set(bytes, known.set(file, declarations));
  }

  /** To be called first: with other settings, every resource is another one. */
  beginLoad({ documents: _, ...project }: ProjectConfig, workspace: WorkspaceConfig): void {
    const settings = [project, workspace];
    if (isDeepStrictEqual(settings, this.#settings)) return;
    this.#settings = settings;
    this.#resources = new WeakMap();
  }

  /** What a declaration makes, with the inputs that it takes. */
  resource(declaration: Declaration, inputs: Inputs, make: () => MadeResource): MadeResource {
    const known = this.#resources.get(declaration);
    if (known?.inputs.every(([file, content]) => contentOf(file) === content)) return known.made;
    const { result: made, files } = inputs.noting(make);
    this.#resources.set(declaration, { made, inputs: files.map((file) => [file, contentOf(file)]) });
    return made;
  }
}

function contentOf(file: string): unknown {
  const read = readFileBytes(file);
  return 'bytes' in read ? read.bytes : read.problem.message;
}
