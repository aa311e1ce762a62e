/** Deeper objects are values of records, which may have any key. */
const ENTRY_LEVELS = 4;

/** A key whose value, or that of its duplicate, JSON.parse would drop silently. */
export interface MisplacedKey {
  readonly key: string;
  /** Starts at 1. */
  readonly line: number;
  readonly problem: 'twice' | 'reserved';
}

/**
 * The first key of a JSON text that its object has twice, or that is `__proto__` among the state's own entries. The text must be JSON. Adds
 * a quarter to the time of reading a state.
 * @param levels objects of the state around the text.
 */
export function misplacedKey(text: string, levels = 0): MisplacedKey | undefined {
  /** The keys so far of each open object; undefined for an array. */
  const open: (Set<string> | undefined)[] = [];
  let isKeyNext = false;
  for (let at = 0; at < text.length; at++) {
    switch (text[at]) {
      case '"': {
        const end = endOfString(text, at);
        const keys = open.at(-1);
        if (isKeyNext && keys !== undefined) {
          const key = keyBetween(text, at, end);
          const isReserved = key === '__proto__' && open.length + levels <= ENTRY_LEVELS;
          if (isReserved || keys.has(key)) {
            return {
              key,
              line: text.slice(0, at).split('\n').length,
              problem: isReserved ? 'reserved' : 'twice',
            };
          }
          keys.add(key);
        }
        isKeyNext = false;
        at = end;
        break;
      }
      case ',':
        isKeyNext = open.at(-1) !== undefined;
        break;
      case '{':
        open.push(new Set());
        isKeyNext = true;
        break;
      case '[':
        open.push(undefined);
        isKeyNext = false;
        break;
      case '}':
      case ']':
        open.pop();
        isKeyNext = false;
        break;
      default:
    }
  }
  return undefined;
}

/** Position of the quote that ends the string which begins at `start`. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end;
}

function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text[first - 1] === '\\') first -= 1;
  return (at - first) % 2 === 1;
}

function keyBetween(text: string, start: number, end: number): string {
  const written = text.slice(start + 1, end);
  return written.includes('\\') ? String(JSON.parse(`"${written}"`)) : written;
}
