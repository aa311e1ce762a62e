import type { LeafPath } from '../values/path.ts';
import type { Value } from '../values/value.ts';

/** `Kind/name`, e.g. `Agent/support-line`. */
export type Address = string;

export interface Source {
  /** Relative to the project folder, with forward slashes. */
  readonly file: string;
  /** The line where the document starts. The first line is 1. */
  readonly line: number;
}

/** The content of a manifest after defaults, patches and value forms. */
export interface Resource {
  readonly address: Address;
  readonly kind: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** `metadata.id`: the id of a record to import instead of creating one. */
  readonly id: string | undefined;
  readonly previousNames: readonly string[];
  readonly ignoreDrift: readonly LeafPath[];
  readonly mayReplace: boolean;
  readonly spec: { readonly [key: string]: Value };
  readonly source: Source;
}

export const EXPECTED_ADDRESS = 'Expected an address (Kind/name), such as Agent/support-line.';

/** Splits an address such as `Agent/support-line`. Returns undefined unless a slash separates two non-empty parts. */
export function parseAddress(address: string): { kind: string; name: string } | undefined {
  const slash = address.indexOf('/');
  if (slash <= 0 || slash === address.length - 1) return undefined;
  return { kind: address.slice(0, slash), name: address.slice(slash + 1) };
}

export const NAME_PATTERN = /^[a-z0-9][a-z0-9-]{0,62}$/;
export const NAME_RULE = 'expected 1 to 63 lower-case letters, digits and hyphens, not starting with a hyphen';

/** Returns the reason why no manifest can declare this address, as a clause; undefined if a manifest can declare it. */
export function declarationProblem(address: Address): string | undefined {
  const name = parseAddress(address)?.name ?? '';
  return NAME_PATTERN.test(name) ? undefined : `no manifest can have this name: ${NAME_RULE}`;
}

/** Returns the part of an address before the slash; empty if there is no slash. */
export function kindOf(address: Address): string {
  return address.slice(0, Math.max(0, address.indexOf('/')));
}

/** Returns `phone number` for `PhoneNumber`. */
export function nounOf(kind: string): string {
  return kind.replace(/\B[A-Z]/g, ' $&').toLowerCase();
}

/** Returns a key that is unique across kinds. Ids are unique only within a kind. */
export function idKey(kind: string, id: string): string {
  return `${kind}/${id}`;
}

/** Formats a record as `Agent/day (01J…)`, or as its id if the name is unknown. */
export function namedId(id: string, name: string | undefined): string {
  return name === undefined ? id : `${name} (${id})`;
}

/** Returns true if the text may match several addresses. Addresses contain none of these characters. */
export function isGlob(text: string): boolean {
  return /[*?[\]{}!()]/.test(text);
}
