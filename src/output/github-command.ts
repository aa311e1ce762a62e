import { escapeControls } from './escape-controls.ts';

export type AnnotationLevel = 'error' | 'warning' | 'notice';

interface AnnotationPlace {
  readonly file?: string | undefined;
  /** From 1, as the column. */
  readonly line?: number | undefined;
  readonly col?: number | undefined;
  readonly title?: string | undefined;
}

/** A workflow command for GitHub Actions, with its line feed: an annotation at a place in a file. */
export function githubCommand(level: AnnotationLevel, place: AnnotationPlace, message: string): string {
  const properties = Object.entries(place)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${escapeProperty(String(value))}`)
    .join(',');
  return `::${level}${properties === '' ? '' : ` ${properties}`}::${escapeData(message)}\n`;
}

/** A percent sign begins GitHub's own escapes. */
function escapeData(text: string): string {
  return escapeControls(text).replaceAll('%', '%25');
}

/** Colons and commas end a property. */
function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
}
