import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { afterAll, beforeAll } from 'vitest';

const { scrypt } = crypto;

/**
 * Has the tests of a file work out each slow hash once: many commands on one state ask for the same ones. How often a command
 * asks for them is shown elsewhere, without this.
 */
export function rememberSlowHashes(): void {
  const known = new Map<string, Promise<readonly [Error | null, Buffer]>>();
  const remembering = (...args: readonly unknown[]) => {
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
  };
  beforeAll(() => take(remembering as typeof scrypt));
  afterAll(() => take(scrypt));
}

function take(chosen: typeof scrypt): void {
  crypto.scrypt = chosen;
  syncBuiltinESMExports();
}
