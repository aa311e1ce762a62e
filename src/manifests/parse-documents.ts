import {
  type Document,
  type DocumentOptions,
  LineCounter,
  type ParseOptions,
  parseAllDocuments,
  type SchemaOptions,
} from 'yaml';
import type { Diagnostic } from '../problems/diagnostic.ts';
import type { Json } from '../values/json.ts';
import { type Finding, formatPath, type OffsetProblem, quoted } from './finding.ts';
import { plainValue } from './plain-value.ts';
import { lineAndColumn } from './read-file.ts';
import { SyntaxProblems, tokensOf } from './syntax-problem.ts';

export interface ParsedDocument {
  /** Index among all documents of the file, including empty ones. */
  readonly index: number;
  /** The line of the first content, starting at 1. */
  readonly line: number;
  /** Undefined if problems make the document unusable. */
  readonly value: Json | undefined;
}

export type ParseProblem = Required<Pick<Diagnostic, 'code' | 'message' | 'line' | 'column'>> &
  Pick<Diagnostic, 'path'>;

export interface ParsedFile {
  readonly documents: readonly ParsedDocument[];
  readonly problems: readonly ParseProblem[];
}

/** The problem that is reported if nesting exhausts the parser's stack. */
const TOO_DEEP = { code: 'too-deep', message: 'values are nested too deeply to be read' };

/** Parses a YAML or JSON text to plain data. Returns its documents and all syntax problems. Never throws. */
export function parseDocuments(text: string): ParsedFile {
  const limit = overLimit(text);
  if (limit !== undefined) {
    const { code, message, offset } = limit;
    return { documents: [], problems: [{ code, message, ...lineAndColumn(text, offset) }] };
  }
  const lines = new LineCounter();
  let yaml: readonly Document.Parsed[];
  try {
    yaml = parseYaml(text, lines);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return { documents: [], problems: [{ ...TOO_DEEP, line: 1, column: 1 }] };
  }
  const documents: ParsedDocument[] = [];
  const problems: ParseProblem[] = [];
  const explainer = new SyntaxProblems(text);
  for (const [index, document] of yaml.entries()) {
    let syntax = syntaxProblems(document, explainer);
    const usable = document.errors.every((error) => error.code === 'NON_STRING_KEY');
    const offset = document.contents?.range?.[0] ?? 0;
    if (document.contents !== null && !isEmpty(document)) {
      const plain = usable ? plainValue(document.contents) : undefined;
      documents.push({ index, line: lines.linePos(offset).line, value: plain?.value });
      if (plain !== undefined) syntax = [...syntax, ...plain.problems];
    }
    for (const { code, message, offset: at, path = [] } of syntax) {
      const pathText = path.length === 0 ? {} : { path: formatPath(path) };
      const { line, col: column } = lines.linePos(at);
      problems.push({ code, message, line, column, ...pathText });
    }
  }
  return { documents, problems };
}

/** A syntax error causes further errors, so only the first error of a document is reported. */
function syntaxProblems(document: Document.Parsed, explainer: SyntaxProblems): OffsetProblem[] {
  const problems: OffsetProblem[] = [];
  const error = document.errors.find(({ code }) => code !== 'NON_STRING_KEY');
  if (error !== undefined) {
    if (error.code === 'RESOURCE_EXHAUSTION') problems.push({ ...TOO_DEEP, offset: error.pos[0] });
    else problems.push({ code: 'yaml-syntax', ...explainer.explain(error) });
  }
  for (const warning of document.warnings) {
    if (warning.code !== 'TAG_RESOLVE_FAILED') continue;
    const tag = warning.message.replace(/^Unresolved tag: /, '').replace(/^tag:yaml\.org,2002:/, '!!');
    problems.push({
      code: 'unknown-tag',
      message: `the YAML tag ${quoted(tag)} is not allowed`,
      offset: warning.pos[0],
    });
  }
  return problems;
}

function isEmpty(document: Document.Parsed): boolean {
  const { contents } = document;
  return contents !== null && 'value' in contents && contents.value === null && contents.range[0] === contents.range[1];
}

