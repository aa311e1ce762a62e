import type { Declaration } from '../manifests/declaration.ts';
import type { SpecSources } from '../manifests/layers.ts';
import type { Address, Resource } from '../manifests/resource.ts';
import type { Diagnostic } from '../problems/diagnostic.ts';
import type { ProjectConfig, WorkspaceConfig } from '../project/project.ts';
import type { validateProject } from '../runs/validate-project.ts';

/** Offsets into a text in UTF-16 units; `end` is exclusive. */
export interface TextRange {
  readonly start: number;
  readonly end: number;
}

export interface ChangedText extends TextRange {
  readonly text: string;
}

export interface PlaceInFile extends TextRange {
  /** Relative to the project folder, with forward slashes. */
  readonly file: string;
}

/** A project at a moment, from its files and the open editors. Invalid parts are replaced by their last valid form. */
export interface ProjectSnapshot {
  /** The real path of the project folder, or of the file's folder for a file without a project. */
  readonly folder: string;
  readonly project: ProjectConfig | undefined;
  readonly workspace: WorkspaceConfig | undefined;
  readonly files: readonly string[];
  /** The declarations of all files, including those of other workspaces. */
  readonly declarations: readonly Declaration[];
  readonly resources: readonly Resource[];
  /** The places of the parts of each spec. */
  readonly sources: ReadonlyMap<Address, SpecSources>;
  /** The diagnostics of `voxform validate`. */
  readonly diagnostics: readonly Diagnostic[];
  /** The text in an editor, or else on disk; undefined if it cannot be read. */
  textOf(file: string): string | undefined;
  /** Names of this kind that the last listing of the selected workspace returned. */
  namesOnPlatform(lookup: string): readonly string[];
  /** The result of `voxform validate` for every workspace, with these texts in place of files. */
  checkedWith(texts: ReadonlyMap<string, string>): Promise<CheckedTexts>;
}

export type CheckedTexts = Awaited<ReturnType<typeof validateProject>>;
