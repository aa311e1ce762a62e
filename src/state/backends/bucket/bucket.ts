import { z } from 'zod';
import { about } from '../../../values/described.ts';
import { isPlainAddress } from '../settings.ts';

/** The objects of one state in an S3 bucket or an Azure container, implemented by each driver. Names are relative to the state's key. */
export interface Bucket {
  /** @returns undefined if the object does not exist. */
  get(name: string, signal: AbortSignal): Promise<BucketObject | undefined>;
  /**
   * @returns the tag of the stored object.
   * @throws WriteConflict if the condition is not met. After errors other than UserError, the object may have been stored.
   */
  put(name: string, bytes: Uint8Array, signal: AbortSignal, condition?: PutCondition): Promise<string>;
  list(signal: AbortSignal): Promise<readonly ListedObject[]>;
  /** Returns the keys of the states of other workspaces. */
  siblings(signal: AbortSignal): Promise<readonly string[]>;
  /** Succeeds even if the object does not exist. */
  remove(name: string, signal: AbortSignal): Promise<void>;
}

interface BucketObject {
  readonly bytes: Uint8Array;
  /** The entity tag, without quotes. */
  readonly tag: string;
}

interface ListedObject {
  readonly name: string;
  /** The time of the last change, measured by the clock of the server. */
  readonly modified: Date;
}

/** The condition of a write: the object must have this tag, or must not exist. */
export type PutCondition =
  | { readonly isAbsent: true }
  | {
      readonly tag: string;
      /** True for a store that compares tags only without quotes. */
      readonly isBare?: boolean | undefined;
    };

/** Returns the value of `If-Match` for a tag. */
export function matchOf({ tag, isBare }: { readonly tag: string; readonly isBare?: boolean | undefined }): string {
  return isBare === true ? tag : `"${tag}"`;
}

export function withoutQuotes(tag: string): string {
  return tag.replace(/^"|"$/g, '');
}

/** Returns the schema of the setting for the key prefix of a state's objects. */
export function objectKey(description: string) {
  return z
    .string()
    .max(900)
    .regex(/^[^/\p{Cc}](?:[^\p{Cc}]*[^/\p{Cc}])?$/u, { error: 'expected a string that does not begin or end with "/"' })
    .meta(about(description, 'voices/{workspace}'));
}

/** Returns the schema of the address of a store. */
export function storeEndpoint(description: string, example: string) {
  return z
    .string()
    .refine((text) => isPlainAddress(text) && new URL(text).search === '', {
      error: 'expected an http or https URL without a user name, password or query',
    })
    .meta(about(description, example));
}

/** The parts of a key before and after `{workspace}`. */
interface Siblings {
  readonly before: string;
  readonly after: string;
}

/** The properties of a state's location in a bucket that are derived from the settings and the project. */
export interface BucketLocation {
  /** Undefined if the keys of other workspaces are unknown. */
  readonly siblings: Siblings | undefined;
  /** True if the project was fetched, so that it must not use the credentials of the machine. */
  readonly isFetched: boolean;
}

/** Returns the parts of the setting; undefined unless the setting contains `{workspace}` exactly once. */
export function siblingsOf(setting: string): Siblings | undefined {
  const [before = '', after, ...more] = setting.split('{workspace}');
  return after === undefined || more.length > 0 ? undefined : { before, after };
}

/**
 * Returns the keys of states in these folders.
 * @param folders key prefixes with a slash at the end, e.g. `voices/staging/` for `voices/{workspace}`.
 */
export function keysIn(folders: readonly string[], { before, after }: Siblings): string[] {
  const end = after.split('/')[0] ?? '';
  return folders.flatMap((folder) => {
    const name = folder.slice(before.length, -1);
    if (!folder.startsWith(before) || !name.endsWith(end) || name.length === end.length) return [];
    return [`${before}${name.slice(0, name.length - end.length)}${after}`];
  });
}
