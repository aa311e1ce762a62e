import type { OnReadProgress } from '../engine/observe/read-counter.ts';
import { kinds } from '../kinds/index.ts';
import type { Secret } from '../values/value.ts';
import { discoverEach, idsInState, type KnownId, type Missed } from './discover.ts';
import { Drafter, type ManifestDrafts } from './export/drafts.ts';
import { type NamesInProject, namesInState } from './export/known-names.ts';
import type { OwnSecrets } from './export/own-secrets.ts';
import { Spool } from './export/spool.ts';
import type { OpenWorkspace } from './open-workspace.ts';
import type { PlatformOptions } from './run-context.ts';

export interface DraftSources {
  /** Ids given by a person. */
  readonly given: readonly KnownId[];
  /** Follows mentions since this time. */
  readonly since: Date;
  readonly options: PlatformOptions;
  /** Secrets with a value. Their texts are never written. */
  readonly secrets: readonly Secret[];
  /** Names of records in the project's manifests; names in the state take precedence. */
  readonly inManifests?: NamesInProject;
  readonly ownSecrets?: OwnSecrets;
  /** The secret that is used for fields that the platform never shows. */
  readonly chosenSecret?: string | undefined;
  readonly onProgress?: OnReadProgress;
}

/** Reads a workspace and creates a draft manifest for each of its records. The drafts are valid until `work` ends. */
export async function withDrafts<T>(
  opened: OpenWorkspace,
  { given, since, options, secrets, inManifests, ownSecrets, chosenSecret, onProgress }: DraftSources,
  work: (drafted: { drafts: ManifestDrafts; missed: readonly Missed[] }) => Promise<T>,
): Promise<T> {
  const { inState, ids } = await rememberState(opened);
  const spool = new Spool();
  try {
    return await opened.withClient(options, async (client) => {
      const { workspaceId } = opened.workspace;
      const concurrency = opened.concurrency(options);
      const drafter = new Drafter({ kinds, secrets, spool });
      const { lookups, missed } = await discoverEach(
        { client, workspaceId, concurrency, known: [...given, ...ids], since, onProgress },
        (kind, record) => drafter.take(kind, record),
      );
      const knownNames = [inState, ...(inManifests === undefined ? [] : [inManifests])];
      const drafts = drafter.drafts({
        knownNames,
        lookups,
        lookupNames: opened.workspace.lookupNames,
        chosenSecret,
        ...(ownSecrets !== undefined && { ownSecrets }),
      });
      return work({ drafts, missed });
    });
  } finally {
    spool.close();
  }
}

/** The state itself is released before the workspace is read. */
async function rememberState(opened: OpenWorkspace) {
  const state = await opened.state();
  return { inState: namesInState(state), ids: [...idsInState(state.resources)] };
}
