import type { FieldBody, FieldView } from '../field-view.ts';
import { escapeMarkup } from '../markup.ts';
import type { DiffLine } from '../text-diff.ts';

/** New texts longer than this many lines are folded. */
const longText = 15;

/** A field with its values; of a text what changed in it, with the words marked. */
export function fieldHtml({ path, body, notes }: FieldView): string {
  const said = notes.map((note) => ` <span class="note">${escapeMarkup(note)}</span>`).join('');
  const isShort = body.form === 'value' || body.form === 'change';
  return `<div class="field${isShort ? ' short' : ''}"><div><code class="path">${escapeMarkup(path)}</code>${said}</div>${bodyHtml(body)}</div>`;
}

function bodyHtml(body: FieldBody): string {
  switch (body.form) {
    case 'value':
      return `<span class="value mono"><ins>${escapeMarkup(body.after)}</ins></span>`;
    case 'change':
      return `<span class="value mono"><del>${escapeMarkup(body.before)}</del><span class="arrow" aria-label="becomes">→</span><ins>${escapeMarkup(body.after)}</ins></span>`;
    case 'text': {
      const was =
        body.before === undefined
          ? ''
          : `<span class="value mono"><del>${escapeMarkup(body.before)}</del></span>`;
      const lines = body.lines.map((text) => `<span class="line">${escapeMarkup(text)}</span>`);
      const rest = body.more === 0 ? '' : `<p class="faint">${body.more} more lines</p>`;
      const text = `<pre>${lines.join('')}</pre>${rest}`;
      if (lines.length <= longText) return was + text;
      return `${was}<details class="more"><summary>${lines.length} lines</summary>${text}</details>`;
    }
    case 'diff':
      return `<pre>${body.lines.map(lineHtml).join('')}</pre>`;
    default:
      return body satisfies never;
  }
}

function lineHtml({ sign, text, words }: DiffLine): string {
  if (sign === '@' || sign === '~') return `<span class="line place">${escapeMarkup(text)}</span>`;
  if (sign === ' ') return `<span class="line">  ${escapeMarkup(text)}</span>`;
  const [name, tag] = sign === '+' ? ['came', 'ins'] : ['went', 'del'];
  const marked = (words ?? [{ text, changed: false }])
    .map((word) => (word.changed ? `<${tag}>${escapeMarkup(word.text)}</${tag}>` : escapeMarkup(word.text)))
    .join('');
  return `<span class="line ${name}">${sign} ${marked}</span>`;
}
