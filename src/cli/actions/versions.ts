import { kindNamed } from '../../kinds/index.ts';
import type { RecordVersion, ShownRecord } from '../../kinds/kind.ts';
import { comparisonMarkdown, comparisonText, draftComparison } from '../../output/comparison.ts';
import { renderFileDiffs } from '../../output/file-diff.ts';
import { jsonText } from '../../output/json-text.ts';
import { timeText } from '../../output/records/record-values.ts';
import type { Style } from '../../output/style.ts';
import { noWrapColumns, renderTable } from '../../output/table.ts';
import { yamlText } from '../../output/yaml-text.ts';
import type { PlatformClient } from '../../platform/client.ts';
import { PlatformError } from '../../platform/platform-error.ts';
import { foreignRecord } from '../../platform/workspace-check.ts';
import { didYouMean } from '../../problems/suggest.ts';
import { command, ExitCode, usageError } from '../../problems/user-error.ts';
import { referableRecords, valuesOfVersion } from '../../runs/accepted-values.ts';
import { type DraftDiffDocument, diffDraft } from '../../runs/draft-diff.ts';
import { openWorkspace } from '../../runs/open-workspace.ts';
import { readStateWithoutLock } from '../../runs/planning.ts';
import type { PlatformOptions } from '../../runs/run-context.ts';
import { noSuchVersion, type VersionedRecord, versionedRecord } from '../../runs/versioned-record.ts';
import type { Context } from '../context.ts';
import { type WriteBackOptions, writeBack } from './write-back.ts';

interface VersionsOptions extends PlatformOptions {
  readonly address: string;
  readonly version?: number;
  readonly diff?: number | 'published';
  readonly output: 'text' | 'json' | 'markdown';
  readonly detailedExitcode?: boolean;
}

/** Lists the published versions of a resource, shows one, compares two, or compares the latest with the draft. */
export async function versions(context: Context, options: VersionsOptions): Promise<number> {
  const { address, version } = options;
  refuseConflicts(options);
  const opened = await openWorkspace(context, { requireKey: true });
  // This loads the secrets of the project, so that they are redacted from the platform's data.
  await opened.declared('lenient');
  const state = await readStateWithoutLock(opened);
  const { terminal, log } = context;
  return opened.withClient(options, async (client) => {
    const record = versionedRecord(address, state);
    const { workspace } = opened;
    if (options.diff === 'published') {
      const { redact } = context.redactor;
      return printDraft(context, await diffDraft({ address, state, client, workspace, redact }), options);
    }
    if (version === undefined) {
      const all = await publishedOf(record, client);
      if (options.output === 'json') terminal.out(jsonText(all));
      else if (all.length === 0) log.info(`${address} was never published.`);
      else terminal.out(versionTable(all, terminal.tableStyle));
      return ExitCode.ok;
    }
    const { workspaceId } = workspace;
    const shown = await versionOf(record, version, { client, workspaceId });
    if (options.diff === undefined) {
      terminal.out(options.output === 'json' ? jsonText(shown) : yamlText(shown));
      return ExitCode.ok;
    }
    const other = await versionOf(record, options.diff, { client, workspaceId });
    terminal.out(
      options.output === 'json'
        ? jsonText({ before: shown, after: other })
        : differenceText(record, [shown, other], { numbers: [version, options.diff], style: terminal.style }),
    );
    return ExitCode.ok;
  });
}

function publishedOf({ id, versions }: VersionedRecord, client: PlatformClient): Promise<readonly RecordVersion[]> {
  return Array.fromAsync(versions.list(client, id));
}

function versionTable(all: readonly RecordVersion[], style: Style): string {
  const rows = all.map((each) => [String(each.version), timeText(each.published_at, 'local')]);
  return renderTable([{ title: 'VERSION', align: 'right' }, ...noWrapColumns('PUBLISHED (LOCAL)')], rows, style);
}

/** @throws UserError if flags contradict each other. */
function refuseConflicts({ address, version, diff, output, detailedExitcode }: VersionsOptions): void {
  if (diff === 'published') {
    if (version === undefined) return;
    throw usageError(
      '--diff published compares the draft: omit the version',
      command(`versions ${address} --diff published`),
    );
  }
  if (version === undefined && diff !== undefined)
    throw usageError('--diff needs a version to compare with', command(`versions ${address} VERSION --diff ${diff}`));
  const draftOnly = output === 'markdown' ? '--output markdown' : detailedExitcode ? '--detailed-exitcode' : undefined;
  if (draftOnly !== undefined) throw usageError(`${draftOnly} needs --diff published`);
}

