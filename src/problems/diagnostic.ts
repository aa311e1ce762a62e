import { compareText } from './compare-text.ts';

/** One problem in a person's file, as data. `output/diagnostics.ts` turns it into text. */
export interface Diagnostic {
  readonly severity: 'error' | 'warning';
  /** A stable short name of the rule, e.g. `unknown-field`. */
  readonly code: string;
  /** The problem and the expected value. One line, no trailing full stop. */
  readonly message: string;
  /** Relative to the project folder, with forward slashes. */
  readonly file: string;
  /** From 1; absent if the problem is the file itself. */
  readonly line?: number;
  /** From 1, in characters. */
  readonly column?: number;
  /** The path inside the manifest, e.g. `spec.llm_config.model`. */
  readonly path?: string;
  readonly fix?: Fix;
}

/** The fix of the key or value at this place. */
export type Fix =
  | {
      /** Replacements, the most likely first: texts, or an object. */
      readonly instead: readonly (string | Readonly<Record<string, string>>)[];
    }
  | { readonly quotes: 'add' | 'remove' };

/** The order of reports: by file, then by place, errors first, then by rule. */
export function compareDiagnostics(a: Diagnostic, b: Diagnostic): number {
  return (
    compareText(a.file, b.file) ||
    (a.line ?? 0) - (b.line ?? 0) ||
    (a.column ?? 0) - (b.column ?? 0) ||
    compareText(a.severity, b.severity) ||
    compareText(a.code, b.code) ||
    compareText(a.message, b.message)
  );
}

interface Place {
  readonly file: string;
  readonly line?: number | undefined;
  readonly column?: number | undefined;
}

/** `manifests/agents.yaml:12:7`, as far as it is known. */
export function placeOf({ file, line, column }: Place): string {
  return [file, line, line === undefined ? undefined : column].filter((part) => part !== undefined).join(':');
}
