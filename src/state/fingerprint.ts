import { randomBytes, scrypt } from 'node:crypto';
import { isObject, type Json, type JsonObject, mapParts } from '../values/json.ts';
import { isSymbolic, Join, Secret, symbolicLeaves, type Value } from '../values/value.ts';

/*
 * Fingerprints make it possible to compare secrets without storing them. They are keyed with the state's salt, and slow to compute, so that
 * short secrets cannot be guessed from a state.
 */

export type Fingerprints = ReturnType<typeof createFingerprints>;

const COST = { N: 2 ** 14, r: 8, p: 1 } as const;
const KEY_BYTES = 24;
const MAX_CONCURRENT = 2;

/** Creates the key for the fingerprints of one state. */
export function newSalt(): string {
  return randomBytes(24).toString('base64url');
}

export function createFingerprints(salt: string) {
  const known = new Map<string, string>();
  const inFlight = new Map<string, Promise<void>>();
  let free = MAX_CONCURRENT;
  const waiting: (() => void)[] = [];

  const compute = async (value: string): Promise<void> => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      known.set(value, await slowHash(value, salt));
    } finally {
      const next = waiting.shift();
      if (next === undefined) free += 1;
      else next();
      inFlight.delete(value);
    }
  };

  return {
    /** Computes the missing fingerprints, two at a time. Each computation takes about 50 ms and 16 MiB. */
    async prepare(values: Iterable<string>): Promise<void> {
      const needed: Promise<void>[] = [];
      for (const value of new Set(values)) {
        if (known.has(value)) continue;
        const running = inFlight.get(value) ?? compute(value);
        inFlight.set(value, running);
        needed.push(running);
      }
      await Promise.all(needed);
    },
    /** Returns the fingerprint of a value. @throws Error if the value was not prepared. */
    of(value: string): string {
      const fingerprint = known.get(value);
      if (fingerprint === undefined) throw new Error('a fingerprint was requested before it was prepared');
      return fingerprint;
    },
  };
}

/**
 * Returns the stored form of a resolved value: a secret as `{ "$fingerprint": "…" }`, a join as `{ "$join": […], "separator": "…" }`, and
 * an object that has a key starting with `$` as `{ "$literal": … }`. Different values have different forms.
 * @throws Error for an unresolved reference or variable, and for a secret that was not prepared.
 */
export function mask(value: Value, fingerprints: Fingerprints): Json {
  if (value instanceof Secret) return { $fingerprint: fingerprints.of(value.reveal()) };
  if (value instanceof Join) {
    return { $join: value.parts.map((part) => mask(part, fingerprints)), separator: value.separator };
  }
  if (isSymbolic(value)) throw new Error('a value with unresolved references or variables cannot be recorded');
  const masked = mapParts<Value, Json>(value, (part) => mask(part, fingerprints));
  const isAmbiguous = isObject(masked) && Object.keys(masked).some((key) => key.startsWith('$'));
  return isAmbiguous ? { $literal: masked } : masked;
}

/** True if a stored value contains a fingerprint, which means that at least a part of the value was secret. */
export function isMasked(value: Json | undefined): boolean {
  if (Array.isArray(value)) return value.some(isMasked);
  if (!isObject(value)) return false;
  // The keys of a literal come from the user, even those that start with `$`.
  if (isObject(value.$literal)) return Object.values(value.$literal as JsonObject).some(isMasked);
  return typeof value.$fingerprint === 'string' || Object.values(value).some(isMasked);
}

/** Returns the secrets whose fingerprints `mask` needs. @throws Error for a secret that is not set. */
export function secretTexts(value: Value): string[] {
  const texts = new Set<string>();
  for (const leaf of symbolicLeaves(value)) if (leaf instanceof Secret) texts.add(leaf.reveal());
  return [...texts];
}

function slowHash(value: string, salt: string): Promise<string> {
  return new Promise((resolve, reject) => {
    scrypt(value, salt, KEY_BYTES, COST, (error, key) => {
      if (error === null) resolve(key.toString('base64url'));
      else reject(error);
    });
  });
}
