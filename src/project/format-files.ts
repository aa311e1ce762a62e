import path from 'node:path';
import { findFiles } from '../manifests/find-files.ts';
import { formatText } from '../manifests/formatting/format-text.ts';
import type { KindSchema } from '../manifests/kind-schema.ts';
import { CannotEdit } from '../manifests/write-back/change.ts';
import { compareDiagnostics, type Diagnostic } from '../problems/diagnostic.ts';
import { PROJECT_FILES } from './find-project.ts';
import { manifestOrder, projectOrder } from './format-order.ts';
import type { ProjectConfig } from './project.ts';
import type { FileEdit } from './write-back/edit-plan.ts';
import { editableFile } from './write-back/editable-file.ts';

interface FormattedFiles {
  /** Those that are not in canonical form. */
  readonly edits: readonly FileEdit[];
  /** How many were looked at. */
  readonly count: number;
  /** About files that cannot be formatted and are left as they are. */
  readonly diagnostics: readonly Diagnostic[];
}

interface FormatOptions {
  /** The folder that must hold the files; a real path. */
  readonly root: string;
  /** Relative to it, with forward slashes. */
  readonly files: readonly string[];
  readonly kinds: ReadonlyMap<string, KindSchema>;
}

/** All files of a project that have a canonical form: its manifests and `voxform.yaml`. */
export function projectFiles({ root, file, manifests }: ProjectConfig): readonly string[] {
  const own = file === undefined ? [] : [file];
  return [...new Set([...own, ...findFiles(root, manifests).files])];
}

/** The text of a file in canonical form. @param file relative to the project folder. */
export function formattedText(
  file: string,
  text: string,
  kinds: FormatOptions['kinds'],
): ReturnType<typeof formatText> {
  const isProject = PROJECT_FILES.includes(file);
  return formatText(text, isProject ? () => projectOrder(kinds) : (value) => manifestOrder(value, kinds));
}

/** Files as they would be in canonical form. Writes none. */
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
      else if (formatted.text !== text)
        edits.push({ file, before: mark + text, after: mark + formatted.text });
    } catch (error) {
      if (!(error instanceof CannotEdit)) throw error;
      report(file, { code: 'unreadable-file', message: error.message });
    }
  }
  return { edits, count: files.length, diagnostics: diagnostics.sort(compareDiagnostics) };
}
