import { htmlSpelling } from '../values/html-spelling.ts';
import { escapeControls } from './escape-controls.ts';

/** Text for XML or HTML, between tags or in a quoted attribute, on one line. XML forbids most control characters: they are written as escapes. */
export function escapeMarkup(text: string): string {
  // U+FFFE and U+FFFF are no characters of XML either.
  return htmlSpelling(escapeControls(text).replace(/[\ufffe\uffff]/g, '\ufffd'));
}
