import { diffArrays } from 'diff';
import { escapeControls, escapedLines } from './escape-controls.ts';
import { aroundChanges, markWords, type Word } from './word-marks.ts';

export interface DiffLine {
  /** `@` is a line with the position of the following lines. `~` is a line about omitted lines. */
  readonly sign: '-' | '+' | ' ' | '@' | '~';
  /** The escaped text. */
  readonly text: string;
  /** The text split into changed and unchanged parts, if some of its words changed. */
  readonly words?: readonly Word[];
  /** The section headings of a position. */
  readonly section?: string;
}

interface TextDiffOptions {
  /** True to include long lines in full, and differences in white space. */
  readonly whole?: boolean;
  /** True for Markdown, in which white space seldom matters. */
  readonly prose?: boolean;
}

const contextLines = 2;
/** The maximum number of differing lines. A larger diff takes too long to compute and is no more useful than the two texts. */
const maxEdits = 1000;

/**
 * Returns the differing lines of two texts with up to two lines of context. In prose, the position of each part contains its headings, and
 * lines that differ only in white space are counted instead of shown.
 */
export function diffTexts(
  before: string,
  after: string,
  { whole = false, prose = false }: TextDiffOptions = {},
): DiffLine[] {
  if (before === after) return [];
  const fold = prose && !whole;
  const [old, now] = [before.split('\n'), after.split('\n')];
  const aligned = alignedLines(old, now, fold);
  if (aligned === undefined) {
    const signed = (sign: '-' | '+', text: string) => escapedLines(text).map((line) => ({ sign, text: line }));
    return [...signed('-', before), ...signed('+', after)];
  }
  const texts: Texts = { sections: prose ? sectionsOf(now) : now.map(() => none), whole, fold };
  const stretches = prose ? aligned.flatMap(splitAtHeadings) : aligned;
  const parts = partsOf(stretches, texts);
  const needsPosition = parts.length > 1 || startOf(parts[0]?.stretches) > 0;
  const folded = fold ? foldedLines(stretches) : 0;
  const remark = folded === 1 ? '1 line differs only in white space' : `${folded} lines differ only in white space`;
  return [
    ...parts.flatMap((part) => renderPart(part, { ...texts, needsPosition })),
    ...(folded === 0 ? [] : [{ sign: '~' as const, text: remark }]),
  ];
}

const none: readonly string[] = [];

interface Texts {
  /** The headings above each line of the new text. */
  readonly sections: readonly (readonly string[])[];
  readonly whole: boolean;
  /** True if lines that differ only in the amount of white space are treated as equal. */
  readonly fold: boolean;
}

/** One unchanged line, or a run of changed lines. */
interface Stretch {
  readonly isChanged: boolean;
  readonly before: readonly string[];
  readonly after: readonly string[];
  /** The line index in the new text. */
  readonly at: number;
}

/** Aligns two texts. Returns undefined if they have too little in common. */
function alignedLines(old: readonly string[], now: readonly string[], fold: boolean): Stretch[] | undefined {
  const key = fold ? withoutExtraSpace : String;
  const parts = diffArrays(old.map(key), now.map(key), { maxEditLength: maxEdits });
  if (parts === undefined) return undefined;
  const stretches: Stretch[] = [];
  let [from, at] = [0, 0];
  for (const { value, added, removed } of parts) {
    const before = added ? none : old.slice(from, from + value.length);
    const after = removed ? none : now.slice(at, at + value.length);
    const last = stretches.at(-1);
    if (!added && !removed) {
      for (const [index, line] of after.entries())
        stretches.push({ isChanged: false, before: before.slice(index, index + 1), after: [line], at: at + index });
    } else if (last?.isChanged) {
      const joined = { before: [...last.before, ...before], after: [...last.after, ...after] };
      stretches[stretches.length - 1] = { ...last, ...joined };
    } else stretches.push({ isChanged: true, before, after, at });
    from += before.length;
    at += after.length;
  }
  return stretches;
}

