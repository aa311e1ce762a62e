import path from 'node:path';
import { CannotEdit } from '../manifests/editing/change.ts';
import { envelopeSchema, manifestSchema } from '../manifests/envelope.ts';
import { findFiles } from '../manifests/find-files.ts';
import { formatText } from '../manifests/formatting/format-text.ts';
import { type KeyOrder, schemaOrder } from '../manifests/formatting/key-order.ts';
import type { KindSchema } from '../manifests/kind-schema.ts';
import { schemaAt } from '../manifests/schema-fields.ts';
import { compareDiagnostics, type Diagnostic } from '../problems/diagnostic.ts';
import { isObject, type Json } from '../values/json.ts';
import { PROJECT_FILES } from './find-project.ts';
import type { ProjectConfig } from './project.ts';
import { projectSchema, specInProject } from './project-schema.ts';
import { editableFile, type FileEdit } from './write-back/edit-plan.ts';

interface FormattedFiles {
  /** The edits of files that are not in canonical form. */
  readonly edits: readonly FileEdit[];
  /** The number of all files. */
  readonly count: number;
  /** The problems of files that cannot be formatted. These files are left unchanged. */
  readonly diagnostics: readonly Diagnostic[];
}

interface FormatOptions {
  /** Real path of the folder that must contain the files. */
  readonly root: string;
  /** Paths relative to the root, with forward slashes. */
  readonly files: readonly string[];
  readonly kinds: ReadonlyMap<string, KindSchema>;
}

/** Returns all files that have a canonical form: the manifests and `voxform.yaml`. */
export function projectFiles({ root, file, manifests }: ProjectConfig): readonly string[] {
  const own = file === undefined ? [] : [file];
  return [...new Set([...own, ...findFiles(root, manifests).files])];
}

/** Returns the canonical text of a file. @param file its path relative to the project folder. */
export function formattedText(
  file: string,
  text: string,
  kinds: FormatOptions['kinds'],
): ReturnType<typeof formatText> {
  const isProject = PROJECT_FILES.includes(file);
  return formatText(text, isProject ? () => projectOrder(kinds) : (value) => manifestOrder(value, kinds));
}

/** Returns the edits that bring files into canonical form. Writes no file. */
export function formatFiles({ root, files, kinds }: FormatOptions): FormattedFiles {
  const edits: FileEdit[] = [];
  const diagnostics: Diagnostic[] = [];
  const report = (file: string, problem: Omit<Diagnostic, 'severity' | 'file'>): void => {
    diagnostics.push({ severity: 'error', file, ...problem });
  };
  for (const file of files) {
    try {
      const { mark, text } = editableFile(root, path.join(root, file));
      const formatted = formattedText(file, text, kinds);
      if ('problems' in formatted) for (const problem of formatted.problems) report(file, problem);
      else if (formatted.text !== text) edits.push({ file, before: mark + text, after: mark + formatted.text });
    } catch (error) {
      if (!(error instanceof CannotEdit)) throw error;
      report(file, { code: 'unreadable-file', message: error.message });
    }
  }
  return { edits, count: files.length, diagnostics: diagnostics.sort(compareDiagnostics) };
}

type Kinds = ReadonlyMap<string, KindSchema>;

/** Returns the key order of a manifest. The spec of an unknown kind keeps its order. */
export function manifestOrder(document: Json, kinds: Kinds): KeyOrder | undefined {
  const name = isObject(document) ? document.kind : undefined;
  const kind = typeof name === 'string' ? kinds.get(name) : undefined;
  const schema = kind === undefined ? envelopeSchema : manifestSchema(kind);
  return schemaOrder((path) => schemaAt(schema, path));
}

/** Returns the key order of `voxform.yaml`, including its patches and defaults. */
export function projectOrder(kinds: Kinds): KeyOrder | undefined {
  return schemaOrder((path) => {
    const spec = specInProject(path);
    return spec === undefined ? schemaAt(projectSchema(), path) : schemaAt(kinds.get(spec.kind)?.spec, spec.path);
  });
}
