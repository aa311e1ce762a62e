import { escapeControls, escapedLines } from './escape-controls.ts';
import { isHeading, sectionsOf } from './prompt-diff/headings.ts';
import { alignLines, type Range, type Stretch } from './prompt-diff/line-alignment.ts';
import { aroundChanges, markWords, type Word } from './prompt-diff/word-marks.ts';

export interface DiffLine {
  /** `@` marks the line with a place, `~` a line about omissions. */
  readonly sign: '-' | '+' | ' ' | '@' | '~';
  /** Safe to show. */
  readonly text: string;
  /** The text in parts, if some of its words changed. */
  readonly words?: readonly Word[];
  /** For a place: only the headings. */
  readonly section?: string;
}

interface TextDiffOptions {
  /** Show long lines and differences in white space as they are. */
  readonly whole?: boolean;
  /** For Markdown, in which white space seldom matters. */
  readonly prose?: boolean;
}

const contextLines = 2;

/**
 * The differing lines of two texts with up to two lines of context; empty for equal texts. In prose, each part has its headings, and
 * lines with other white space are only counted.
 */
export function diffTexts(
  before: string,
  after: string,
  { whole = false, prose = false }: TextDiffOptions = {},
): DiffLine[] {
  if (before === after) return [];
  const old = before.split('\n');
  const now = after.split('\n');
  const aligned = alignLines(old, now, { foldSpace: prose && !whole });
  if (aligned === undefined) {
    return [...signed('-', escapedLines(before)), ...signed('+', escapedLines(after))];
  }
  const stretches = prose ? aligned.flatMap((stretch) => splitAtHeadings(stretch, old, now)) : aligned;
  const sections = prose ? sectionsOf(now) : now.map(() => none);
  const texts: Texts = { old, now, sections, whole, fold: prose && !whole };
  const parts = partsOf(stretches, texts);
  const [only] = parts;
  const needsPlace = parts.length > 1 || (only !== undefined && only.line > 1);
  const folded = texts.fold ? foldedLines(stretches, texts) : 0;
  return [
    ...parts.flatMap((part) => rendered(part, { ...texts, needsPlace })),
    ...(folded === 0 ? [] : [{ sign: '~' as const, text: spaceRemark(folded) }]),
  ];
}

const none: readonly string[] = [];

/** A new section is a separate change, unless it may replace an old one. */
function splitAtHeadings(stretch: Stretch, old: readonly string[], now: readonly string[]): Stretch[] {
  if (stretch.type === 'same') return [stretch];
  const { before, after } = stretch;
  if (range(before).some((line) => isHeading(old[line] ?? ''))) return [stretch];
  const headings = range(after).filter((line) => isHeading(now[line] ?? ''));
  const starts = headings.map((line) => afterWords(now, line)).filter((line) => line > after.start);
  const gone = { start: before.end, end: before.end };
  return [after.start, ...starts].map((start, index) => ({
    type: 'changed',
    before: index === 0 ? before : gone,
    after: { start, end: starts[index] ?? after.end },
  }));
}

/** The first of the blank lines before a line, or the line itself. */
function afterWords(lines: readonly string[], line: number): number {
  let start = line;
  while (start > 0 && lines[start - 1]?.trim() === '') start--;
  return start;
}

interface Texts {
  readonly old: readonly string[];
  readonly now: readonly string[];
  /** For each line of the new text. */
  readonly sections: readonly (readonly string[])[];
  readonly whole: boolean;
  readonly fold: boolean;
}

/** Changes close to each other under the same headings, with context. */
interface DiffPart {
  /** In the new text, starting at 1: the first line of the part. */
  readonly line: number;
  readonly section: readonly string[];
  readonly stretches: readonly Stretch[];
}

function partsOf(stretches: readonly Stretch[], texts: Texts): DiffPart[] {
  const parts: DiffPart[] = [];
  let open: { section: readonly string[]; from: number; to: number } | undefined;
  const close = () => {
    if (open === undefined) return;
    const shown = withoutBlankRims(stretches.slice(open.from, open.to), texts);
    parts.push({ line: firstLine(shown) + 1, section: open.section, stretches: shown });
  };
  for (const [index, stretch] of stretches.entries()) {
    if (stretch.type !== 'changed' || isFolded(stretch, texts)) continue;
    const section = sectionOf(stretch, texts);
    const inSection = (at: number) => belongs(stretches[at], section, texts);
    let from = index;
    const floor = open?.to ?? 0;
    while (from > Math.max(floor, index - contextLines) && inSection(from - 1)) from--;
    let to = index + 1;
    while (to < stretches.length && to <= index + contextLines && inSection(to)) to++;
    if (open?.section === section && from <= open.to) open.to = to;
    else {
      close();
      open = { section, from, to };
    }
  }
  close();
  return parts;
}

function belongs(stretch: Stretch | undefined, section: readonly string[], { sections }: Texts): boolean {
  return stretch?.type === 'same' && sections[stretch.after] === section;
}