/** Collapses spaces, tabs, carriage returns and no-break spaces. Zero-width characters do not count as white space. */
function withoutExtraSpace(line: string): string {
  return line.replace(/[ \t\r\u00a0]{2,}|[\t\r\u00a0]/g, ' ').trim();
}

function isBlank(line: string): boolean {
  return line.trim() === '';
}

/** Splits a change before each new heading and the empty lines above it, unless the change also removes a heading. */
function splitAtHeadings(stretch: Stretch): Stretch[] {
  const { isChanged, before, after, at } = stretch;
  if (!isChanged || before.some(isHeading)) return [stretch];
  const headings = [...after.keys()].filter((line) => isHeading(after[line] ?? ''));
  const starts = headings
    .map((line) => after.slice(0, line).findLastIndex((text) => !isBlank(text)) + 1)
    .filter((start) => start > 0);
  return [0, ...starts].map((start, index) => ({
    isChanged,
    before: index === 0 ? before : none,
    after: after.slice(start, starts[index]),
    at: at + start,
  }));
}

/** Changes that are close to each other and under the same headings, with context. */
interface DiffPart {
  readonly section: readonly string[];
  readonly stretches: readonly Stretch[];
}

function partsOf(stretches: readonly Stretch[], texts: Texts): DiffPart[] {
  const parts: { section: readonly string[]; from: number; to: number }[] = [];
  for (const [index, stretch] of stretches.entries()) {
    if (!stretch.isChanged || (texts.fold && isFolded(stretch))) continue;
    const section = sectionOf(stretch, texts);
    const inSection = (near: number) => {
      const same = stretches[near];
      return same?.isChanged === false && texts.sections[same.at] === section;
    };
    const last = parts.at(-1);
    let from = index;
    while (from > Math.max(last?.to ?? 0, index - contextLines) && inSection(from - 1)) from--;
    let to = index + 1;
    while (to <= index + contextLines && inSection(to)) to++;
    if (last?.section === section && from <= last.to) last.to = to;
    else parts.push({ section, from, to });
  }
  return parts.map(({ section, from, to }) => ({ section, stretches: withoutBlankEdges(stretches.slice(from, to)) }));
}

/** Returns the headings of the first changed line if it is a heading, otherwise those of the line before the change. */
function sectionOf({ after, at }: Stretch, { sections }: Texts): readonly string[] {
  const first = after.findIndex((line) => !isBlank(line));
  return sections[isHeading(after[first] ?? '') ? at + first : Math.max(0, at - 1)] ?? none;
}

function isFolded({ before, after }: Stretch): boolean {
  return before.every(isBlank) && after.every(isBlank);
}

function foldedLines(stretches: readonly Stretch[]): number {
  return stretches.reduce((sum, stretch) => {
    const { isChanged, before, after } = stretch;
    if (!isChanged) return sum + (before[0] === after[0] ? 0 : 1);
    return sum + (isFolded(stretch) ? Math.max(before.length, after.length) : 0);
  }, 0);
}

function withoutBlankEdges(stretches: readonly Stretch[]): readonly Stretch[] {
  const isShown = ({ isChanged, after }: Stretch) => isChanged || !after.every(isBlank);
  return stretches.slice(stretches.findIndex(isShown), stretches.findLastIndex(isShown) + 1);
}

function startOf([first]: readonly Stretch[] = []): number {
  return first?.at ?? 0;
}

function renderPart(part: DiffPart, texts: Texts & { readonly needsPosition: boolean }): DiffLine[] {
  const stretches = texts.needsPosition ? withoutHeading(part.stretches, texts) : part.stretches;
  const lines = stretches.flatMap((stretch) => linesOf(stretch, texts));
  if (!texts.needsPosition) return lines;
  const section = part.section.map(escapeControls).join(' > ');
  const prefix = section === '' ? '' : `${section}, `;
  return [{ sign: '@', text: `${prefix}line ${startOf(stretches) + 1}`, section }, ...lines];
}

