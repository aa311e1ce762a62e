import type { LeafPath } from '../values/path.ts';
import type { Value } from '../values/value.ts';

/** `Kind/name`, e.g. `Agent/support-line`. */
export type Address = string;

export interface Source {
  /** Relative to the project folder, with forward slashes. */
  readonly file: string;
  /** From 1: where the document begins. */
  readonly line: number;
}

/** What one manifest declares, once defaults, patches and value forms have been worked in. */
export interface Resource {
  readonly address: Address;
  readonly kind: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** `metadata.id`: adopt this record instead of creating one. */
  readonly id: string | undefined;
  readonly previousNames: readonly string[];
  readonly ignoreDrift: readonly LeafPath[];
  readonly mayReplace: boolean;
  readonly spec: { readonly [key: string]: Value };
  readonly source: Source;
}

export const EXPECTED_ADDRESS = 'Expected an address (Kind/name), such as Agent/support-line.';

/** Splits `Agent/support-line`; undefined where there is no slash with something on both sides. */
export function parseAddress(address: string): { kind: string; name: string } | undefined {
  const slash = address.indexOf('/');
  if (slash <= 0 || slash === address.length - 1) return undefined;
  return { kind: address.slice(0, slash), name: address.slice(slash + 1) };
}

export const NAME_PATTERN = /^[a-z0-9][a-z0-9-]{0,62}$/;
export const NAME_RULE = 'expected 1 to 63 lower-case letters, digits and hyphens, the first not a hyphen';

/** What keeps every manifest from having this address, as the end of a sentence; undefined where nothing does. */
export function undeclarable(address: Address): string | undefined {
  const name = parseAddress(address)?.name ?? '';
  return NAME_PATTERN.test(name) ? undefined : `no manifest can have this name: ${NAME_RULE}`;
}

/** What stands before the slash of an address; empty where there is none. */
export function kindOf(address: Address): string {
  return address.slice(0, Math.max(0, address.indexOf('/')));
}

/** `PhoneNumber` as `phone number`. */
export function nounOf(kind: string): string {
  return kind.replace(/\B[A-Z]/g, ' $&').toLowerCase();
}

/** One text for each record: an id is unique within its kind alone. */
export function idKey(kind: string, id: string): string {
  return `${kind}/${id}`;
}

/** `Agent/day (01J…)`; the id alone where nobody knows a name for it. */
export function namedId(id: string, name: string | undefined): string {
  return name === undefined ? id : `${name} (${id})`;
}

/** True for what may name several addresses: none of these characters can be in one. */
export function isGlob(text: string): boolean {
  return /[*?[\]{}!()]/.test(text);
}
