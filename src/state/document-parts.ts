import { isUtf8 } from 'node:buffer';
import { isDeeperThan, isObject, parsedJson, setOwn } from '../values/json.ts';
import { misplacedKey } from './misplaced-keys.ts';
import {
  type ResourceEntry,
  resourceEntry,
  type WrittenDocument,
  writtenDocument,
} from './state-document.ts';

/** Parsed at once, in bytes: little beside a large state, and enough for V8 to put what it makes where that can stay. */
const PART = 256 * 1024;

/* How the resources lie in what `statePieces` writes. No text in JSON holds a line break, so that these stand between values. */
const OPENING = '\n  "resources": {\n';
const ENTRY_END = '\n    }';
const BETWEEN = `${ENTRY_END},\n`;
const CLOSING = `${ENTRY_END}\n  }`;

/**
 * The document in what `statePieces` wrote, read some resources at a time, so that a large one is never in memory as text as well.
 * Undefined where the bytes are laid out otherwise, or where anything is wrong with them: read as a whole, they tell what.
 * @param deepest levels of arrays and objects that the document may have.
 */
export function parseInParts(bytes: Uint8Array, deepest: number): WrittenDocument | undefined {
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const opening = all.indexOf(OPENING);
  if (opening === -1 || !isUtf8(all)) return undefined;
  const resources: Record<string, ResourceEntry> = {};
  let at = opening + OPENING.length;
  const before = all.toString('utf8', 0, at);
  for (let isLast = false; !isLast; ) {
    const between = all.indexOf(BETWEEN, at + PART);
    isLast = between === -1;
    const end = isLast ? all.indexOf(CLOSING, at) : between;
    if (end === -1) return undefined;
    const entries = entriesIn(`{${all.toString('utf8', at, end + ENTRY_END.length)}}`, deepest - 1);
    if (entries === undefined) return undefined;
    for (const [address, entry] of entries) {
      if (Object.hasOwn(resources, address)) return undefined;
      setOwn(resources, address, entry);
    }
    at = end + BETWEEN.length;
  }
  // Behind the last entry there is no comma.
  const document = documentAround(before, all.toString('utf8', at - 1), deepest);
  return document && { ...document, resources };
}

function entriesIn(text: string, deepest: number): [address: string, entry: ResourceEntry][] | undefined {
  const value = parsedJson(text);
  if (!isObject(value) || isDeeperThan(value, deepest) || misplacedKey(text, 1) !== undefined)
    return undefined;
  const entries: [string, ResourceEntry][] = [];
  for (const [address, entry] of Object.entries(value)) {
    const read = resourceEntry.safeParse(entry);
    if (!read.success) return undefined;
    entries.push([address, read.data]);
  }
  return entries;
}

/** The document without its resources. */
function documentAround(before: string, after: string, deepest: number): WrittenDocument | undefined {
  // Otherwise the resources stand deeper, and are not those of the document.
  if (parsedJson(`${before}}}`) === undefined) return undefined;
  const text = before + after;
  const value = parsedJson(text);
  if (!isObject(value) || isDeeperThan(value, deepest) || misplacedKey(text) !== undefined) return undefined;
  const read = writtenDocument.safeParse(value);
  return read.success ? read.data : undefined;
}
