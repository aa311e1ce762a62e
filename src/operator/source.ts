import type { ProjectOrigin } from '../runs/drift-request/request-place.ts';

export interface ManifestSource {
  /** What a person calls it; names no secret. */
  readonly name: string;
  /** True where a newer version comes as a whole: what is missing in it was left out on purpose. */
  readonly isAtomic: boolean;
  /** Brings the newest manifests here. Throws where that fails and there are none from before. */
  fetch(signal: AbortSignal): Promise<Fetched>;
  /** The last version that was told good, where it is kept, in case that the newest is not. */
  lastGood(): Promise<Version | undefined>;
  /** Tells which version is good, so that it is kept and older ones can go. */
  keep(version: Version): Promise<void>;
  /** Where a version lies in its repository. */
  originOf(version: Version): ProjectOrigin;
}

export interface Version {
  /** Absolute path of the project folder. */
  readonly folder: string;
  /** Absolute path of the checkout that the folder must not lead out of. */
  readonly checkout?: string | undefined;
  readonly commit: string | undefined;
}

export interface Fetched extends Version {
  /** Why there may be a newer version than this. */
  readonly problem: unknown;
}

/** A folder that someone else keeps up to date. */
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
