import type { Acceptance } from '../runs/accepted-values.ts';
import { renderFileDiffs, unifiedDiff } from './file-diff.ts';
import { plural } from './plural.ts';
import { paragraphs, type Style, section } from './style.ts';

/** The wording for values that are written to the manifests. It depends on the origin of the values. */
export interface AcceptanceWords {
  readonly verb: string;
  /** The message if there are no values to write. */
  readonly nothing: string;
  /** The next step after the values were written, as a sentence. */
  readonly next?: string;
}

/** Returns the diff of the files, followed by the values that cannot be written back, with reasons. */
export function renderAcceptance(
  { files, accepted, refused, unmoved, unshown = [] }: Acceptance,
  style: Style,
  words: AcceptanceWords,
): string {
  const refusedLines = refused.map(({ address, path, why }) => {
    const subject = path === null ? address : `${address} ${path}`;
    return style.prose(`${subject}: ${why}`, { indent: 2, lead: `${style.warn('!')} ` });
  });
  const refusedCount = refused.length === 0 ? '' : `, ${refused.length} cannot be written back`;
  const counts = `${plural(accepted.length, 'value')} in ${plural(files.length, 'file')}${refusedCount}`;
  return paragraphs([
    renderFileDiffs(files, style).trimEnd(),
    section(style.bold(style.warn('Cannot be written back')), refusedLines),
    ...unmoved.map((address) => style.prose(`${address} has not drifted.`)),
    unshown.length === 0
      ? ''
      : style.prose(`Versions do not contain ${unshown.join(', ')}. These fields stay unchanged.`),
    style.bold(accepted.length + refused.length === 0 ? words.nothing : `${words.verb}: ${counts}.`),
  ]);
}

/** Returns the accepted values as JSON. `written` is false for a dry run, and if there was nothing to write. */
export function acceptanceJson(
  { files, accepted, refused, unmoved, unshown = [] }: Acceptance,
  { workspace, written }: { readonly workspace: string; readonly written: boolean },
): object {
  const diffs = files.map((file) => ({ file: file.file, diff: unifiedDiff(file) }));
  return { workspace, written, files: diffs, accepted, refused, unmoved, unshown };
}
