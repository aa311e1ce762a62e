import { type Alias, isAlias, isMap, isScalar, isSeq, type Node, type Pair, type Scalar, type YAMLMap } from 'yaml';
import { hasInexactNumber, isObject, type Json } from '../values/json.ts';
import { type DocumentPath, type OffsetProblem, quoted } from './finding.ts';

/** The maximum number of values that the aliases of a document may expand to. */
const MAX_ALIASED_NODES = 100_000;
const MAX_DEPTH = 100;

interface PlainDocument {
  /** Undefined if the document is unusable. */
  readonly value: Json | undefined;
  readonly problems: readonly OffsetProblem[];
}

/** Converts a document to JSON in one pass. Aliases share the value of their anchor, which bounds the memory. Never throws. */
export function plainValue(root: Node): PlainDocument {
  const reader = new PlainReader();
  try {
    return { value: reader.read(root, 0), problems: reader.problems };
  } catch (error) {
    if (!(error instanceof UnusableDocument)) throw error;
    return { value: undefined, problems: [...reader.problems, error.problem] };
  }
}

class UnusableDocument extends Error {
  readonly problem: OffsetProblem;

  constructor(problem: OffsetProblem) {
    super(problem.message);
    this.problem = problem;
  }
}

interface Anchor {
  /** Undefined while the anchored value is being read. */
  readonly value: Json | undefined;
  readonly size: number;
}

class PlainReader {
  readonly problems: OffsetProblem[] = [];
  readonly #anchors = new Map<string, Anchor>();
  /** The current path. Entries beyond the current depth are stale. */
  readonly #path: (string | number)[] = [];
  #size = 0;
  #aliased = 0;

  read(node: unknown, depth: number): Json {
    this.#size++;
    if (isAlias(node)) return this.#alias(node, depth);
    if (!isScalar(node) && !isMap(node) && !isSeq(node)) return null;
    if (node.anchor === undefined) return this.#content(node, depth);
    const before = this.#size;
    this.#anchors.set(node.anchor, { value: undefined, size: 0 });
    const value = this.#content(node, depth);
    this.#anchors.set(node.anchor, { value, size: this.#size - before });
    return value;
  }

  #content(node: Node, depth: number): Json {
    if (isScalar(node)) return this.#scalar(node, depth);
    if (depth > MAX_DEPTH) {
      const message = `values are nested more than ${MAX_DEPTH} levels deep`;
      throw new UnusableDocument({ code: 'too-deep', message, offset: offsetOf(node) });
    }
    if (isMap(node)) return this.#object(node, depth);
    if (!isSeq(node)) return null;
    return node.items.map((item, index) => {
      this.#path[depth] = index;
      return this.read(item, depth + 1);
    });
  }

  #scalar(node: Scalar, depth: number): Json {
    const { value } = node;
    switch (typeof value) {
      case 'string':
      case 'boolean':
        return value;
      case 'number':
        if (!Number.isFinite(value)) {
          const written = Number.isNaN(value) ? '.nan' : '.inf';
          this.#report('not-finite', `${written} cannot be represented in JSON`, { node, depth });
          return 0;
        }
        if (hasInexactNumber(value)) {
          const message = 'the number has too many digits to be stored exactly; put it in quotes';
          this.#report('inexact-number', message, { node, depth });
        }
        // JSON.stringify drops the sign of negative zero.
        return value === 0 ? 0 : value;
      default:
        return null;
    }
  }

  #object(map: YAMLMap, depth: number): Json {
    const object: Record<string, Json> = {};
    const merged: Json[] = [];
    for (const pair of map.items) {
      const key = this.#key(pair, depth);
      if (key === undefined) continue;
      if (key === '<<' && isScalar(pair.key) && pair.key.type === 'PLAIN') {
        for (const source of this.#merged(pair, depth)) merged.push(source);
        continue;
      }
      this.#path[depth] = key;
      if (Object.hasOwn(object, key)) {
        const message = `the key ${quoted(key)} appears twice in the same object`;
        this.#report('duplicate-key', message, { node: pair.key, depth: depth + 1 });
      }
      object[key] = this.read(pair.value, depth + 1);
    }
    for (const source of merged) {
      if (!isObject(source)) continue;
      for (const key of Object.keys(source)) {
        if (!Object.hasOwn(object, key)) object[key] = source[key] as Json;
      }
    }
    return object;
  }

  #key(pair: Pair, depth: number): string | undefined {
    const key = isScalar(pair.key) ? pair.key.value : undefined;
    if (typeof key === 'string' && key !== '__proto__') return key;
    if (typeof key === 'string') {
      this.#report('forbidden-key', `the key ${quoted(key)} is not allowed`, { node: pair.key, depth });
    } else this.#report('key-not-text', 'a key must be a string', { node: pair.key, depth });
    return undefined;
  }

  /** Returns the values that `<<` merges into an object. Earlier values take precedence. */
  #merged(pair: Pair, depth: number): readonly Json[] {
    this.#path[depth] = '<<';
    const value = this.read(pair.value, depth + 1);
    const sources = Array.isArray(value) ? value : [value];
    if (!sources.every(isObject)) {
      const message = '<< needs an object, or a list of objects';
      this.#report('bad-merge', message, { node: pair.value ?? pair.key, depth });
    }
    return sources;
  }

  #alias(node: Alias, depth: number): Json {
    const anchor = this.#anchors.get(node.source);
    if (anchor === undefined) {
      const message = `no anchor &${node.source} precedes this alias`;
      this.#report('unknown-anchor', message, { node, depth });
      return null;
    }
    if (anchor.value === undefined) {
      const message = `the alias *${node.source} is inside its own anchor`;
      throw new UnusableDocument({ code: 'circular-alias', message, ...this.#at(node, depth) });
    }
    this.#size += anchor.size;
    this.#aliased += anchor.size;
    if (this.#aliased > MAX_ALIASED_NODES) {
      const message = `the document's aliases expand to more than ${MAX_ALIASED_NODES} values`;
      throw new UnusableDocument({ code: 'alias-bomb', message, ...this.#at(node, depth) });
    }
    return anchor.value;
  }

  #report(code: string, message: string, at: { readonly node: unknown; readonly depth: number }): void {
    this.problems.push({ code, message, ...this.#at(at.node, at.depth) });
  }

  #at(node: unknown, depth: number): { readonly offset: number; readonly path: DocumentPath } {
    return { offset: offsetOf(node), path: this.#path.slice(0, depth) };
  }
}

function offsetOf(node: unknown): number {
  return isObject(node) && Array.isArray(node.range) ? Number(node.range[0]) : 0;
}
