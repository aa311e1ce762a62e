import { readFileSync } from 'node:fs';
import { mkdtemp, realpath, rm, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { claimOf, isManagedAlready, recordClaims } from '../../engine/apply/import-record.ts';
import type { Address } from '../../manifests/resource.ts';
import { UserError } from '../../problems/user-error.ts';
import type { MissedRecord } from '../discover.ts';
import { type DraftSources, draftWorkspace } from '../draft-workspace.ts';
import type { ManifestDrafts } from '../export/drafts.ts';
import { idsOf, manifestFiles, type ProjectFile, withoutIds } from '../export/project-files.ts';
import { assertNewOrEmptyFolder, writeAll, writeFolder } from '../export/write-folder.ts';
import { type OpenWorkspace, withSession } from '../open-workspace.ts';
import type { LockOptions, PlatformOptions } from '../run-context.ts';

/** The manifests of an unmanaged workspace, in a temporary folder. */
export interface LiveExport {
  /** The folder that replaces the project folder until the migration is approved. Links in its path are resolved. */
  readonly root: string;
  readonly files: readonly string[];
  readonly drafts: ManifestDrafts;
  readonly missed: readonly MissedRecord[];
  readonly ids: ReadonlyMap<Address, string>;
  /** Removes the folder. */
  discard(): Promise<void>;
}

/** The manifest folder of a project that has no manifests yet. */
const MANIFESTS = 'manifests';

/**
 * Exports a workspace to a temporary folder. The manifests contain no ids, because the source and the target workspace share them.
 * @throws UserError if the manifest folder of the project is not empty.
 */
export async function exportLive(
  opened: OpenWorkspace,
  reading: Pick<DraftSources, 'given' | 'since' | 'options' | 'onProgress'>,
): Promise<LiveExport> {
  await assertNoManifests(opened);
  const { apiKey } = opened.workspace;
  const { drafts, missed } = await draftWorkspace(opened, { ...reading, secrets: apiKey.isSet ? [apiKey] : [] });
  const ids = new Map(Object.entries(idsOf(drafts)));
  const root = await realpath(await mkdtemp(path.join(tmpdir(), 'voxform-migrate-')));
  const files = await writeAll(root, manifestFiles(withoutIds(drafts.complete()), 'resource'));
  const discard = () => rm(root, { recursive: true, force: true });
  return { root, files, drafts, missed, ids, discard };
}

async function assertNoManifests({ project, workspace }: OpenWorkspace): Promise<void> {
  await assertNewOrEmptyFolder(path.join(project.root, MANIFESTS)).catch((cause: unknown) => {
    throw new UserError(
      `${MANIFESTS}/ is not empty: a live workspace can be exported only to a project without manifests`,
      {
        hint: `Export it into a new project first: voxform export --out DIR -w ${workspace.name}. Then migrate from there.`,
        cause,
      },
    );
  });
}

/** Imports the records, then writes their manifests. Without the imports, the manifests would create the records again. */
export async function importLive(
  opened: OpenWorkspace,
  { root, ids, files }: LiveExport,
  options: LockOptions & PlatformOptions,
): Promise<void> {
  await withSession(opened, { operation: 'migrate', options }, async ({ session }) => {
    const claims = [...ids].map(([address, id]) => claimOf(address, id));
    const fresh = claims.filter((claim) => !isManagedAlready(session.state, claim, false));
    await recordClaims(fresh, { session, now: opened.context.now });
  });
  const folder = path.join(opened.project.root, MANIFESTS);
  // An empty folder is removed, so that the new folder is created atomically: partial manifests could be mistaken for complete ones.
  await rmdir(folder).catch(() => undefined);
  await writeFolder(folder, manifestsIn(root, files));
}

function* manifestsIn(root: string, files: readonly string[]): Generator<ProjectFile> {
  for (const file of files)
    yield { path: file.slice(MANIFESTS.length + 1), text: readFileSync(path.join(root, file), 'utf8') };
}
