import type { Acceptance } from '../runs/accepted-values.ts';
import { renderFileDiffs, unifiedDiff } from './file-diff.ts';
import { plural } from './plural.ts';
import { paragraphs, type Style, section } from './style.ts';

/** The texts for values that are written to the manifests. They depend on the origin of the values. */
export interface AcceptanceWords {
  readonly verb: string;
  /** The message if there are no such values. */
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
  const kept = refused.map(({ address, path, why }) => {
    const which = path === null ? address : `${address} ${path}`;
    return style.prose(`${which}: ${why}`, { indent: 2, lead: `${style.warn('!')} ` });
  });
  const left = refused.length === 0 ? '' : `, ${refused.length} cannot be written back`;
  const counted = `${plural(accepted.length, 'value')} in ${plural(files.length, 'file')}${left}`;
  return paragraphs([
    renderFileDiffs(files, style).trimEnd(),
    section(style.bold(style.warn('Cannot be written back')), kept),
    ...unmoved.map((address) => style.prose(`${address} has not drifted.`)),
    unshown.length === 0 ? '' : style.prose(`Versions do not show ${unshown.join(', ')}: left unchanged.`),
    style.bold(accepted.length + refused.length === 0 ? words.nothing : `${words.verb}: ${counted}.`),
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
