import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type KnownNames, readEnvelope } from '../manifests/envelope.ts';
import { findFiles } from '../manifests/find-files.ts';
import { type Finding, findingOf } from '../manifests/finding.ts';
import type { CheckedDeclaration, Declaration } from '../manifests/layers.ts';
import type { ParallelParser } from '../manifests/parallel-parser.ts';
import { type DocumentCache, documentKey } from '../manifests/parse-cache.ts';
import type { ParsedFile } from '../manifests/parse-documents.ts';
import { decoded, readFileBytes } from '../manifests/read-file.ts';
import type { Address, Resource } from '../manifests/resource.ts';
import type { Inputs } from '../manifests/value-forms.ts';
import { compareText } from '../problems/compare-text.ts';
import { totalSize } from '../values/json.ts';
import type { ProjectConfig, WorkspaceConfig } from './project.ts';
import { TimeSlices } from './time-slices.ts';

export interface ReadDeclarations {
  /** The declarations in the order of the files. */
  readonly declarations: readonly Declaration[];
  /** Problems of files, and of the fields outside the specs of manifests. */
  readonly findings: readonly Finding[];
  readonly unread: readonly UnreadFile[];
}

interface ReadDeclarationsOptions extends KnownNames {
  /** Called for each declaration as soon as it is read. */
  readonly onDeclaration?: ((declaration: Declaration) => void) | undefined;
  /** Results of earlier reads of the same project with the same kinds. */
  readonly memory?: LoadMemory | undefined;
  /** Aborts the read with a UserError. */
  readonly signal?: AbortSignal | undefined;
  /** A cache to use instead of the project's own. */
  readonly documents?: DocumentCache | undefined;
}

/** Reads all manifests of the project. Their contents never cause an exception. @throws UserError if aborted. */
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
  const { maxValues = Number.POSITIVE_INFINITY } = project;
  let values = 0;
  let parser: ParallelParser | undefined;
  const slices = new TimeSlices(known.signal);
  try {
    for (const [at, file] of files.entries()) {
      if (slices.isOver()) await slices.next();
      if (values > maxValues) break;
      // Do not use path.join: both parts are already normalized, and there may be 10,000 files.
      const found = readFileBytes(`${project.root}${path.sep}${file}`);
      const cachedDeclarations = 'bytes' in found ? known.memory?.declarationsOf(file, found.bytes) : undefined;
      if (cachedDeclarations !== undefined) {
        collect(at, cachedDeclarations);
        continue;
      }
      const key = cache && 'bytes' in found ? documentKey(found.bytes) : undefined;
      const parsed = key === undefined ? undefined : cache?.get(key);
      const store = (result: ParsedFile, text: string): void => {
        if (project.maxValues !== undefined)
          for (const { value = null } of result.documents) values += totalSize(value, maxValues, () => 1);
        const declared = declarationsIn(file, { parsed: result, text }, known);
        if ('bytes' in found) known.memory?.keepDeclarations(file, found.bytes, declared);
        collect(at, declared);
      };
      // The common case does not need the text.
      if (parsed?.problems.length === 0) {
        store(parsed, '');
        continue;
      }
      const read = decoded(found);
      if ('problem' in read) {
        const { line, column } = read.problem;
        const unread = { file, line, column, text: undefined };
        collect(at, { declarations: [], findings: [{ severity: 'error', file, ...read.problem }], unread });
        continue;
      }
      if (parsed !== undefined) store(parsed, read.text);
      else {
        // The parser is loaded only if a file is not cached.
        // With a limit, one thread parses file by file, because a second one would parse files after the limit.
        const cores = project.maxValues === undefined ? undefined : 1;
        parser ??= new (await import('../manifests/parallel-parser.ts')).ParallelParser(cores);
        parser.parse(read.text, (result) => {
          if (key !== undefined) cache?.set(key, result);
          store(result, read.text);
        });
      }
    }
    await parser?.finish();
  } finally {
    await parser?.end();
  }
  await cache?.endRound();
  if (values > maxValues) {
    const file = project.file ?? 'manifests';
    const message = `the manifests have more than ${maxValues} values, the limit of the fleet; split the project, or raise limits.values in the fleet file`;
    return {
      declarations: [],
      findings: [{ severity: 'error', code: 'too-many-values', message, file }],
      unread: [{ file, line: undefined, column: undefined, text: undefined }],
    };
  }
  return {
    declarations: collected.flatMap((file) => file.declarations),
    findings: [findings, ...collected.map((file) => file.findings)].flat(),
    unread: collected.flatMap(({ unread = [] }) => unread).sort((a, b) => compareText(a.file, b.file)),
  };
}

/** Returns a function that reads all manifests of the project on its first call. Later calls return the same result. */
export function declarationsOnce(project: ProjectConfig, known: KnownNames): () => Promise<ReadDeclarations> {
  let reading: Promise<ReadDeclarations> | undefined;
  return () => {
    reading ??= readDeclarations(project, known);
    return reading;
  };
}

/** Returns true if the parser skipped a document, which may be a declaration. */
function hasUnread({ documents }: ParsedFile): boolean {
  return documents.length === 0 || documents.some(({ value }) => value === undefined);
}

