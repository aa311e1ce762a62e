import { isDeepStrictEqual } from 'node:util';
import type { Checked, Declaration } from '../manifests/declaration.ts';
import type { Finding } from '../manifests/finding.ts';
import type { Inputs } from '../manifests/inputs.ts';
import { readFileBytes } from '../manifests/read-file.ts';
import type { Resource } from '../manifests/resource.ts';
import type { ProjectConfig, WorkspaceConfig } from './project.ts';

/** A file with unknown declarations: it cannot be read, or a manifest in it has no known kind or no name. */
export interface UnreadFile {
  readonly file: string;
  /** The line of its first problem. */
  readonly line: number | undefined;
  readonly column: number | undefined;
  /** The text; undefined if it does not show the declarations. */
  readonly text: string | undefined;
}

export interface FileDeclarations {
  readonly declarations: readonly Declaration[];
  readonly findings: readonly Finding[];
  readonly unread?: UnreadFile | undefined;
}

/** A declaration after evaluation in a workspace. */
export interface MadeResource {
  readonly resource: Resource;
  readonly checked: Checked;
  readonly findings: readonly Finding[];
}

interface KnownResource {
  readonly made: MadeResource;
  /** The files that it used, including secrets, with their contents. */
  readonly inputs: readonly (readonly [file: string, content: unknown])[];
}

/**
 * Shared by repeated loads of a project in the same environment: results for files that did not change. For loads in one file view, which
 * returns the same bytes for the same contents.
 */
export class LoadMemory {
  #files = new WeakMap<Uint8Array, Map<string, FileDeclarations>>();
  #resources = new WeakMap<Declaration, KnownResource>();
  #settings: unknown;

  /** For loads of other workspaces: the declarations are the same. */
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

  /** Called first. With other settings, no earlier resource is valid. */
  beginLoad({ documents: _, ...project }: ProjectConfig, workspace: WorkspaceConfig): void {
    const settings = [project, workspace];
    if (isDeepStrictEqual(settings, this.#settings)) return;
    this.#settings = settings;
    this.#resources = new WeakMap();
  }

  /** The evaluated declaration, with the inputs that it used. */
  resource(declaration: Declaration, inputs: Inputs, make: () => MadeResource): MadeResource {
    const known = this.#resources.get(declaration);
    if (known?.inputs.every(([file, content]) => contentOf(file) === content)) return known.made;
    const { result: made, files } = inputs.withUsedFiles(make);
    this.#resources.set(declaration, { made, inputs: files.map((file) => [file, contentOf(file)]) });
    return made;
  }
}

function contentOf(file: string): unknown {
  const read = readFileBytes(file);
  return 'bytes' in read ? read.bytes : read.problem.message;
}
