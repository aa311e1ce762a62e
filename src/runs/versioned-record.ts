import { kinds } from '../kinds/index.ts';
import type { Versions } from '../kinds/kind.ts';
import { EXPECTED_ADDRESS, parseAddress } from '../manifests/resource.ts';
import { didYouMean } from '../problems/suggest.ts';
import { advice, command, ExitCode, UserError, usageError } from '../problems/user-error.ts';
import type { State } from '../state/state.ts';
import type { ResourceEntry } from '../state/state-document.ts';

/** A managed record of a kind with published versions. */
export interface VersionedRecord {
  readonly address: string;
  readonly kind: string;
  readonly id: string;
  readonly versions: Versions;
  readonly entry: ResourceEntry;
}

/** @throws UserError if the kind has no versions, or if the state has no id of the address. */
export function versionedRecord(address: string, state: State): VersionedRecord {
  const parsed = parseAddress(address);
  if (parsed === undefined) throw usageError(EXPECTED_ADDRESS);
  const kind = kinds.get(parsed.kind);
  if (kind === undefined) throw unknownInState(address, state.resources.keys());
  if (kind.versions === undefined) {
    const kindsWithVersions = [...kinds.values()].filter((each) => each.versions !== undefined).map(({ name }) => name);
    throw usageError(`${address} has no versions: only ${kindsWithVersions.join(', ')} resources have versions`);
  }
  const entry = state.resources.get(address);
  if (entry === undefined && state.pending.has(address)) throw unresolvedCreate(address);
  if (entry === undefined) throw unknownInState(address, state.resources.keys());
  return { address, kind: kind.name, id: entry.id, versions: kind.versions, entry };
}

export function noSuchVersion(address: string, version: number, cause?: unknown): UserError {
  return new UserError(`${address} has no published version ${version}`, {
    hint: advice`Run ${command(`versions ${address}`)} to list its versions.`,
    exitCode: ExitCode.usage,
    cause,
  });
}

/** Returns the error for an address whose record is not known yet. */
export function unresolvedCreate(address: string): UserError {
  return new UserError(`${address} has an unknown create: resolve it first`, {
    hint: advice`${command(`import ${address} ID`)}, or ${command(`state resolve ${address} --not-created`)}`,
  });
}

/** Returns the error for an address that is not in the state. Suggests a similar address in the state. */
export function unknownInState(address: string, known: Iterable<string>): UserError {
  return usageError(
    `the state has no ${address}${didYouMean(address, known)}`,
    advice`Run ${command('state list')} to list its addresses.`,
  );
}
