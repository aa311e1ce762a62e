import type { ProjectOrigin } from '../runs/drift-request/request-target.ts';

export interface ManifestSource {
  /** The display name, without secrets. */
  readonly name: string;
  /** True if every version is complete, so that a missing resource was removed on purpose. */
  readonly isAtomic: boolean;
  /** Fetches the newest manifests. Throws if that fails and there are no earlier ones. */
  fetch(signal: AbortSignal): Promise<FetchResult>;
  /** Returns the last valid version, if the source still has it. It is used if the newest version is invalid. */
  lastGood(): Promise<Version | undefined>;
  /** Marks a version as valid. The source keeps it and may remove older ones. */
  keep(version: Version): Promise<void>;
  /** Returns the location of a version in its repository. */
  originOf(version: Version): ProjectOrigin;
}

export interface Version {
  readonly folder: string;
  /** Absolute path of the checkout that must contain the folder. */
  readonly checkout?: string | undefined;
  readonly commit: string | undefined;
}

export interface FetchResult extends Version {
  /** The error of a failed fetch. A newer version may exist. */
  readonly problem: unknown;
}

/** Returns a source for a folder that another program updates. */
export function folderSource(folder: string): ManifestSource {
  return {
    name: folder,
    isAtomic: false,
    fetch: async () => ({ folder, commit: undefined, problem: undefined }),
    lastGood: async () => undefined,
    keep: async () => undefined,
    originOf: () => ({ checkout: folder }),
  };
}
