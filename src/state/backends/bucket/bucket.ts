/** The objects of one state in a bucket of S3 or a container of Azure. The interface of a driver. Names are relative to the state's key. */
export interface Bucket {
  /** @returns undefined if there is no such object. */
  get(name: string, signal: AbortSignal): Promise<BucketObject | undefined>;
  /**
   * @returns the tag of the stored object.
   * @throws WriteConflict if the condition does not hold. After other errors than UserError, the object may be stored.
   */
  put(name: string, bytes: Uint8Array, signal: AbortSignal, condition?: PutCondition): Promise<string>;
  list(signal: AbortSignal): Promise<readonly ListedObject[]>;
  /** The keys of the states of other workspaces. */
  siblings(signal: AbortSignal): Promise<readonly string[]>;
  /** Also succeeds without such an object. */
  remove(name: string, signal: AbortSignal): Promise<void>;
}

interface BucketObject {
  readonly bytes: Uint8Array;
  /** The entity tag, without quotes. */
  readonly tag: string;
}

interface ListedObject {
  readonly name: string;
  /** By the clock of the server. */
  readonly modified: Date;
}

/** Absent: any. Otherwise the object must have that tag, or must not exist. */
export type PutCondition =
  | { readonly isAbsent: true }
  | {
      readonly tag: string;
      /** Some stores compare tags only without quotes. */
      readonly isBare?: boolean | undefined;
    };
