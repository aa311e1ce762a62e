import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { afterAll, beforeAll } from 'vitest';

const { scrypt } = crypto;

/*
 * Computes each slow hash once per test file, because many commands on one state need the same ones.
 * `trust/fingerprints.test.ts` disables this, and tests how often a command computes them.
 */

const known = new Map<string, Promise<readonly [Error | null, Buffer]>>();

function remembering(...args: readonly unknown[]): void {
  const asked = args.slice(0, -1);
  const key = JSON.stringify(asked);
  const answer =
    known.get(key) ??
    new Promise((resolve) => {
      Reflect.apply(scrypt, crypto, [...asked, (...said: [Error | null, Buffer]) => resolve(said)]);
    });
  known.set(key, answer);
  const tell = args.at(-1) as (error: Error | null, key: Buffer) => void;
  void answer.then((said) => tell(...said));
}

beforeAll(() => take(remembering as typeof scrypt));
afterAll(() => take(scrypt));

function take(chosen: typeof scrypt): void {
  crypto.scrypt = chosen;
  syncBuiltinESMExports();
}