function printDraft(
  { terminal, verbose }: Context,
  document: DraftDiffDocument,
  { output, detailedExitcode }: VersionsOptions,
): number {
  const formats: Record<typeof output, () => string> = {
    text: () => comparisonText(draftComparison(document, verbose), terminal.style, { verbose }),
    json: () => jsonText(document),
    markdown: () => comparisonMarkdown(draftComparison(document)),
  };
  terminal.out(formats[output]());
  const changed = document.published === null || document.changes.length > 0;
  return detailedExitcode && changed ? ExitCode.changes : ExitCode.ok;
}

/** Returns the differences between two versions in manifest fields. Ignores fields such as the time of publication. */
function differenceText(
  { address, kind }: VersionedRecord,
  [shown, other]: readonly [ShownRecord, ShownRecord],
  { numbers, style }: { readonly numbers: readonly [number, number]; readonly style: Style },
): string {
  const fields = new Set(Object.keys(kindNamed(kind).spec.shape));
  const manifestFields = (record: ShownRecord): string =>
    yamlText(Object.fromEntries(Object.entries(record).filter(([field]) => fields.has(field))), {
      sortMapEntries: true,
    });
  const [before, after] = [manifestFields(shown), manifestFields(other)];
  const names = { before: `${address} version ${numbers[0]}`, after: `${address} version ${numbers[1]}` };
  if (before === after) return `${names.before} and version ${numbers[1]} are identical.\n`;
  return renderFileDiffs([{ file: address, before, after, names }], style);
}

interface RollbackOptions extends PlatformOptions, WriteBackOptions {
  readonly address: string;
  readonly to?: number;
}

/** Writes the values of a published version into the manifests, so that the next apply restores them. */
export async function rollback(context: Context, options: RollbackOptions): Promise<number> {
  const { address } = options;
  const opened = await openWorkspace(context, { requireKey: true });
  const { resources } = await opened.desired();
  const state = await readStateWithoutLock(opened);
  return opened.withClient(options, async (client) => {
    const declared = resources.map((each) => each.address);
    const resource = resources.find((each) => each.address === address);
    if (resource === undefined) throw usageError(`no manifest declares ${address}${didYouMean(address, declared)}`);
    const { workspaceId } = opened.workspace;
    const record = versionedRecord(address, state);
    const to = options.to ?? (await defaultVersion(context, options, await publishedOf(record, client)));
    const version = await versionOf(record, to, { client, workspaceId });
    const kind = kindNamed(resource.kind);
    const records = await referableRecords({
      state,
      planned: { resources: [] },
      declared: new Set(declared),
      wanted: Object.keys(kind.fields).map((path) => ({ address, path, value: undefined })),
      client,
      workspace: opened.workspace,
    });
    return writeBack(context, opened, {
      found: { ...valuesOfVersion({ kind, resource, version, records }), unmoved: [], records },
      options,
      command: `voxform rollback ${address} --to ${to}`,
      words: { verb: 'Roll back', nothing: `No managed field of ${address} differs from version ${to}.` },
    });
  });
}

/**
 * Returns the version before the latest one, or the only version.
 * @throws UserError if the resource has no version, or if the user would not see the choice before the manifests are written.
 */
async function defaultVersion(
  { terminal, log }: Context,
  { address, dryRun, autoApprove, output }: RollbackOptions,
  all: readonly RecordVersion[],
): Promise<number> {
  const [latest, previous = latest] = [...all].map(({ version }) => version).sort((a, b) => b - a);
  if (previous === undefined)
    throw usageError(`${address} was never published, so there is no version to roll back to`);
  if (output === 'text') terminal.out(`${versionTable(all, terminal.tableStyle)}\n`);
  const isReviewed = dryRun || (terminal.canAsk && !autoApprove);
  if (!isReviewed || output !== 'text')
    throw usageError(
      `rollback needs --to VERSION, one of ${all.map(({ version }) => version).join(', ')}`,
      `To roll back one version: voxform rollback ${address} --to ${previous}`,
    );
  log.info(`Rolling back to version ${previous}. To choose another one, use --to VERSION.`);
  return previous;
}

/**
 * Reads a published version.
 * @throws ForeignRecord if the record belongs to another workspace.
 */
async function versionOf(
  { address, kind, id, versions }: VersionedRecord,
  version: number,
  { client, workspaceId }: { readonly client: PlatformClient; readonly workspaceId: string },
): Promise<ShownRecord> {
  try {
    const shown = await versions.get(client, id, version);
    const actual = shown.workspace_id ?? workspaceId;
    if (actual !== workspaceId) throw foreignRecord(`${kind} ${id}`, { actual, workspaceId });
    return shown;
  } catch (cause) {
    if (!(cause instanceof PlatformError) || !cause.isMissing) throw cause;
    throw noSuchVersion(address, version, cause);
  }
}
