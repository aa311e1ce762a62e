import { compareText } from './compare-text.ts';

/** A problem in a user's file, as data. `output/diagnostics.ts` formats it. */
export interface Diagnostic {
  readonly severity: 'error' | 'warning';
  /** A stable short name of the rule, e.g. `unknown-field`. */
  readonly code: string;
  /** The problem and the expected value. One line, no trailing full stop. */
  readonly message: string;
  /** The path relative to the project folder, with forward slashes. */
  readonly file: string;
  /** The line number, starting at 1. Absent if the problem concerns the whole file. */
  readonly line?: number;
  /** The column in UTF-16 units, starting at 1. */
  readonly column?: number;
  /** The path inside the manifest, e.g. `spec.llm_config.model`. */
  readonly path?: string;
  readonly fix?: Fix;
}

/** A fix for the key or value at the position of the diagnostic. */
export type Fix =
  | {
      /** Possible replacements, the most likely first. */
      readonly instead: readonly (string | Readonly<Record<string, string>>)[];
    }
  | { readonly quotes: 'add' | 'remove' };

/** Compares diagnostics by file, line, column, severity (errors first), rule and message. */
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

interface Position {
  readonly file: string;
  readonly line?: number | undefined;
  readonly column?: number | undefined;
}

/** Returns a position such as `manifests/agents.yaml:12:7`. Unknown parts are omitted. */
export function positionText({ file, line, column }: Position): string {
  return [file, line, line === undefined ? undefined : column].filter((part) => part !== undefined).join(':');
}
