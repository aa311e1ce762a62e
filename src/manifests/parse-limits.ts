import { Lexer } from 'yaml';

/** The parser keeps about a kilobyte of memory a token: what is shorter than this, in characters, needs no counting. */
const ALWAYS_READ = 100_000;
/** A third more than the densest manifests of the largest size have. */
const MOST_TOKENS = 600_000;
/** Brackets that stand open at once; the parser itself gives up not much later, but keeps what it has read until then. */
const MOST_OPEN = 500;

/** Twice as many as the largest projects have resources. */
const MOST_DOCUMENTS = 20_000;

export interface ParseLimit {
  readonly code: string;
  readonly message: string;
  readonly offset: number;
}

/** Why a text would take too much memory to parse, and where that shows; undefined for every text that a person writes. */
export function overLimit(text: string): ParseLimit | undefined {
  if (text.length < ALWAYS_READ && text.split(/^(?:---|\.\.\.)/m, MOST_DOCUMENTS).length < MOST_DOCUMENTS) {
    return undefined;
  }
  let documents = 0;
  let tokens = 0;
  let open = 0;
  let offset = 0;
  let isContent = false;
  for (const token of new Lexer().lex(text)) {
    if (++tokens > MOST_TOKENS) {
      const message = `the file has more than ${MOST_TOKENS} YAML tokens; split it`;
      return { code: 'file-too-large', message, offset };
    }
    if (!isContent && (token === '---' || token === '...') && ++documents > MOST_DOCUMENTS) {
      const message = `the file has more than ${MOST_DOCUMENTS} documents; split it`;
      return { code: 'file-too-large', message, offset };
    }
    if (!isContent && (token === '[' || token === '{')) open++;
    else if (!isContent && (token === ']' || token === '}')) open--;
    if (open > MOST_OPEN) {
      return { code: 'too-deep', message: 'values are nested too deeply to be read', offset };
    }
    isContent = token === SCALAR;
    if (!MARKERS.has(token)) offset += token.length;
  }
  return undefined;
}

/** Tokens that the lexer puts in of itself: a scalar follows, a document begins, a flow ends early. */
const SCALAR = '\u001f';
const MARKERS: ReadonlySet<string> = new Set([SCALAR, '\u0002', '\u0018']);
