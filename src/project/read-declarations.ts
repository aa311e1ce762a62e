import path from 'node:path';
import type { Declaration } from '../manifests/declaration.ts';
import { type DocumentCache, documentKey } from '../manifests/document-cache.ts';
import { type KnownNames, readEnvelope } from '../manifests/envelope.ts';
import { findFiles } from '../manifests/find-files.ts';
import { type Finding, findingOf } from '../manifests/finding.ts';
import type { ParseBeside } from '../manifests/parse-beside.ts';
import type { ParsedFile } from '../manifests/parse-documents.ts';
import { decoded, readFileBytes } from '../manifests/read-file.ts';
import { compareText } from '../problems/compare-text.ts';
import type { FileDeclarations, LoadMemory } from './load-memory.ts';
import type { ProjectConfig } from './project.ts';
import { TimeSlices } from './time-slices.ts';
import type { UnreadFile } from './unread-files.ts';

export interface ReadDeclarations {
  /** In file order. */
  readonly declarations: readonly Declaration[];
  /** Problems of files and of the outer parts of manifests. */
  readonly findings: readonly Finding[];
  readonly unread: readonly UnreadFile[];
}

interface ReadDeclarationsOptions extends KnownNames {
  /** Called for each declaration as soon as it is read. */
  readonly onDeclaration?: ((declaration: Declaration) => void) | undefined;
  /** Shared by reads of the same project with the same kinds. */
  readonly memory?: LoadMemory | undefined;
  /** Aborts with a UserError. */
  readonly signal?: AbortSignal | undefined;
  /** A cache to use instead of the project's own. */
  readonly documents?: DocumentCache | undefined;
}

/** Reads all manifests of the project. Never throws because of their contents. @throws UserError if aborted. */
export async function readDeclarations(
  project: ProjectConfig,
  known: ReadDeclarationsOptions,
): Promise<ReadDeclarations> {
  const findings: Finding[] = [];
  const files = manifestFiles(project, findings);
  const cache = known.documents ?? project.documents;
  const collected: FileDeclarations[] = files.map(() => ({ declarations: [], findings: [] }));
  const collect = (at: number, found: FileDeclarations): void => {
    collected[at] = found;
    for (const declaration of found.declarations) known.onDeclaration?.(declaration);
  };
  let parser: ParseBeside | undefined;
  const slices = new TimeSlices(known.signal);
  try {
    for (const [at, file] of files.entries()) {
      if (slices.isOver()) await slices.next();
      // Joined without path.join: both parts are normalized, and there may be 10,000.
      const found = readFileBytes(`${project.root}${path.sep}${file}`);
      const remembered = 'bytes' in found ? known.memory?.declarationsOf(file, found.bytes) : undefined;
      if (remembered !== undefined) {
        collect(at, remembered);
        continue;
      }
      const key = cache && 'bytes' in found ? documentKey(found.bytes) : undefined;
      const parsed = key === undefined ? undefined : cache?.get(key);
      const keep = (fresh: ParsedFile, text: string): void => {
        const declared = declaredIn(file, { parsed: fresh, text }, known);
        if ('bytes' in found) known.memory?.keepDeclarations(file, found.bytes, declared);
        collect(at, declared);
      };
      // The common case, which does not need the text.
      if (parsed?.problems.length === 0) {
        keep(parsed, '');
        continue;
      }
      const read = decoded(found);
      if ('problem' in read) {
        const { line, column } = read.problem;
        const unread = { file, line, column, text: undefined };
        collect(at, { declarations: [], findings: [{ severity: 'error', file, ...read.problem }], unread });
        continue;
      }
      if (parsed !== undefined) keep(parsed, read.text);
      else {
        // Loaded only if a file is new.
        parser ??= new (await import('../manifests/parse-beside.ts')).ParseBeside();
        parser.parse(read.text, (fresh) => {
          if (key !== undefined) cache?.set(key, fresh);
          keep(fresh, read.text);
        });
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
    unread: collected.flatMap(({ unread = [] }) => unread).sort((a, b) => compareText(a.file, b.file)),
  };
}

/** Reads all manifests of the project once, on the first call. */
export function declarationsOnce(project: ProjectConfig, known: KnownNames): () => Promise<ReadDeclarations> {
  let reading: Promise<ReadDeclarations> | undefined;
  return () => {
    reading ??= readDeclarations(project, known);
    return reading;
  };
}

/** True if the parser skipped something that may be a declaration. */
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
    const sought = project.manifests.filter((pattern) => !pattern.startsWith('!'));
    const message = `no manifests: no file matches ${sought.join(', ')}`;
    findings.push({ severity: 'warning', code: 'no-manifests', message, ...about, ...place('manifests') });
  }
  return files;
}

function declaredIn(
  file: string,
  { parsed, text }: { readonly parsed: ParsedFile; readonly text: string },
  known: KnownNames,
): FileDeclarations {
  const { documents, problems } = parsed;
  const declarations: Declaration[] = [];
  const findings: Finding[] = problems.map((problem) => ({ severity: 'error', file, ...problem }));
  if (documents.length === 0 && problems.length === 0) {
    const message = 'the file declares nothing';
    findings.push({ severity: 'warning', code: 'empty-file', message, file, line: 1, column: 1 });
  }
  let nameless: UnreadFile | undefined;
  for (const { index, line, value } of documents) {
    if (value === undefined) continue;
    const { envelope, problems: wrong } = readEnvelope(value, known);
    for (const problem of wrong) findings.push(findingOf(problem, file, index));
    if (envelope === undefined) {
      nameless ??= { file, line, column: 1, text: undefined };
      continue;
    }
    const { kind, metadata, spec } = envelope;
    declarations.push({
      address: `${kind.name}/${metadata.name}`,
      kind,
      metadata,
      source: { file, line },
      home: { value: spec, file, document: index, base: ['spec'] },
    });
  }
  const [problem] = problems;
  const unread =
    problem !== undefined && hasUnread(parsed)
      ? { file, line: problem.line, column: problem.column, text }
      : nameless;
  return { declarations, findings, unread };
}