/** The length in characters below which tokens are not counted, because the parser needs only about one kilobyte per token. */
const MAX_UNCOUNTED_LENGTH = 100_000;
/** The maximum number of tokens: a third more than in the densest manifest of the maximum file size. */
const MAX_TOKENS = 600_000;
/** The maximum number of open brackets. The parser itself stops at a slightly higher number, but keeps all tokens until then. */
const MAX_OPEN_BRACKETS = 500;

/** The maximum number of documents in a file: twice the number of resources in the largest projects. */
const MAX_DOCUMENTS = 20_000;

/** Returns a problem if parsing the text would need too much memory. */
export function overLimit(text: string): OffsetProblem | undefined {
  if (text.length < MAX_UNCOUNTED_LENGTH && text.split(/^(?:---|\.\.\.)/m, MAX_DOCUMENTS).length < MAX_DOCUMENTS) {
    return undefined;
  }
  let documents = 0;
  let tokens = 0;
  let openBrackets = 0;
  for (const { source, offset, type } of tokensOf(text)) {
    // The lexer puts a token before a plain scalar.
    tokens += type === 'plain' ? 2 : 1;
    if (tokens > MAX_TOKENS) {
      const message = `the file has more than ${MAX_TOKENS} YAML tokens; split it`;
      return { code: 'file-too-large', message, offset };
    }
    if (type !== 'mark') continue;
    if ((source === '---' || source === '...') && ++documents > MAX_DOCUMENTS) {
      const message = `the file has more than ${MAX_DOCUMENTS} documents; split it`;
      return { code: 'file-too-large', message, offset };
    }
    if (source === '[' || source === '{') openBrackets++;
    else if (source === ']' || source === '}') openBrackets--;
    if (openBrackets > MAX_OPEN_BRACKETS) {
      return { code: 'too-deep', message: 'values are nested too deeply to be read', offset };
    }
  }
  return undefined;
}

/** YAML 1.2 with merge keys, string keys and core tags only. `plain-value.ts` finds duplicate keys; the parser takes quadratic time. */
export const yamlOptions = {
  version: '1.2',
  schema: 'core',
  merge: true,
  stringKeys: true,
  uniqueKeys: false,
  resolveKnownTags: false,
  prettyErrors: false,
  logLevel: 'error',
} as const satisfies ParseOptions & DocumentOptions & SchemaOptions;

/**
 * For each token, the parser looks up an environment variable that makes it print the token. The lookups take a third of the parsing time,
 * and a variable must not change our output, so the parser gets an empty environment.
 */
const NO_ENVIRONMENT: NodeJS.ProcessEnv = Object.freeze(Object.create(null) as NodeJS.ProcessEnv);

/** Parses the documents of a YAML or JSON text. @throws RangeError if nesting exhausts the parser's stack. */
export function parseYaml(text: string, lineCounter?: LineCounter): readonly Document.Parsed[] {
  const { env } = process;
  process.env = NO_ENVIRONMENT;
  try {
    const parsed = parseAllDocuments(text, lineCounter ? { ...yamlOptions, lineCounter } : yamlOptions);
    return 'empty' in parsed ? [] : parsed;
  } finally {
    process.env = env;
  }
}

/** Returns the first document of a settings file, with findings if the file is invalid or has more than one document. */
export function onlyDocument(
  text: string,
  { file, name }: { readonly file: string; readonly name: string },
): { value: Json | undefined; findings: Finding[] } {
  const { documents, problems } = parseDocuments(text);
  const [first, second] = documents;
  const problemsInFile: Omit<Finding, 'severity' | 'file'>[] = [...problems];
  if (first === undefined && problemsInFile.length === 0)
    problemsInFile.push({ code: 'empty-file', message: 'the file is empty' });
  if (second !== undefined) {
    const message = `${name} must contain exactly one document`;
    problemsInFile.push({ code: 'extra-document', message, line: second.line, column: 1 });
  }
  const findings = problemsInFile.map((problem): Finding => ({ severity: 'error', file, ...problem }));
  return { value: first?.value, findings };
}
