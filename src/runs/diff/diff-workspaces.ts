import { kinds } from '../../kinds/index.ts';
import { VERSION } from '../../version.ts';
import { compareWorkspaces, sharedSecrets } from './compare-workspaces.ts';
import type { DiffDocument } from './document.ts';
import { type SeenSide, sideOf } from './side.ts';

/** What is between two workspaces that were looked at. Reads and writes nothing; takes about 50 ms for each secret that they share. */
export async function diffWorkspaces(one: SeenSide, other: SeenSide): Promise<DiffDocument> {
  const comparing = { first: sideOf(one), second: sideOf(other), kinds };
  const secrets = sharedSecrets(comparing);
  await Promise.all([
    comparing.first.fingerprints.prepare(secrets.first),
    comparing.second.fingerprints.prepare(secrets.second),
  ]);
  return compareWorkspaces(comparing, VERSION);
}
