/** A stretch of a text that another text takes the place of. */
export interface Splice {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** The text with every stretch replaced. Stretches must not overlap. */
export function spliced(text: string, splices: readonly Splice[]): string {
  let result = '';
  let done = 0;
  for (const splice of splices.toSorted((a, b) => a.start - b.start || a.end - b.end)) {
    result += text.slice(done, splice.start) + splice.text;
    done = splice.end;
  }
  return result + text.slice(done);
}

/** A text that is about to be edited, and the layout that its author keeps to. */
export class TextSource {
  readonly text: string;
  /** True where every value must be written as JSON writes it. */
  readonly json: boolean;
  /** True where a new value is written on one line: how people would write it did not say what it should. */
  readonly compact: boolean;
  /** Its line ending. */
  readonly eol: string;
  /** Columns by which what stands inside an object is indented. */
  readonly step: number;
  /** Columns by which the items of a list are indented under their key. */
  readonly listStep: number;

  constructor(
    text: string,
    { json, compact = false }: { readonly json: boolean; readonly compact?: boolean },
  ) {
    this.text = text;
    this.json = json;
    this.compact = compact;
    this.eol = /\r?\n/.exec(text)?.[0] ?? '\n';
    this.step = stepIn(text, /^( *)(?:- )*[^\s#][^\n]*:[ \t]*(?:#[^\n]*)?\n(\1 +)[^\s#-]/m) ?? 2;
    this.listStep = stepIn(text, /^( *)[^\s#-][^\n]*:[ \t]*(?:#[^\n]*)?\n(\1 *)- /m) ?? this.step;
  }

  lineStart(offset: number): number {
    return this.text.lastIndexOf('\n', offset - 1) + 1;
  }

  /** Where the line's own characters end, before its line ending. */
  lineEnd(offset: number): number {
    const newline = this.text.indexOf('\n', offset);
    if (newline === -1) return this.text.length;
    return this.text[newline - 1] === '\r' ? newline - 1 : newline;
  }

  /** Where the following line begins, or the end of the text. */
  nextLine(offset: number): number {
    const newline = this.text.indexOf('\n', offset);
    return newline === -1 ? this.text.length : newline + 1;
  }

  column(offset: number): number {
    return offset - this.lineStart(offset);
  }

  /** True where nothing but blanks stands before the offset on its line. */
  beginsLine(offset: number): boolean {
    return /^[ \t]*$/.test(this.text.slice(this.lineStart(offset), offset));
  }

  /** True where nothing but blanks and a comment follows the offset on its line. */
  endsLine(offset: number): boolean {
    return /^(?:[ \t]*|[ \t]+#.*)$/.test(this.text.slice(offset, this.lineEnd(offset)));
  }

  /** Lines that follow the line of `offset`, which may be the last of the text. */
  linesAfter(offset: number, lines: readonly string[]): Splice {
    const end = this.lineEnd(offset);
    return { start: end, end, text: lines.map((line) => this.eol + line).join('') };
  }
}

function stepIn(text: string, pattern: RegExp): number | undefined {
  const match = pattern.exec(text.replaceAll('\r\n', '\n'));
  return match === null ? undefined : (match[2] ?? '').length - (match[1] ?? '').length;
}