function manifestFiles(project: ProjectConfig, findings: Finding[]): readonly string[] {
  const { files, patterns, entries } = findFiles(project.root, project.manifests);
  const location = { file: project.file ?? 'manifests' };
  const place = (...at: (string | number)[]) =>
    project.file === undefined ? {} : { place: { document: 0, path: at, at: 'value' as const } };
  for (const { index, code, message } of patterns) {
    const severity = code === 'no-match' ? 'warning' : 'error';
    if (severity === 'warning' && files.length === 0) continue;
    findings.push({ severity, code, message, ...location, ...place('manifests', index) });
  }
  for (const entry of entries) findings.push({ severity: 'error', ...entry });
  if (files.length === 0 && findings.length === 0) {
    const included = project.manifests.filter((pattern) => !pattern.startsWith('!'));
    const reason = included.length === 0 ? 'the patterns only exclude files' : `no file matches ${included.join(', ')}`;
    const message = `no manifests: ${reason}`;
    findings.push({ severity: 'warning', code: 'no-manifests', message, ...location, ...place('manifests') });
  }
  return files;
}

function declarationsIn(
  file: string,
  { parsed, text }: { readonly parsed: ParsedFile; readonly text: string },
  known: KnownNames,
): FileDeclarations {
  const { documents, problems } = parsed;
  const declarations: Declaration[] = [];
  const findings: Finding[] = problems.map((problem) => ({ severity: 'error', file, ...problem }));
  if (documents.length === 0 && problems.length === 0) {
    const message = 'the file contains no manifest';
    findings.push({ severity: 'warning', code: 'empty-file', message, file, line: 1, column: 1 });
  }
  let unnamed: UnreadFile | undefined;
  for (const { index, line, value } of documents) {
    if (value === undefined) continue;
    const { envelope, problems: envelopeProblems } = readEnvelope(value, known);
    for (const problem of envelopeProblems) findings.push(findingOf(problem, file, index));
    if (envelope === undefined) {
      unnamed ??= { file, line, column: 1, text: undefined };
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
    problem !== undefined && hasUnread(parsed) ? { file, line: problem.line, column: problem.column, text } : unnamed;
  return { declarations, findings, unread };
}

/** Omits findings that may be consequences of unread files. For each such file, adds a warning about unchecked references. */
export function withoutFollowOnFindings(
  findings: readonly Finding[],
  unread: readonly UnreadFile[],
): readonly Finding[] {
  if (unread.length === 0) return findings;
  const omitted = new Map<UnreadFile, Set<Address>>();
  const remaining = findings.filter(({ absent }) => {
    const file = absent === undefined ? undefined : unread.find((each) => mayDeclare(each, absent));
    if (absent === undefined || file === undefined) return true;
    omitted.set(file, (omitted.get(file) ?? new Set()).add(absent));
    return false;
  });
  return [...remaining, ...[...omitted].map(([file, addresses]) => uncheckedReferences(file, [...addresses]))];
}

/** Returns false if the name does not occur in the file, so that the file cannot declare it. */
function mayDeclare({ text }: UnreadFile, address: Address): boolean {
  const name = address.slice(address.indexOf('/') + 1);
  return text === undefined || /[^\w.-]/.test(name) || text.includes(name);
}

function uncheckedReferences({ file, line, column }: UnreadFile, [first, ...more]: readonly Address[]): Finding {
  const targets = more.length === 0 ? first : `${first} and ${more.length} more`;
  const place = { ...(line !== undefined && { line }), ...(column !== undefined && { column }) };
  const message = `references to ${targets} were not checked, because this file may declare ${more.length === 0 ? 'it' : 'them'}`;
  return { severity: 'warning', code: 'unchecked-references', message, file, ...place };
}

/** A file with unknown declarations: the file cannot be read completely, or a manifest in it has an unknown kind or no name. */
interface UnreadFile {
  readonly file: string;
  /** The line of the first problem in the file. */
  readonly line: number | undefined;
  readonly column: number | undefined;
  /** The text of the file. Undefined if the file may declare any name. */
  readonly text: string | undefined;
}

interface FileDeclarations {
  readonly declarations: readonly Declaration[];
  readonly findings: readonly Finding[];
  readonly unread?: UnreadFile | undefined;
}

/** The result of evaluating a declaration in a workspace. */
export interface EvaluatedResource {
  readonly resource: Resource;
  readonly checked: CheckedDeclaration;
  readonly findings: readonly Finding[];
}

interface CachedResource {
  readonly result: EvaluatedResource;
  /** The files that the evaluation used, including secrets, with their contents. */
  readonly inputs: readonly (readonly [file: string, content: unknown])[];
}

/** Caches results of unchanged files. All loads must use the same file view, which returns the same byte array for equal contents. */
export class LoadMemory {
  #files = new WeakMap<Uint8Array, Map<string, FileDeclarations>>();
  #resources = new WeakMap<Declaration, CachedResource>();
  #settings: unknown;

  /** Returns a cache for loads of another workspace. It shares the declarations. */
  forOtherWorkspace(): LoadMemory {
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

  /** Must be called before each load. Discards all cached resources if the settings have changed. */
  beginLoad({ documents: _, ...project }: ProjectConfig, workspace: WorkspaceConfig): void {
    const settings = [project, workspace];
    if (isDeepStrictEqual(settings, this.#settings)) return;
    this.#settings = settings;
    this.#resources = new WeakMap();
  }

  /** Returns the evaluated declaration. Evaluates the declaration again only if a file that it used has changed. */
  resource(declaration: Declaration, inputs: Inputs, make: () => EvaluatedResource): EvaluatedResource {
    const known = this.#resources.get(declaration);
    if (known?.inputs.every(([file, content]) => contentOf(file) === content)) return known.result;
    const { result, files } = inputs.withUsedFiles(make);
    this.#resources.set(declaration, { result, inputs: files.map((file) => [file, contentOf(file)]) });
    return result;
  }
}

function contentOf(file: string): unknown {
  const read = readFileBytes(file);
  return 'bytes' in read ? read.bytes : read.problem.message;
}
