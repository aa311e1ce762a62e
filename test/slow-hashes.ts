import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { afterAll, beforeAll } from 'vitest';

const { scrypt } = crypto;

/*
 * Works out each slow hash once in the tests of a file: many commands on one state ask for the same ones. How often a command asks for
 * them is shown in `trust/fingerprints.test.ts`, which takes this away.
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
