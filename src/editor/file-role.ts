import path from 'node:path';
import picomatch from 'picomatch';
import { FLEET_FILE } from '../fleet/fleet-file.ts';
import { defaultManifests } from '../project/check-project.ts';
import { PROJECT_FILES } from '../project/find-project.ts';
import type { ProjectSnapshot } from './snapshot.ts';

/** The role of a file in voxform. */
export type FileRole = 'manifest' | 'project' | 'fleet' | 'policies';

/** Undefined for other files: a prompt, the settings of another tool. */
export function roleOf(
  { project }: Pick<ProjectSnapshot, 'project'>,
  file: string,
  text: string,
): FileRole | undefined {
  const name = path.basename(file);
  if (PROJECT_FILES.includes(name)) return 'project';
  if (name === FLEET_FILE) return 'fleet';
  if (!/\.(?:ya?ml|json)$/i.test(name)) return undefined;
  if (namedBy(project?.manifests ?? defaultManifests)(file) || /\bvoxform\/v1\b/.test(text)) return 'manifest';
  return /^policies[ \t]*:/m.test(text) ? 'policies' : undefined;
}

const matchers = new WeakMap<readonly string[], (file: string) => boolean>();

/** Uses the patterns, because a new file declares nothing yet. */
function namedBy(patterns: readonly string[]): (file: string) => boolean {
  const known = matchers.get(patterns);
  if (known !== undefined) return known;
  const plain = patterns.map((pattern) => pattern.replace(/^(!?)(?:\.\/+)+/, '$1'));
  const taken = picomatch(plain.filter((pattern) => !pattern.startsWith('!')));
  const left = plain.filter((pattern) => pattern.startsWith('!')).map((pattern) => pattern.slice(1));
  const excluded = left.length === 0 ? () => false : picomatch(left);
  const matches = (file: string): boolean => taken(file) && !excluded(file);
  matchers.set(patterns, matches);
  return matches;
}
