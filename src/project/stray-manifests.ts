import path from 'node:path';
import { entriesOf } from '../files/input-files.ts';
import { findFiles, isManifestName } from '../manifests/find-files.ts';
import { globMatcher, withoutDotSlash } from '../manifests/glob.ts';
import { readBeginning, realPath } from '../manifests/read-file.ts';
import { attempt } from '../problems/attempt.ts';
import type { Diagnostic } from '../problems/diagnostic.ts';
import { PROJECT_FILES } from './find-project.ts';
import type { ProjectConfig } from './project.ts';

/** The maximum number of folder entries and of files that are read to find manifests that match no pattern. */
const MAX_ENTRIES = 20_000;
const MAX_READ = 1_000;

/** Matches the usual beginning of a manifest. */
const BEGINNING = /(^|[{,\s])["']?apiVersion["']?\s*:\s*["']?voxform\/v1\b/;

/** Warns of files that look like manifests but match no pattern. Skips links, and folders with their own project file. */
export function strayManifests({ root, file: projectFile, manifests }: ProjectConfig): readonly Diagnostic[] {
  if (projectFile === undefined) return [];
  const isMatched = globMatcher(manifests.map((pattern) => withoutDotSlash(pattern.replace(/^!/, ''))));
  const candidates = unmatchedFiles(root, isMatched).filter((file) => {
    const text = readBeginning(path.join(root, file));
    return text !== undefined && BEGINNING.test(text);
  });
  if (candidates.length === 0) return [];
  // A pattern may match one of these files through a link.
  const matched = new Set(findFiles(root, manifests).files.map((file) => realPath(path.join(root, file))));
  return candidates
    .filter((file) => !matched.has(path.join(root, file)))
    .map((file) => {
      const folder = path.posix.dirname(file);
      const pattern = folder === '.' ? file : `${folder}/*${path.posix.extname(file)}`;
      const message = `this manifest is ignored: no pattern of the setting manifests matches it; add ${JSON.stringify(pattern)}, or exclude it with ${JSON.stringify(`!${file}`)}`;
      return { severity: 'warning', code: 'stray-manifest', message, file };
    });
}

/** Returns files that may be manifests and match no pattern. */
function unmatchedFiles(root: string, isMatched: (file: string) => boolean): readonly string[] {
  const files: string[] = [];
  const folders = [''];
  let remaining = MAX_ENTRIES;
  for (const folder of folders) {
    const entries = attempt(() => entriesOf(path.join(root, folder))) ?? [];
    remaining -= entries.length;
    const isOtherProject = folder !== '' && entries.some(({ name }) => PROJECT_FILES.includes(name));
    if (isOtherProject) continue;
    for (const entry of entries) {
      if (entry.name.startsWith('.') || entry.name === 'node_modules') continue;
      const file = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory()) folders.push(file);
      else if (entry.isFile() && isManifestName(file) && !isMatched(file)) files.push(file);
    }
    if (remaining < 0 || files.length >= MAX_READ) break;
  }
  return files.slice(0, MAX_READ);
}
