import type { OffsetProblem } from './plain-value.ts';
import { tokensOf } from './tokens.ts';

/** The parser keeps about a kilobyte of memory a token: what is shorter than this, in characters, needs no counting. */
const ALWAYS_READ = 100_000;
/** A third more than the densest manifests of the largest size have. */
const MOST_TOKENS = 600_000;
/** Brackets that stand open at once; the parser itself gives up not much later, but keeps what it has read until then. */
const MOST_OPEN = 500;

/** Twice as many as the largest projects have resources. */
const MOST_DOCUMENTS = 20_000;

/** Why a text would take too much memory to parse, and where that shows; undefined for every text that a person writes. */
export function overLimit(text: string): OffsetProblem | undefined {
  if (text.length < ALWAYS_READ && text.split(/^(?:---|\.\.\.)/m, MOST_DOCUMENTS).length < MOST_DOCUMENTS) {
    return undefined;
  }
  let documents = 0;
  let tokens = 0;
  let open = 0;
  for (const { source, offset, type } of tokensOf(text)) {
    // The lexer has put another one before a plain text.
    tokens += type === 'plain' ? 2 : 1;
    if (tokens > MOST_TOKENS) {
      const message = `the file has more than ${MOST_TOKENS} YAML tokens; split it`;
      return { code: 'file-too-large', message, offset };
    }
    if (type !== 'mark') continue;
    if ((source === '---' || source === '...') && ++documents > MOST_DOCUMENTS) {
      const message = `the file has more than ${MOST_DOCUMENTS} documents; split it`;
      return { code: 'file-too-large', message, offset };
    }
    if (source === '[' || source === '{') open++;
    else if (source === ']' || source === '}') open--;
    if (open > MOST_OPEN) {
      return { code: 'too-deep', message: 'values are nested too deeply to be read', offset };
    }
  }
  return undefined;
}