/** The heading that starts the change, or else the one around it. */
function sectionOf({ after }: Extract<Stretch, { type: 'changed' }>, { now, sections }: Texts): readonly string[] {
  const firstWords = range(after).find((line) => now[line]?.trim() !== '');
  if (firstWords !== undefined && isHeading(now[firstWords] ?? '')) return sections[firstWords] ?? none;
  return sections[Math.max(0, after.start - 1)] ?? none;
}

function isFolded({ before, after }: Extract<Stretch, { type: 'changed' }>, { old, now, fold }: Texts): boolean {
  return (
    fold &&
    range(before).every((line) => old[line]?.trim() === '') &&
    range(after).every((line) => now[line]?.trim() === '')
  );
}

function foldedLines(stretches: readonly Stretch[], texts: Texts): number {
  return stretches.reduce((sum, stretch) => {
    if (stretch.type === 'same') return sum + (stretch.exact ? 0 : 1);
    if (!isFolded(stretch, texts)) return sum;
    return sum + Math.max(range(stretch.before).length, range(stretch.after).length);
  }, 0);
}

function spaceRemark(count: number): string {
  return count === 1 ? '1 line differs only in white space' : `${count} lines differ only in white space`;
}

/** Blank lines at the edges are omitted. */
function withoutBlankRims(stretches: readonly Stretch[], { now }: Texts): readonly Stretch[] {
  const tells = (stretch: Stretch) => stretch.type === 'changed' || now[stretch.after]?.trim() !== '';
  return stretches.slice(stretches.findIndex(tells), stretches.findLastIndex(tells) + 1);
}

function firstLine([first]: readonly Stretch[]): number {
  if (first === undefined) return 0;
  return first.type === 'same' ? first.after : first.after.start;
}

function rendered(part: DiffPart, texts: Texts & { readonly needsPlace: boolean }): DiffLine[] {
  const stretches = texts.needsPlace ? withoutHeading(part.stretches, texts) : part.stretches;
  const lines = stretches.flatMap((stretch) =>
    stretch.type === 'same' ? [sameLine(stretch.after, texts)] : changedLines(stretch, texts),
  );
  if (!texts.needsPlace) return lines;
  const section = part.section.map(escapeControls).join(' > ');
  const place = section === '' ? '' : `${section}, `;
  return [{ sign: '@', text: `${place}line ${firstLine(stretches) + 1}`, section }, ...lines];
}

/** The place already contains the heading. */
function withoutHeading(stretches: readonly Stretch[], texts: Texts): readonly Stretch[] {
  const [first] = stretches;
  const isNamed =
    first?.type === 'same' && texts.sections[first.after] !== none && isHeading(texts.now[first.after] ?? '');
  return isNamed ? withoutBlankRims(stretches.slice(1), texts) : stretches;
}

function sameLine(index: number, { now, whole }: Texts): DiffLine {
  const text = now[index] ?? '';
  return {
    sign: ' ',
    text: escapeControls(whole ? text : (aroundChanges([{ text, changed: false }])[0]?.text ?? '')),
  };
}

function changedLines(
  { before, after }: Extract<Stretch, { type: 'changed' }>,
  { old, now, whole }: Texts,
): DiffLine[] {
  const [went, came] = [range(before).map((line) => old[line] ?? ''), range(after).map((line) => now[line] ?? '')];
  const [wentWords, cameWords] = markWords(went, came);
  const line = (sign: '-' | '+', text: string, words: readonly Word[] | undefined): DiffLine => {
    if (words === undefined) return { sign, text: escapeControls(text) };
    const shown = (whole ? words : aroundChanges(words)).map((word) => ({
      ...word,
      text: escapeControls(word.text),
    }));
    return { sign, text: shown.map((word) => word.text).join(''), words: shown };
  };
  return [
    ...went.map((text, index) => line('-', text, wentWords[index])),
    ...came.map((text, index) => line('+', text, cameWords[index])),
  ];
}

function range({ start, end }: Range): number[] {
  return Array.from({ length: end - start }, (_, index) => start + index);
}

function signed(sign: '-' | '+', texts: readonly string[]): DiffLine[] {
  return texts.map((text) => ({ sign, text }));
}

/** Characters. In shorter lines, changes are obvious. */
const longEnough = 60;
/** The part of a line: with more changes, brackets disturb the reader. */
const mostChanged = 0.4;

/** A changed line without colours: `[-gone-]` and `{+new+}` around changed words, if helpful. */
export function bracketed({ sign, text, words }: DiffLine): string {
  if (words === undefined || text.length < longEnough) return text;
  const changed = words.reduce((sum, word) => sum + (word.changed ? word.text.length : 0), 0);
  if (changed > mostChanged * text.length) return text;
  const [open, close] = sign === '-' ? ['[-', '-]'] : ['{+', '+}'];
  return words.map((word) => (word.changed ? `${open}${word.text}${close}` : word.text)).join('');
}
