import { generateX25519Identity, identityToRecipient } from 'age-encryption';
import type { SealSettings } from '../../../src/state/seal.ts';
import { Secret } from '../../../src/values/value.ts';

/** Returns the settings of a sealed state with a new identity. */
export async function newSealSettings(name = 'STATE_IDENTITY'): Promise<SealSettings> {
  const identity = await generateX25519Identity();
  return { recipients: [await identityToRecipient(identity)], identity: new Secret(name, identity) };
}
