/** A replacement of a range of a text. */
export interface Splice {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Applies replacements to a text. They must not overlap. */
export function spliced(text: string, splices: readonly Splice[]): string {
  let result = '';
  let done = 0;
  for (const splice of splices.toSorted((a, b) => a.start - b.start || a.end - b.end)) {
    result += text.slice(done, splice.start) + splice.text;
    done = splice.end;
  }
  return result + text.slice(done);
}

/** A text to edit, with its layout. */
export class TextSource {
  readonly text: string;
  /** True if values must use JSON syntax. */
  readonly json: boolean;
  /** True if new values are written on one line, because the usual layout gave a wrong result. */
  readonly compact: boolean;
  /** Its line ending. */
  readonly eol: string;
  /** Indentation of the contents of an object, in columns. */
  readonly step: number;
  /** Indentation of list items under their key, in columns. */
  readonly listStep: number;

  constructor(text: string, { json, compact = false }: { readonly json: boolean; readonly compact?: boolean }) {
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

  /** The end of the line, before its line ending. */
  lineEnd(offset: number): number {
    const newline = this.text.indexOf('\n', offset);
    if (newline === -1) return this.text.length;
    return this.text[newline - 1] === '\r' ? newline - 1 : newline;
  }

  /** The start of the next line, or the end of the text. */
  nextLine(offset: number): number {
    const newline = this.text.indexOf('\n', offset);
    return newline === -1 ? this.text.length : newline + 1;
  }

  column(offset: number): number {
    return offset - this.lineStart(offset);
  }

  /** True if only blanks precede the offset on its line. */
  beginsLine(offset: number): boolean {
    return /^[ \t]*$/.test(this.text.slice(this.lineStart(offset), offset));
  }

  /** True if only blanks and a comment follow the offset on its line. */
  endsLine(offset: number): boolean {
    return /^(?:[ \t]*|[ \t]+#.*)$/.test(this.text.slice(offset, this.lineEnd(offset)));
  }

  /** An insertion of lines after the line of `offset`, which may be the last line. */
  linesAfter(offset: number, lines: readonly string[]): Splice {
    const end = this.lineEnd(offset);
    return { start: end, end, text: lines.map((line) => this.eol + line).join('') };
  }
}

function stepIn(text: string, pattern: RegExp): number | undefined {
  const match = pattern.exec(text.replaceAll('\r\n', '\n'));
  return match === null ? undefined : (match[2] ?? '').length - (match[1] ?? '').length;
}
