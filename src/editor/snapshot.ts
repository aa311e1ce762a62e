import type { Declaration } from '../manifests/declaration.ts';
import type { SpecSources } from '../manifests/layers.ts';
import type { Address, Resource } from '../manifests/resource.ts';
import type { Diagnostic } from '../problems/diagnostic.ts';
import type { ProjectConfig, WorkspaceConfig } from '../project/project.ts';
import type { validateProject } from '../runs/validate-project.ts';

/** Characters of a text from 0, as JavaScript counts them; the end is not part of it. */
export interface TextRange {
  readonly start: number;
  readonly end: number;
}

/** A text in place of another. */
export interface ChangedText extends TextRange {
  readonly text: string;
}

export interface PlaceInFile extends TextRange {
  /** Relative to the project folder, with forward slashes. */
  readonly file: string;
}

/** A project as its files and the open editors have it at one moment. Of what is broken at this moment, it has the last that could be used. */
export interface ProjectSnapshot {
  /** A real path: the project folder, or that of the file where it belongs to no project. */
  readonly folder: string;
  readonly project: ProjectConfig | undefined;
  /** The selected one. */
  readonly workspace: WorkspaceConfig | undefined;
  /** The files that declare something. */
  readonly files: readonly string[];
  /** Of all files, those for other workspaces included. */
  readonly declarations: readonly Declaration[];
  /** As they apply to the workspace. */
  readonly resources: readonly Resource[];
  /** Where the parts of each spec were written. */
  readonly sources: ReadonlyMap<Address, SpecSources>;
  /** What `voxform validate` says. */
  readonly diagnostics: readonly Diagnostic[];
  /** In an editor, else on the disk; undefined where there is none that can be read. */
  textOf(file: string): string | undefined;
  /** Names of this sort that the selected workspace had on the platform when they were last listed. */
  namesOnPlatform(lookup: string): readonly string[];
  /** What `voxform validate` says of every workspace with these texts in place of files. */
  checkedWith(texts: ReadonlyMap<string, string>): Promise<CheckedTexts>;
}

export type CheckedTexts = Awaited<ReturnType<typeof validateProject>>;
