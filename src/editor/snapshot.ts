import path from 'node:path';
import { FLEET_FILE } from '../fleet/fleet-file.ts';
import { isManifestName } from '../manifests/find-files.ts';
import { globMatcher, withoutDotSlash } from '../manifests/glob.ts';
import type { Declaration, SpecSources } from '../manifests/layers.ts';
import { isInside, realPath } from '../manifests/read-file.ts';
import type { Address, Resource } from '../manifests/resource.ts';
import { secretFiles } from '../manifests/value-forms.ts';
import type { Diagnostic } from '../problems/diagnostic.ts';
import { defaultManifests } from '../project/check-project.ts';
import { PROJECT_FILES } from '../project/find-project.ts';
import type { ProjectConfig, WorkspaceConfig } from '../project/project.ts';
import type { validateProject } from '../runs/validate-project.ts';
import { Redactor } from '../values/redactor.ts';
import { Secret, symbolicLeaves, type Value } from '../values/value.ts';

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

/** A project at one point in time, with unsaved changes. Invalid parts are replaced by their last valid form. */
export interface ProjectSnapshot {
  /** The real path of the project folder; for a file without a project, of the folder of the file. */
  readonly folder: string;
  readonly project: ProjectConfig | undefined;
  readonly workspace: WorkspaceConfig | undefined;
  readonly files: readonly string[];
  /** The declarations of all files, including those of other workspaces. */
  readonly declarations: readonly Declaration[];
  readonly resources: readonly Resource[];
  /** The layers that each spec was merged from. */
  readonly sources: ReadonlyMap<Address, SpecSources>;
  /** The diagnostics of `voxform validate`. */
  readonly diagnostics: readonly Diagnostic[];
  /** Returns the text of a file in the editor or on disk; undefined if it cannot be read. */
  textOf(file: string): string | undefined;
  /** Returns the names of a lookup kind in the last listing of the selected workspace. */
  namesOnPlatform(lookup: string): readonly string[];
  /** Returns the result of `voxform validate` for every workspace. @param texts replacements for the contents of files. */
  checkedWith(texts: ReadonlyMap<string, string>): Promise<CheckedTexts>;
}

export type CheckedTexts = Awaited<ReturnType<typeof validateProject>>;

export type FileRole = 'manifest' | 'project' | 'fleet' | 'policies';

/** Returns the text and the role of a file; undefined if it cannot be read or has no role. */
export function knownFile(
  snapshot: ProjectSnapshot,
  file: string,
): { readonly text: string; readonly role: FileRole } | undefined {
  const text = snapshot.textOf(file);
  const role = text === undefined ? undefined : roleOf(snapshot, file, text);
  return text === undefined || role === undefined ? undefined : { text, role };
}

/** Returns undefined for files without a role, such as prompts and the settings of other tools. */
export function roleOf(
  { project }: Pick<ProjectSnapshot, 'project'>,
  file: string,
  text: string,
): FileRole | undefined {
  const name = path.basename(file);
  if (PROJECT_FILES.includes(name)) return 'project';
  if (name === FLEET_FILE) return 'fleet';
  if (!isManifestName(name)) return undefined;
  if (manifestMatcher(project?.manifests ?? defaultManifests)(file) || /\bvoxform\/v1\b/.test(text)) return 'manifest';
  return /^policies[ \t]*:/m.test(text) ? 'policies' : undefined;
}

const matchers = new WeakMap<readonly string[], (file: string) => boolean>();

/** Returns a function that matches files against the manifest patterns. A new manifest matches even if it is still empty. */
function manifestMatcher(patterns: readonly string[]): (file: string) => boolean {
  const known = matchers.get(patterns);
  if (known !== undefined) return known;
  const isExclusion = (pattern: string): boolean => pattern.startsWith('!');
  const isIncluded = globMatcher(patterns.filter((pattern) => !isExclusion(pattern)).map(withoutDotSlash));
  const isExcluded = globMatcher(patterns.filter(isExclusion).map((pattern) => withoutDotSlash(pattern.slice(1))));
  const matches = (file: string): boolean => isIncluded(file) && !isExcluded(file);
  matchers.set(patterns, matches);
  return matches;
}

const redactors = new WeakMap<ProjectSnapshot['resources'], Redactor>();

export function withoutSecrets({ resources, project }: ProjectSnapshot, text: string): string {
  const redactor = redactors.get(resources) ?? new Redactor();
  if (!redactors.has(resources)) {
    const workspaces = Object.values(project?.workspaces ?? {});
    const values: Value[] = [
      ...resources.map(({ spec }) => spec),
      ...workspaces.flatMap(({ vars, apiKey }) => [vars, apiKey]),
    ];
    for (const secret of values.flatMap(symbolicLeaves))
      if (secret instanceof Secret && secret.isSet) redactor.add(secret.reveal());
    redactors.set(resources, redactor);
  }
  return redactor.redact(text);
}

/** Returns the file that a `$file` form names; undefined if that file is outside of the project or may hold secrets. */
export function namedFile(
  snapshot: ProjectSnapshot,
  { file, role, name }: { readonly file: string; readonly role: FileRole; readonly name: string },
): string | undefined {
  const { folder } = snapshot;
  const real = realPath(path.resolve(folder, role === 'manifest' ? path.dirname(file) : '', name));
  return isVisible(snapshot, real) ? path.relative(folder, real).replaceAll(path.sep, '/') : undefined;
}

const secretFilesOf = new WeakMap<ProjectSnapshot, (real: string) => boolean>();

/** Returns true if `$file` may name this file or folder: the path is in the project and holds no secrets. @param real a real path. */
export function isVisible(snapshot: ProjectSnapshot, real: string): boolean {
  const { folder, project } = snapshot;
  const readers = Object.values(project?.workspaces ?? {}).map(({ secrets }) => secrets);
  const isSecret = secretFilesOf.get(snapshot) ?? secretFiles(folder, readers);
  secretFilesOf.set(snapshot, isSecret);
  return isInside(real, folder) && !isSecret(real);
}
