import { inspect } from 'node:util';
import { isObject, type Json, type JsonObject, mapParts } from './json.ts';

/**
 * A value of a manifest after files, variables and the environment were read: JSON, in which a leaf may be a
 * secret, a reference to another record, or a text joined from such parts.
 */
export type Value = null | boolean | number | string | readonly Value[] | { readonly [key: string]: Value } | Special;

export type Special = Secret | Reference | Join | Unset;

/** A value that must never be shown: every conversion to text gives `(secret)`, except `reveal`. */
export class Secret {
  readonly name: string;
  readonly #text: () => string | undefined;

  /** @param text undefined if the secret is not set; a function if it is read later. */
  constructor(name: string, text: string | undefined | (() => string | undefined)) {
    this.name = name;
    this.#text = typeof text === 'function' ? text : () => text;
  }

  get isSet(): boolean {
    return this.#text() !== undefined;
  }

  /** The plain text, for requests and fingerprints. @throws if the secret is not set */
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

/** The id of another resource's record, or of a knowledge base by its name on the platform. */
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

/** A text with parts that are not known yet, or must not be shown. */
export class Join {
  readonly parts: readonly Value[];
  readonly separator: string;

  constructor(parts: readonly Value[], separator: string) {
    this.parts = parts;
    this.separator = separator;
  }
}

/** An environment variable that is not set. Only offline validation accepts it, as any text. */
export class Unset {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

export function isSpecial(value: unknown): value is Special {
  if (typeof value !== 'object' || value === null) return false;
  return value instanceof Secret || value instanceof Reference || value instanceof Join || value instanceof Unset;
}

/** The special leaves of a value in order, with those inside of joins. */
export function specials(value: Value): readonly (Secret | Reference | Unset)[] {
  const found: (Secret | Reference | Unset)[] = [];
  hasSpecial(value, (special) => {
    found.push(special);
    return false;
  });
  return found;
}

/** True if a part of the value is secret, so no part of it may be shown. */
export function isTainted(value: Value): boolean {
  return hasSpecial(value, (special) => special instanceof Secret);
}

export function references(value: Value): readonly Reference[] {
  return specials(value).filter((special) => special instanceof Reference);
}

/** True if the value needs the id of another record. */
export function hasReference(value: Value): boolean {
  return hasSpecial(value, (special) => special instanceof Reference);
}

/** Tests the special leaves in order until one matches. Most values have none, so this allocates nothing. */
function hasSpecial(value: Value, matches: (special: Secret | Reference | Unset) => boolean): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) {
    for (const item of value) if (hasSpecial(item, matches)) return true;
    return false;
  }
  if (value instanceof Join) return value.parts.some((part) => hasSpecial(part, matches));
  if (isSpecial(value)) return matches(value);
  const object = value as { readonly [key: string]: Value };
  for (const key of Object.keys(object)) if (hasSpecial(object[key] as Value, matches)) return true;
  return false;
}

/** The value with each special leaf replaced. Joins of plain text become text. */
export function mapSpecials(value: Value, replace: (special: Secret | Reference | Unset) => Value): Value {
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Join) {
    return joined(
      value.parts.map((part) => mapSpecials(part, replace)),
      value.separator,
    );
  }
  if (isSpecial(value)) return replace(value);
  return mapParts<Value, Value>(value, (part) => mapSpecials(part, replace));
}

/** A text if every part is plain, otherwise a `Join`. */
export function joined(parts: readonly Value[], separator: string): string | Join {
  const plain = parts.every(
    (part) => typeof part === 'string' || typeof part === 'number' || typeof part === 'boolean',
  );
  return plain ? parts.map(String).join(separator) : new Join(parts, separator);
}

/** The value with ids in place of the references that `idOf` knows. */
export function withReferences(value: Value, idOf: (reference: Reference) => string | undefined): Value {
  return mapSpecials(value, (special) => (special instanceof Reference ? (idOf(special) ?? special) : special));
}

/**
 * The plain JSON of a request. Only this function puts secrets back into a value.
 * @throws for an unresolved reference or a secret that is not set, which earlier checks exclude.
 */
export function revealed(value: Value): Json {
  return mapSpecials(value, (special) => {
    if (special instanceof Secret) return special.reveal();
    const name = special instanceof Reference ? special.address : special.name;
    throw new Error(`${name} has no value`);
  }) as Json;
}

/** The value in the forms of a manifest, for a saved plan: with names of secrets, never their text. */
export function toForms(value: Value): Json {
  if (value instanceof Secret) return { $secret: value.name };
  if (value instanceof Reference) return { $ref: value.address };
  if (value instanceof Unset) return { $env: value.name };
  if (value instanceof Join) return { $join: value.parts.map(toForms), separator: value.separator };
  const isLikeForm = isObject(value) && Object.keys(value).some((key) => key.startsWith('$'));
  return isLikeForm && isPlain(value) ? { $literal: value as Json } : mapParts<Value, Json>(value, toForms);
}

/** The reverse of `toForms`; `secret` supplies the text of a secret by its name. */
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

/** True if there is no special leaf in the value. */
export function isPlain(value: Value): boolean {
  return !hasSpecial(value, () => true);
}
