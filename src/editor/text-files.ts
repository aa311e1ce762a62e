import { TextDocument } from 'vscode-languageserver-textdocument';
import type { Diagnostic } from '../problems/diagnostic.ts';
import { namedFileAt, referencesAt } from './find-references.ts';
import { type PlaceInFile, type ProjectSnapshot, roleOf } from './snapshot.ts';
import { symbolsIn } from './symbols.ts';

/* Files that manifests name with `$file`, such as prompts. */

interface TextUses {
  /** The sorted addresses of the resources that use the file, or the paths of other files that use it. */
  readonly users: readonly string[];
  readonly places: readonly PlaceInFile[];
}

/** Returns the uses of a text file in manifests and patches; undefined for a file that has another role, such as a manifest. */
export function usesOfText(snapshot: ProjectSnapshot, file: string): TextUses | undefined {
  if (roleOf(snapshot, file, snapshot.textOf(file) ?? '') !== undefined) return undefined;
  const places = referencesAt(snapshot, { file, offset: 0, withDeclaration: false });
  const users = places.map((place) => {
    const resource = symbolsIn(snapshot, place.file).find(
      ({ is, range }) => is === 'resource' && range.start <= place.start && place.end <= range.end,
    );
    return resource?.name ?? place.file;
  });
  return { users: [...new Set(users)].sort(), places };
}

/** The codes of diagnostics about values. The text of such a value may be in another file. */
const ABOUT_VALUES = new Set(['out-of-range', 'bad-format', 'not-allowed']);

/** Returns the diagnostics of a project. A diagnostic about text from another file is repeated for that file. */
export function withTextFiles(snapshot: ProjectSnapshot): readonly Diagnostic[] {
  return snapshot.diagnostics.flatMap((diagnostic) => {
    const text = ABOUT_VALUES.has(diagnostic.code) ? snapshot.textOf(diagnostic.file) : undefined;
    if (text === undefined) return [diagnostic];
    const { line = 1, column = 1 } = diagnostic;
    const start = TextDocument.create('', 'yaml', 0, text).offsetAt({ line: line - 1, character: column - 1 });
    const [form] = FORM.exec(text.slice(start)) ?? [];
    const file = form && namedFileAt(snapshot, diagnostic.file, start + form.length);
    if (file === undefined || snapshot.textOf(file) === undefined) return [diagnostic];
    const { severity, code, message } = diagnostic;
    return [diagnostic, { severity, code, message: `${diagnostic.file}: ${message}`, file }];
  });
}

const FORM = /^(?:\{\s*)?["']?\$file["']?\s*:\s*/;
