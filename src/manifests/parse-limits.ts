import type { OffsetProblem } from './plain-value.ts';
import { tokensOf } from './tokens.ts';

/** Characters. The parser needs about one kilobyte per token, so shorter texts need no counting. */
const ALWAYS_READ = 100_000;
/** A third more than the densest manifest of the largest size has. */
const MOST_TOKENS = 600_000;
/** Open brackets. The parser itself gives up soon after, but keeps everything read until then. */
const MOST_OPEN = 500;

/** Twice the resources of the largest projects. */
const MOST_DOCUMENTS = 20_000;

/** Why a text would need too much memory, with the place; undefined for every ordinary text. */
export function overLimit(text: string): OffsetProblem | undefined {
  if (text.length < ALWAYS_READ && text.split(/^(?:---|\.\.\.)/m, MOST_DOCUMENTS).length < MOST_DOCUMENTS) {
    return undefined;
  }
  let documents = 0;
  let tokens = 0;
  let open = 0;
  for (const { source, offset, type } of tokensOf(text)) {
    // The lexer puts a token before a plain scalar.
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
