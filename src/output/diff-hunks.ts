import type { DiffLine } from './text-diff.ts';

/** A part of a diff: lines that changed, with what is around them and where they are. */
export interface Hunk {
  /** The same where the same lines change in the same way, wherever they stand. */
  readonly key: string;
  readonly lines: readonly DiffLine[];
}

export function hunksOf(lines: readonly DiffLine[]): Hunk[] {
  const starts = lines.flatMap(({ sign }, index) =>
    index === 0 || sign === '@' || sign === '~' ? [index] : [],
  );
  return starts.map((start, index) => {
    const own = lines.slice(start, starts[index + 1]);
    return { key: JSON.stringify(cored(own).map(({ sign, text }) => [sign, text])), lines: own };
  });
}

function cored(lines: readonly DiffLine[]): readonly DiffLine[] {
  const [start, end] = coreOf(lines);
  return lines.slice(start, end);
}

function coreOf(lines: readonly DiffLine[]): readonly [start: number, end: number] {
  const changes = ({ sign }: DiffLine) => sign === '+' || sign === '-' || sign === '~';
  return [lines.findIndex(changes), lines.findLastIndex(changes) + 1];
}

/** A hunk of several texts: what is around it, and its place, as far as it is the same in all of them. */
export function inAll(first: Hunk, others: readonly Hunk[]): Hunk {
  const all = [first, ...others];
  const [start, end] = coreOf(first.lines);
  const around = (lines: readonly DiffLine[]) => {
    const [from, to] = coreOf(lines);
    return JSON.stringify(
      [lines.slice(0, from), lines.slice(to)].map(context).map((each) => each.map(({ text }) => text)),
    );
  };
  const isSame = new Set(all.map(({ lines }) => around(lines))).size === 1;
  const inner = isSame
    ? context(first.lines.slice(0, start)).concat(first.lines.slice(start))
    : first.lines.slice(start, end);
  const place = placeOf(all.map(({ lines }) => lines.find(({ sign }) => sign === '@')));
  return { key: first.key, lines: [...place, ...inner] };
}

function context(lines: readonly DiffLine[]): DiffLine[] {
  return lines.filter(({ sign }) => sign === ' ');
}

function placeOf(places: readonly (DiffLine | undefined)[]): DiffLine[] {
  const [first] = places;
  if (new Set(places.map((place) => place?.text)).size === 1) return first === undefined ? [] : [first];
  const sections = new Set(places.map((place) => place?.section ?? ''));
  const [section = ''] = sections;
  const text = sections.size === 1 && section !== '' ? section : 'at different places';
  return [{ sign: '@', text }];
}
