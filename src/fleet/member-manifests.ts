import { LastGoodManifests } from '../operator/last-good-manifests.ts';
import type { ManifestSource, Version } from '../operator/source.ts';
import type { RunContext } from '../runs/run-context.ts';
import type { ProjectVersion, ProjectWanted, Sources } from './member.ts';

interface MemberManifestsOptions {
  readonly context: RunContext;
  readonly sources: Sources;
  /** The version to run with. */
  readonly wanted: ProjectWanted;
  /** The last one whose manifests could be used, by whichever process. */
  readonly good: ProjectVersion | undefined;
}

/** The manifests of a workspace for one run. */
export interface MemberManifests {
  readonly manifests: LastGoodManifests;
  /** The version that could be used; undefined until there is one, and where there is none. */
  readonly good: ProjectVersion | undefined;
}

/** The manifests of the version that is wanted, or where they cannot be used the last good ones, from whichever process knew them. */
export function memberManifests({ context, sources, wanted, good }: MemberManifestsOptions): MemberManifests {
  const { source: name, project } = wanted;
  const versions = new Map<string, ProjectVersion>();
  let used: ProjectVersion | undefined;
  const checkout = async (version: ProjectVersion, signal: AbortSignal): Promise<Version> => {
    const { folder, ...found } = await sources.checkout({ ...version, source: name, project }, signal);
    versions.set(folder, found);
    return { folder, commit: found.commit };
  };
  const source: ManifestSource = {
    name,
    isAtomic: true,
    fetch: async (signal) => ({ ...(await checkout(wanted, signal)), problem: undefined }),
    lastGood: async () => good && checkout(good, new AbortController().signal),
    keep: async ({ folder }) => {
      used = versions.get(folder);
    },
  };
  return {
    manifests: new LastGoodManifests({
      context,
      source,
      local: sources.local(name, project),
      watchFiles: async () => false,
    }),
    get good() {
      return used;
    },
  };
}
