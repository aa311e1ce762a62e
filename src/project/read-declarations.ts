import path from 'node:path';
import { realPathOf } from '../files/input-files.ts';
import type { Declaration } from '../manifests/declaration.ts';
import { type DocumentCache, documentKey } from '../manifests/document-cache.ts';
import { type KnownNames, readEnvelope } from '../manifests/envelope.ts';
import { findFiles } from '../manifests/find-files.ts';
import { type Finding, findingOf } from '../manifests/finding.ts';
import type { ParseBeside } from '../manifests/parse-beside.ts';
import type { ParsedFile } from '../manifests/parse-documents.ts';
import { decoded, readFileBytes } from '../manifests/read-file.ts';
import { compareText } from '../problems/compare-text.ts';
import type { ProjectConfig } from './project.ts';
import { TimeSlices } from './time-slices.ts';
import type { UnreadFile } from './unread-files.ts';

export interface ReadDeclarations {
  /** In file order. */
  readonly declarations: readonly Declaration[];
  /** What is wrong in files and envelopes. */
  readonly findings: readonly Finding[];
  readonly unread: readonly UnreadFile[];
}

interface ReadDeclarationsOptions extends KnownNames {
  /** Told of each declaration as soon as it is read. */
  readonly onDeclaration?: ((declaration: Declaration) => void) | undefined;
  /** Texts that files are taken to have instead of their own, by real path. */
  readonly drafts?: ReadonlyMap<string, string> | undefined;
  /** Ends the reading, with a UserError. */
  readonly signal?: AbortSignal | undefined;
  /** Asked before a file is parsed, instead of the project's own. */
  readonly documents?: DocumentCache | undefined;
}

/** Reads every manifest of the project. Never throws over what is in them. @throws UserError where the signal comes. */
export async function readDeclarations(
  project: ProjectConfig,
  known: ReadDeclarationsOptions,
): Promise<ReadDeclarations> {
  const findings: Finding[] = [];
  const files = manifestFiles(project, findings);
  const cache = known.documents ?? project.documents;
  const collected: Collected[] = files.map(() => ({ declarations: [], findings: [] }));
  const unread: UnreadFile[] = [];
  const collect = (at: number, parsed: ParsedFile, text: string): void => {
    const [problem] = parsed.problems;
    if (problem !== undefined && hasUnread(parsed)) {
      unread.push({ file: files[at] ?? '', line: problem.line, column: problem.column, text });
    }
    const found = collectedFrom(files[at] ?? '', parsed, known);
    collected[at] = found;
    for (const declaration of found.declarations) known.onDeclaration?.(declaration);
  };
  let parser: ParseBeside | undefined;
  const slices = new TimeSlices(known.signal);
  try {
    for (const [at, file] of files.entries()) {
      if (slices.isOver()) await slices.next();
      // Joined by hand: neither side has anything to be normalised, and there may be ten thousand.
      const absolute = `${project.root}${path.sep}${file}`;
      const draft = known.drafts?.get(realPathOf(absolute));
      const found = draft === undefined ? readFileBytes(absolute) : undefined;
      const key = cache && found && 'bytes' in found ? documentKey(found.bytes) : undefined;
      const parsed = key === undefined ? undefined : cache?.get(key);
      // Most of ten thousand: their text is not needed.
      if (parsed?.problems.length === 0) {
        collect(at, parsed, '');
        continue;
      }
      const read = found === undefined ? { text: draft ?? '' } : decoded(found);
      if ('problem' in read) {
        const { line, column } = read.problem;
        unread.push({ file, line, column, text: undefined });
        collected[at] = { declarations: [], findings: [{ severity: 'error', file, ...read.problem }] };
        continue;
      }
      const keep = (fresh: ParsedFile): void => {
        if (key !== undefined) cache?.set(key, fresh);
        collect(at, fresh, read.text);
      };
      if (parsed !== undefined) collect(at, parsed, read.text);
      else {
        // Loaded only where a file is new.
        parser ??= new (await import('../manifests/parse-beside.ts')).ParseBeside();
        parser.parse(read.text, keep);
      }
    }
    await parser?.finish();
  } finally {
    await parser?.end();
  }
  await cache?.endRound();
  return {
    declarations: collected.flatMap((of) => of.declarations),
    findings: [findings, ...collected.map((of) => of.findings)].flat(),
    unread: unread.sort((a, b) => compareText(a.file, b.file)),
  };
}

/** Reads every manifest of the project when it is first asked to, once for all who ask. */
export function declarationsOnce(project: ProjectConfig, known: KnownNames): () => Promise<ReadDeclarations> {
  let reading: Promise<ReadDeclarations> | undefined;
  return () => {
    reading ??= readDeclarations(project, known);
    return reading;
  };
}

/** Whether the parser has left out something that the file may declare. */
function hasUnread({ documents }: ParsedFile): boolean {
  return documents.length === 0 || documents.some(({ value }) => value === undefined);
}

function manifestFiles(project: ProjectConfig, findings: Finding[]): readonly string[] {
  const { files, patterns, entries } = findFiles(project.root, project.manifests);
  const about = { file: project.file ?? 'manifests' };
  const place = (...at: (string | number)[]) =>
    project.file === undefined ? {} : { place: { document: 0, path: at, at: 'value' as const } };
  for (const { index, code, message } of patterns) {
    const severity = code === 'no-match' ? 'warning' : 'error';
    if (severity === 'warning' && files.length === 0) continue;
    findings.push({ severity, code, message, ...about, ...place('manifests', index) });
  }
  for (const entry of entries) findings.push({ severity: 'error', ...entry });
  if (files.length === 0 && findings.length === 0) {
    const message = `no manifests: no file matches ${project.manifests.join(', ')}`;
    findings.push({ severity: 'warning', code: 'no-manifests', message, ...about, ...place('manifests') });
  }
  return files;
}

interface Collected {
  readonly declarations: readonly Declaration[];
  readonly findings: readonly Finding[];
}

function collectedFrom(file: string, { documents, problems }: ParsedFile, known: KnownNames): Collected {
  const declarations: Declaration[] = [];
  const findings: Finding[] = problems.map((problem) => ({ severity: 'error', file, ...problem }));
  if (documents.length === 0 && problems.length === 0) {
    findings.push({ severity: 'warning', code: 'empty-file', message: 'the file declares nothing', file });
  }
  for (const { index, line, value } of documents) {
    if (value === undefined) continue;
    const { envelope, problems: wrong } = readEnvelope(value, known);
    for (const problem of wrong) findings.push(findingOf(problem, file, index));
    if (envelope === undefined) continue;
    const { kind, metadata, spec } = envelope;
    declarations.push({
      address: `${kind.name}/${metadata.name}`,
      kind,
      metadata,
      source: { file, line },
      home: { value: spec, file, document: index, base: ['spec'] },
    });
  }
  return { declarations, findings };
}
