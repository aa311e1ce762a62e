import type { DiffLine } from '../text-diff.ts';

/** In characters: in a shorter line one sees what changed. */
const longEnough = 60;
/** Of a line: where more of it changed, brackets get in the way of reading. */
const mostChanged = 0.4;

/** A changed line for where there are no colours: `[-gone-]` and `{+new+}` around its changed words, where they help. */
export function bracketed({ sign, text, words }: DiffLine): string {
  if (words === undefined || text.length < longEnough) return text;
  const changed = words.reduce((sum, word) => sum + (word.changed ? word.text.length : 0), 0);
  if (changed > mostChanged * text.length) return text;
  const [open, close] = sign === '-' ? ['[-', '-]'] : ['{+', '+}'];
  return words.map((word) => (word.changed ? `${open}${word.text}${close}` : word.text)).join('');
}
