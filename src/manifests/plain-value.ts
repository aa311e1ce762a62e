import { isAlias, isMap, isScalar, isSeq, type Node, type Pair, type YAMLMap } from 'yaml';
import { isObject, type Json } from '../values/json.ts';
import { quoted } from './finding.ts';

/** Values that a document may expand to through its aliases. */
const MAX_EXPANDED_NODES = 100_000;
const MAX_DEPTH = 100;
const FORBIDDEN_KEYS: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

/** Something wrong at an offset of the text. */
export interface OffsetProblem {
  readonly code: string;
  readonly message: string;
  readonly offset: number;
}

export interface PlainDocument {
  /** Undefined where the document cannot be used at all. */
  readonly value: Json | undefined;
  readonly problems: readonly OffsetProblem[];
}

/**
 * The JSON that a document stands for, made in one pass over its nodes. Aliases share the value of their anchor, so that the
 * result is small in memory whatever it expands to. Never throws.
 */
export function plainValue(root: Node): PlainDocument {
  const reader = new PlainReader();
  try {
    return { value: reader.read(root, 0), problems: reader.problems };
  } catch (error) {
    if (!(error instanceof Unusable)) throw error;
    return { value: undefined, problems: [...reader.problems, error.problem] };
  }
}

class Unusable extends Error {
  readonly problem: OffsetProblem;

  constructor(code: string, message: string, offset: number) {
    super(message);
    this.problem = { code, message, offset };
  }
}

interface Anchor {
  /** Undefined while the anchored value is still being read. */
  readonly value: Json | undefined;
  /** Nodes that the value expands to. */
  readonly size: number;
}

class PlainReader {
  readonly problems: OffsetProblem[] = [];
  readonly #anchors = new Map<string, Anchor>();
  #size = 0;

  read(node: unknown, depth: number): Json {
    this.#size++;
    if (isAlias(node)) return this.#alias(node.source, offsetOf(node));
    if (!isScalar(node) && !isMap(node) && !isSeq(node)) return null;
    if (node.anchor === undefined) return this.#content(node, depth);
    const before = this.#size;
    this.#anchors.set(node.anchor, { value: undefined, size: 0 });
    const value = this.#content(node, depth);
    this.#anchors.set(node.anchor, { value, size: this.#size - before });
    return value;
  }

  #content(node: Node, depth: number): Json {
    if (isScalar(node)) return this.#scalar(node.value, offsetOf(node));
    if (depth > MAX_DEPTH) {
      throw new Unusable('too-deep', `values are nested more than ${MAX_DEPTH} levels deep`, offsetOf(node));
    }
    if (isSeq(node)) return node.items.map((item) => this.read(item, depth + 1));
    return isMap(node) ? this.#object(node, depth) : null;
  }

  #scalar(value: unknown, offset: number): Json {
    switch (typeof value) {
      case 'string':
      case 'boolean':
        return value;
      case 'number':
        if (!Number.isFinite(value)) {
          this.#report(
            'not-finite',
            `${Number.isNaN(value) ? '.nan' : '.inf'} is not a number that JSON can hold`,
            offset,
          );
          return 0;
        }
        if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
          this.#report(
            'inexact-number',
            'the number has too many digits to be kept exactly; put it in quotes',
            offset,
          );
        }
        return value;
      default:
        return null;
    }
  }

  #object(map: YAMLMap, depth: number): Json {
    const object: Record<string, Json> = {};
    const merged: Json[] = [];
    for (const pair of map.items) {
      const key = this.#key(pair);
      if (key === undefined) continue;
      if (key === '<<' && isScalar(pair.key) && pair.key.type === 'PLAIN') {
        merged.push(...this.#merged(pair, depth));
        continue;
      }
      if (Object.hasOwn(object, key)) {
        this.#report(
          'duplicate-key',
          `the key ${quoted(key)} appears twice in the same object`,
          offsetOf(pair.key),
        );
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

  #key(pair: Pair): string | undefined {
    const key = isScalar(pair.key) ? pair.key.value : undefined;
    if (typeof key !== 'string') {
      this.#report('key-not-text', 'a key must be text', offsetOf(pair.key));
      return undefined;
    }
    if (FORBIDDEN_KEYS.has(key)) {
      this.#report('forbidden-key', `the key ${quoted(key)} is not allowed`, offsetOf(pair.key));
      return undefined;
    }
    return key;
  }

  /** What `<<` lays under an object: earlier sources win over later ones. */
  #merged(pair: Pair, depth: number): readonly Json[] {
    const value = this.read(pair.value, depth + 1);
    const sources = Array.isArray(value) ? value : [value];
    if (!sources.every(isObject)) {
      this.#report('bad-merge', '<< needs an object, or a list of objects', offsetOf(pair.value ?? pair.key));
    }
    return sources;
  }

  #alias(name: string, offset: number): Json {
    const anchor = this.#anchors.get(name);
    if (anchor === undefined) {
      this.#report('unknown-anchor', `nothing before this alias is anchored as &${name}`, offset);
      return null;
    }
    if (anchor.value === undefined) {
      throw new Unusable('circular-alias', `the alias *${name} stands inside the value it names`, offset);
    }
    this.#size += anchor.size;
    if (this.#size > MAX_EXPANDED_NODES) {
      const message = `the document's aliases expand to more than ${MAX_EXPANDED_NODES} values`;
      throw new Unusable('alias-bomb', message, offset);
    }
    return anchor.value;
  }

  #report(code: string, message: string, offset: number): void {
    this.problems.push({ code, message, offset });
  }
}

function offsetOf(node: unknown): number {
  return isObject(node) && Array.isArray(node.range) ? Number(node.range[0]) : 0;
}
