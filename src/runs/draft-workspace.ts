import type { OnReadProgress } from '../engine/observe/read-records.ts';
import { UserError } from '../problems/user-error.ts';
import type { Secret } from '../values/value.ts';
import { discoverEach, idsInState, type KnownId, type MissedRecord } from './discover.ts';
import { Drafter, type ManifestDrafts } from './export/drafts.ts';
import { type NamesInProject, namesInState } from './export/manifest-names.ts';
import type { OwnSecrets } from './export/secret-names.ts';
import type { OpenWorkspace } from './open-workspace.ts';
import type { PlatformOptions } from './run-context.ts';

export interface DraftSources {
  /** Ids given by a person. */
  readonly given: readonly KnownId[];
  /** Ids that other records mentioned before this time are ignored. */
  readonly since: Date;
  readonly options: PlatformOptions;
  /** Secrets that have a value. The values are never written. */
  readonly secrets: readonly Secret[];
  /** Names of records in the project's manifests; names in the state take precedence. */
  readonly inManifests?: NamesInProject;
  readonly ownSecrets?: OwnSecrets;
  /** The name of the secret for fields that the platform never returns. */
  readonly chosenSecret?: string | undefined;
  readonly onProgress?: OnReadProgress;
}

/** Reads a workspace and drafts a manifest for each record. */
export async function draftWorkspace(
  opened: OpenWorkspace,
  { given, since, options, secrets, inManifests, ownSecrets, chosenSecret, onProgress }: DraftSources,
): Promise<{ readonly drafts: ManifestDrafts; readonly missed: readonly MissedRecord[] }> {
  const { inState, ids } = await readNamesAndIds(opened);
  const { workspaceId, lookupNames } = opened.workspace;
  const drafter = new Drafter(secrets);
  const { lookups, missed } = await opened.withClient(options, (client) => {
    const concurrency = opened.concurrency(options);
    const known = [...given, ...ids];
    return discoverEach({ client, workspaceId, concurrency, known, since, onProgress }, (kind, record) =>
      drafter.take(kind, record),
    );
  });
  const knownNames = [inState, ...(inManifests === undefined ? [] : [inManifests])];
  const naming = { knownNames, lookups, lookupNames, chosenSecret };
  return { drafts: drafter.drafts({ ...naming, ...(ownSecrets && { ownSecrets }) }), missed };
}

/** Returns only the names and ids in the state, so that the state can be freed before the workspace is read. */
async function readNamesAndIds(opened: OpenWorkspace) {
  try {
    const state = await opened.state();
    return { inState: namesInState(state), ids: [...idsInState(state.resources)] };
  } catch (error) {
    // Outside a project, the state is optional, because it only adds names and ids.
    if (opened.project.file === undefined && error instanceof UserError) return { inState: new Map(), ids: [] };
    throw error;
  }
}
