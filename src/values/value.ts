import { inspect } from 'node:util';
import { isObject, type Json, type JsonObject, mapParts } from './json.ts';

/**
 * A value of a manifest after its files, variables and environment variables were read. It is JSON whose leaves may also be secrets,
 * references to other records, and strings joined from several parts.
 */
export type Value =
  | null
  | boolean
  | number
  | string
  | readonly Value[]
  | { readonly [key: string]: Value }
  | SymbolicValue;

export type SymbolicValue = Secret | Reference | Join | Unset;

/** A value that must never be shown: every conversion to a string except `reveal` returns `(secret)`. */
export class Secret {
  readonly name: string;
  readonly #text: () => string | undefined;

  /** @param text the text of the secret, or a function that reads the text later; undefined if the secret is not set. */
  constructor(name: string, text: string | undefined | (() => string | undefined)) {
    this.name = name;
    this.#text = typeof text === 'function' ? text : () => text;
  }

  get isSet(): boolean {
    return this.#text() !== undefined;
  }

  /** Returns the plain text, for requests and fingerprints. @throws Error if the secret is not set. */
  reveal(): string {
    const text = this.#text();
    if (text === undefined) throw new Error(`the secret ${this.name} is not set`);
    return text;
  }

  toString(): string {
    return '(secret)';
  }

  toJSON(): string {
    return '(secret)';
  }

  [inspect.custom](): string {
    return `Secret(${this.name})`;
  }
}

/** A placeholder for the id of another resource's record, or of a knowledge base that is looked up by its name on the platform. */
export class Reference {
  readonly kind: string;
  /** The name in the manifest. */
  readonly name: string;
  /** The name of a knowledge base on the platform. */
  readonly target: string;

  constructor(kind: string, name: string, target = name) {
    this.kind = kind;
    this.name = name;
    this.target = target;
  }

  get address(): string {
    return `${this.kind}/${this.name}`;
  }
}

/** A string with parts that are not known yet or must not be shown. */
export class Join {
  readonly parts: readonly Value[];
  readonly separator: string;

  constructor(parts: readonly Value[], separator: string) {
    this.parts = parts;
    this.separator = separator;
  }
}

/** An environment variable that is not set. Only offline validation accepts this value, in place of any string. */
export class Unset {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

export function isSymbolic(value: unknown): value is SymbolicValue {
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) === Object.prototype) return false;
  return value instanceof Secret || value instanceof Reference || value instanceof Join || value instanceof Unset;
}

/** Returns the symbolic leaves of a value in order, including those inside joins. */
export function symbolicLeaves(value: Value): readonly (Secret | Reference | Unset)[] {
  const found: (Secret | Reference | Unset)[] = [];
  hasSymbolicLeaf(value, (leaf) => {
    found.push(leaf);
    return false;
  });
  return found;
}

/** True if any part of the value is secret. No part of a tainted value may be shown. */
export function isTainted(value: Value): boolean {
  return hasSymbolicLeaf(value, (leaf) => leaf instanceof Secret);
}

export function references(value: Value): readonly Reference[] {
  return symbolicLeaves(value).filter((leaf) => leaf instanceof Reference);
}

export function hasReference(value: Value): boolean {
  return hasSymbolicLeaf(value, (leaf) => leaf instanceof Reference);
}

/** True if a symbolic leaf matches. Tests the leaves in order without building a list, because most values have no symbolic leaves. */
function hasSymbolicLeaf(value: Value, matches: (leaf: Secret | Reference | Unset) => boolean): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) {
    for (const item of value) if (hasSymbolicLeaf(item, matches)) return true;
    return false;
  }
  if (isSymbolic(value)) {
    return value instanceof Join ? value.parts.some((part) => hasSymbolicLeaf(part, matches)) : matches(value);
  }
  const object = value as { readonly [key: string]: Value };
  // Unlike `Object.keys`, this makes no list of the keys.
  for (const key in object) if (hasSymbolicLeaf(object[key] as Value, matches)) return true;
  return false;
}

/** Replaces each symbolic leaf of a value. A join whose parts are all plain becomes a string. */
export function mapSymbolicLeaves(value: Value, replace: (leaf: Secret | Reference | Unset) => Value): Value {
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Join) {
    return joined(
      value.parts.map((part) => mapSymbolicLeaves(part, replace)),
      value.separator,
    );
  }
  if (isSymbolic(value)) return replace(value);
  return mapParts<Value, Value>(value, (part) => mapSymbolicLeaves(part, replace));
}

/** Joins parts. Returns a string if every part is plain, otherwise a `Join`. */
export function joined(parts: readonly Value[], separator: string): string | Join {
  const plain = parts.every(
    (part) => typeof part === 'string' || typeof part === 'number' || typeof part === 'boolean',
  );
  return plain ? parts.map(String).join(separator) : new Join(parts, separator);
}

/** Replaces the references for which `idOf` returns an id. */
export function withReferences(value: Value, idOf: (reference: Reference) => string | undefined): Value {
  return mapSymbolicLeaves(value, (leaf) => (leaf instanceof Reference ? (idOf(leaf) ?? leaf) : leaf));
}

/**
 * Returns a value as the plain JSON of a request. Only this function puts secrets into a value.
 * @throws Error for an unresolved reference or a secret that is not set. Earlier checks exclude both cases.
 */
export function revealSecrets(value: Value): Json {
  return mapSymbolicLeaves(value, (leaf) => {
    if (leaf instanceof Secret) return leaf.reveal();
    const name = leaf instanceof Reference ? leaf.address : leaf.name;
    throw new Error(`${name} has no value`);
  }) as Json;
}

/** Returns the value in manifest notation (`$secret`, `$ref` and others) for a saved plan. Contains names of secrets, never their text. */
export function toForms(value: Value): Json {
  if (value instanceof Secret) return { $secret: value.name };
  if (value instanceof Reference) return { $ref: value.address };
  if (value instanceof Unset) return { $env: value.name };
  if (value instanceof Join) return { $join: value.parts.map(toForms), separator: value.separator };
  const isLikeForm = isObject(value) && Object.keys(value).some((key) => key.startsWith('$'));
  return isLikeForm && isPlain(value) ? { $literal: value as Json } : mapParts<Value, Json>(value, toForms);
}

/** Parses a value in manifest notation: the inverse of `toForms`. `secret` returns the secret with a given name. */
export function fromForms(forms: Json, secret: (name: string) => Secret): Value {
  if (!isObject(forms)) return mapParts<Json, Value>(forms, (part) => fromForms(part, secret));
  if (typeof forms.$secret === 'string') return secret(forms.$secret);
  if (typeof forms.$env === 'string') return new Unset(forms.$env);
  if (Object.hasOwn(forms, '$literal')) return forms.$literal as Json;
  if (typeof forms.$ref === 'string') {
    const slash = forms.$ref.indexOf('/');
    return new Reference(forms.$ref.slice(0, slash), forms.$ref.slice(slash + 1));
  }
  if (Array.isArray(forms.$join)) {
    return joined(
      forms.$join.map((part) => fromForms(part, secret)),
      String(forms.separator),
    );
  }
  return mapParts<Json, Value>(forms as JsonObject, (part) => fromForms(part, secret));
}

/** True if the value contains no symbolic leaf. */
export function isPlain(value: Value): boolean {
  return !hasSymbolicLeaf(value, () => true);
}
