import { isForm } from '../../manifests/layers.ts';
import type { Json, JsonObject } from '../../values/json.ts';
import { formReason } from './owning-layer.ts';

interface JoinFacts {
  /** The value of a part; undefined if it is unknown or secret. */
  given(part: Json): Json | undefined;
  /** File and line of a character in a part, as written. */
  placeOf(index: number, offset: number): string;
  /** The path of a part's file, relative to the project folder. */
  fileOf(name: string): string;
}

/** Why a joined text cannot be changed as a whole, with the part to edit instead. */
export function joinReason(form: JsonObject, value: Json, { given, placeOf, fileOf }: JoinFacts): string {
  const parts: readonly Json[] = Array.isArray(form.$join) ? form.$join : [];
  const separator = typeof form.separator === 'string' ? form.separator : '\n\n';
  const texts = parts.map((part) => {
    const text = given(part);
    return text === undefined || text === null ? undefined : String(text);
  });
  const moved = typeof value === 'string' ? movedParts(texts, separator, value) : [];
  // Text that was added between two parts may belong to either one. Parts with their own text come first.
  const ranks = moved.map((each) => ({ ...each, rank: rankOf(parts[each.index]) }));
  const [found] = ranks.sort((a, b) => a.rank - b.rank);
  if (found === undefined)
    return `it is joined from parts ($join), of which several changed; the first is at ${placeOf(0, 0)}`;
  const part = parts[found.index];
  const isFile = isForm(part) && typeof part.$file === 'string';
  const place = isFile
    ? `${fileOf(String(part.$file))}:${found.before.slice(0, found.offset).split('\n').length}`
    : placeOf(found.index, found.offset);
  const reason = isForm(part) && !isFile && !Object.hasOwn(part, '$literal') ? `: ${formReason(part)}` : '';
  return `it is joined from parts ($join); edit the part at ${place}${reason}`;
}

function rankOf(part: Json | undefined): number {
  if (!isForm(part)) return 0;
  return Object.hasOwn(part, '$file') ? 1 : 2;
}

/** The parts that can explain the change alone, with the first character that changed. */
function movedParts(texts: readonly (string | undefined)[], separator: string, value: string) {
  return texts.flatMap((before = '', index) => {
    const others = texts.toSpliced(index, 1);
    if (others.includes(undefined)) return [];
    const start = texts
      .slice(0, index)
      .map((text) => text + separator)
      .join('');
    const end = texts
      .slice(index + 1)
      .map((text) => separator + text)
      .join('');
    if (value.length < start.length + end.length || !value.startsWith(start) || !value.endsWith(end))
      return [];
    const after = value.slice(start.length, value.length - end.length);
    let offset = 0;
    while (offset < before.length && before[offset] === after[offset]) offset++;
    return [{ index, before, offset }];
  });
}