/** Removes the heading from the context, because the position already contains it. */
function withoutHeading(stretches: readonly Stretch[], { sections }: Texts): readonly Stretch[] {
  const [first] = stretches;
  const isNamed = first?.isChanged === false && sections[first.at] !== none && first.after.some(isHeading);
  return isNamed ? withoutBlankEdges(stretches.slice(1)) : stretches;
}

function linesOf({ isChanged, before, after }: Stretch, { whole }: Texts): DiffLine[] {
  const shown = (words: readonly Word[]) =>
    (whole ? words : aroundChanges(words)).map((word) => ({ ...word, text: escapeControls(word.text) }));
  if (!isChanged) {
    const [line] = shown(after.map((text) => ({ text, changed: false })));
    return [{ sign: ' ', text: line?.text ?? '' }];
  }
  const [removed, added] = markWords(before, after);
  const changed = (sign: '-' | '+', text: string, marked: readonly Word[] | undefined): DiffLine => {
    if (marked === undefined) return { sign, text: escapeControls(text) };
    const words = shown(marked);
    return { sign, text: words.map((word) => word.text).join(''), words };
  };
  return [
    ...before.map((text, index) => changed('-', text, removed[index])),
    ...after.map((text, index) => changed('+', text, added[index])),
  ];
}

/** The maximum length of a heading in a position line. */
const MAX_HEADING_LENGTH = 50;

/**
 * Returns the headings above each line of a Markdown text, the outermost first, e.g. `['Support', 'Refunds']`. For a heading
 * line, the array includes this heading. Lines under the same headings share one array. Code fences contain no headings.
 */
export function sectionsOf(lines: readonly string[]): (readonly string[])[] {
  const open: { readonly level: number; readonly title: string }[] = [];
  let section: readonly string[] = [];
  let fence: string | undefined;
  return lines.map((line) => {
    const [, mark] = /^ {0,3}(`{3,}|~{3,})/.exec(line) ?? [];
    if (fence !== undefined) {
      if (mark?.startsWith(fence) && line.trim() === mark) fence = undefined;
      return section;
    }
    fence = mark;
    const heading = headingIn(line);
    if (heading !== undefined) {
      while ((open.at(-1)?.level ?? 0) >= heading.level) open.pop();
      open.push(heading);
      section = open.map(({ title }) => title);
    }
    return section;
  });
}

function isHeading(line: string): boolean {
  return headingIn(line) !== undefined;
}

function headingIn(line: string): { level: number; title: string } | undefined {
  const [, marks, text = ''] = /^ {0,3}(#{1,6})[ \t]+(\S.*?)(?:[ \t]+#+)?[ \t\r]*$/.exec(line) ?? [];
  if (marks === undefined) return undefined;
  const title = text.length > MAX_HEADING_LENGTH ? `${text.slice(0, MAX_HEADING_LENGTH).toWellFormed()}…` : text;
  return { level: marks.length, title };
}

/** The minimum length of a line with brackets. In shorter lines, changes are obvious without brackets. */
const MIN_BRACKETED_LENGTH = 60;
/** The maximum changed share of a line. In lines with more changes, brackets would be noise. */
const MAX_CHANGED_SHARE = 0.4;

/** Returns a changed line for output without colors. Adds `[-removed-]` and `{+added+}` around changed words if this is readable. */
export function bracketed({ sign, text, words }: DiffLine): string {
  if (words === undefined || text.length < MIN_BRACKETED_LENGTH) return text;
  const changed = words.reduce((sum, word) => sum + (word.changed ? word.text.length : 0), 0);
  if (changed > MAX_CHANGED_SHARE * text.length) return text;
  const [open, close] = sign === '-' ? ['[-', '-]'] : ['{+', '+}'];
  return words.map((word) => (word.changed ? `${open}${word.text}${close}` : word.text)).join('');
}
