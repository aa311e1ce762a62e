import type { Diagnostic } from '../problems/diagnostic.ts';
import { escapeControls } from './escape-controls.ts';
import { githubCommand } from './github-command.ts';
import { plural } from './plural.ts';
import type { Excerpt } from './source-excerpt.ts';
import type { Style } from './style.ts';

/**
 * A line for each, `file:line:column  message`, in the order given, with the excerpt below it, and a closing count; empty where there
 * are none.
 */
export function renderDiagnostics(
  diagnostics: readonly Diagnostic[],
  style: Style,
  excerpt: Excerpt = () => '',
): string {
  if (diagnostics.length === 0) return '';
  const lines = diagnostics.map((diagnostic) => {
    const warns = diagnostic.severity === 'warning';
    const place = (warns ? style.warn : style.error)(escapeControls(placeOf(diagnostic)));
    const said = `${place}  ${warns ? `${style.warn('warning:')} ` : ''}${escapeControls(diagnostic.message)}`;
    const below = excerpt(diagnostic, style);
    return below === '' ? said : `${said}\n${below}`;
  });
  return `${lines.join('\n')}\n\n${style.bold(countOf(diagnostics))}\n`;
}

interface DiagnosticsDocument {
  /** True where there is no error; warnings do not count. */
  readonly valid: boolean;
  readonly errors: number;
  readonly warnings: number;
  readonly diagnostics: readonly Diagnostic[];
}

export function diagnosticsJson(diagnostics: readonly Diagnostic[]): DiagnosticsDocument {
  const { errors, warnings } = tally(diagnostics);
  return { valid: errors === 0, errors, warnings, diagnostics };
}

/** A workflow command a line, which GitHub shows beside the manifest's line in a pull request; empty where there are none. */
export function diagnosticsGithub(diagnostics: readonly Diagnostic[]): string {
  return diagnostics
    .map(({ severity, message, file, line, column, code }) =>
      githubCommand(severity, { file, line, col: column, title: `voxform: ${code}` }, message),
    )
    .join('');
}

/** `manifests/agents.yaml:12:7`, without what is not known. */
export function placeOf({ file, line, column }: Diagnostic): string {
  return [file, line, line === undefined ? undefined : column].filter((part) => part !== undefined).join(':');
}

/** `2 errors, 1 warning in 1 file` */
function countOf(diagnostics: readonly Diagnostic[]): string {
  const { errors, warnings } = tally(diagnostics);
  const found = [errors > 0 ? plural(errors, 'error') : '', warnings > 0 ? plural(warnings, 'warning') : ''];
  const files = new Set(diagnostics.map(({ file }) => file)).size;
  return `${found.filter((text) => text !== '').join(', ')} in ${plural(files, 'file')}`;
}

function tally(diagnostics: readonly Diagnostic[]): { errors: number; warnings: number } {
  const errors = diagnostics.filter(({ severity }) => severity === 'error').length;
  return { errors, warnings: diagnostics.length - errors };
}
