import { existsSync } from 'node:fs';
import path from 'node:path';
import type { ApplyReport } from '../../engine/apply/apply-report.ts';
import { jsonText } from '../../output/json-text.ts';
import { type Migration, migratedText, migrateJson, migrationText } from '../../output/migrate-text.ts';
import { plural } from '../../output/plural.ts';
import { ExitCode, UserError, usageError } from '../../problems/user-error.ts';
import type { Desired } from '../../project/project.ts';
import { readCredentials } from '../../project/select-workspace.ts';
import { planInHistory, refuseTrippedGuards } from '../../runs/apply-plan.ts';
import { checkStateInCi, refuseFirstState } from '../../runs/first-state.ts';
import { refuseDenied } from '../../runs/judged-plan.ts';
import { mapPath } from '../../runs/migrate/id-map.ts';
import { parseNameMap } from '../../runs/migrate/knowledge-map.ts';
import { exportLive, type LiveExport } from '../../runs/migrate/live-export.ts';
import {
  type MigrationInput,
  type MigrationOptions,
  type MigrationPreview,
  previewMigration,
  remainingManualSteps,
  runMigration,
} from '../../runs/migrate/migration.ts';
import { type MigrationWorkspaces, openMigrationWorkspaces } from '../../runs/migrate/migration-workspaces.ts';
import { requireValid, withSession } from '../../runs/open-workspace.ts';
import { changesIn, readStateWithoutLock } from '../../runs/planning.ts';
import type { GuardOptions } from '../../runs/run-context.ts';
import type { StateSession } from '../../state/session.ts';
import type { Context } from '../context.ts';
import {
  ALL_CALLS,
  type DiscoveryFlags,
  type FullFlag,
  type JsonFlag,
  type PolicyFlags,
  withPolicyFiles,
} from '../flags.ts';
import { idsFromFlags, readFlagFile } from '../ids-from-flags.ts';
import { approve, cancelled } from './confirm.ts';
import { beginWriting, progressFor } from './report.ts';

interface MigrateOptions extends MigrationOptions, DiscoveryFlags, GuardOptions, FullFlag, JsonFlag, PolicyFlags {
  readonly from: string;
  readonly to: string;
  readonly source?: 'manifests' | 'live';
  readonly map?: string;
  readonly include?: readonly string[];
  readonly exclude?: readonly string[];
  readonly dryRun?: boolean;
  readonly autoApprove?: boolean;
}

export async function migrate(given: Context, options: MigrateOptions): Promise<number> {
  const context = withPolicyFiles(given, options);
  refuseConflicts(context, options);
  const { map, include = [], exclude = [] } = options;
  const names = map === undefined ? new Map() : parseNameMap(await readFlagFile(context.cwd, map), map);
  const workspaces = await openMigrationWorkspaces(context, options);
  const { to } = workspaces;
  const live = await liveSource(context, workspaces, options);
  const progress = progressFor(context);
  const common = { context, workspaces, live, names, globs: { include, exclude }, options, onRead: progress.read };
  try {
    if (options.dryRun) {
      return await to.withClient(options, async (client) =>
        printPreview({ ...common, client, state: await readStateWithoutLock(to) }),
      );
    }
    await checkStateInCi(to);
    return await withSession(to, { operation: 'migrate', options }, ({ session, client }) =>
      execute({ ...common, client, state: session.state }, session),
    );
  } finally {
    await live?.discard();
  }
}

function refuseConflicts({ workspaces }: Context, { batch, maxFailures }: MigrateOptions): void {
  if (workspaces.length > 0) throw usageError('migrate takes two workspaces: use --from and --to, not -w');
  if (batch === undefined && maxFailures !== undefined) throw usageError('--max-failures needs --batch');
}

/** Exports the source workspace to manifests. Returns undefined if the migration uses the project's own manifests. */
async function liveSource(
  context: Context,
  workspaces: MigrationWorkspaces,
  options: MigrateOptions,
): Promise<LiveExport | undefined> {
  const { from, to } = workspaces;
  const desired = await from.declared('offline');
  const hasManifests = desired.resources.length > 0;
  if (!hasManifests && options.source !== 'live') await refuseSkipped(workspaces, desired);
  const given = await idsFromFlags(context, options);
  const isResumed = hasManifests && existsSync(path.join(to.project.root, mapPath(options)));
  if (options.source === 'manifests' || isResumed || (options.source === undefined && hasManifests)) {
    if (options.source === 'live' || given.length > 0)
      context.log.info(`Using the manifests of ${options.from}; the live workspace is not read.`);
    return undefined;
  }
  await readCredentials([from.workspace]);
  const progress = progressFor(context);
  try {
    const since = options.callsFrom ?? ALL_CALLS;
    return await exportLive(from, { given, since, options, onProgress: progress.read });
  } finally {
    progress.clear();
  }
}

/** Refuses a workspace that skips all manifests. Its records were released, so it must not be exported as if it had no manifests. */
async function refuseSkipped({ from, declarations }: MigrationWorkspaces, desired: Desired): Promise<void> {
  requireValid(desired);
  const { name } = from.workspace;
  if ((await declarations()).declarations.length === 0) return;
  throw new UserError(`${name} skips every resource of the manifests`, {
    hint: `Remove \`skip\` of ${name} from voxform.yaml until the migration is done.`,
  });
}

type MigrationRun = MigrationInput & { readonly context: Context; readonly options: MigrateOptions };

/** Prints the actions of the migration without executing them. */
async function printPreview(migrationRun: MigrationRun): Promise<number> {
  const preview = await previewWithProgress(migrationRun);
  printBefore(migrationRun, preview);
  printAfter(migrationRun, preview, undefined);
  return preview.planned === undefined ? ExitCode.error : ExitCode.ok;
}

async function execute(migrationRun: MigrationRun, session: StateSession): Promise<number> {
  const { context, live, options, workspaces } = migrationRun;
  const { interrupts, log } = context;
  const preview = await previewWithProgress(migrationRun);
  const { prepared, planned } = preview;
  printBefore(migrationRun, preview);
  if (planned === undefined) {
    printAfter(migrationRun, preview, undefined);
    return ExitCode.error;
  }
  const { document } = planned.plan;
  const changes = changesIn(document);
  session.note(planInHistory(document));
  if (changes > 0 || live !== undefined || prepared.edits.length > 0) {
    refuseDenied(document);
    refuseTrippedGuards(document, options);
    refuseFirstState(workspaces.to, {
      session,
      document,
      needsApproval: !options.autoApprove && context.terminal.canAsk,
    });
    const { name, workspaceId } = workspaces.to.workspace;
    const approval = {
      question: `Migrate ${options.from} to ${name} (${workspaceId}): write ${plural(changes, 'resource')}?`,
      verb: 'migrate',
      hint: 'Review with --dry-run, then approve with --auto-approve.',
    };
    if (!options.autoApprove && !(await approve(context, approval)))
      return cancelled(context, { what: 'migration', session });
  }
  const progress = beginWriting(context, changes);
  const report = await runMigration(migrationRun, { session, prepared, planned, onEvent: progress.apply });
  progress.clear();
  printAfter(migrationRun, preview, report);
  log.info(`Map of old to new ids: ${mapPath(options)}`);
  if (interrupts.exitCode !== undefined) return interrupts.exitCode;
  return [...report.results.values()].every(({ status }) => status === 'done') ? ExitCode.ok : ExitCode.error;
}

async function previewWithProgress(migrationRun: MigrationRun): Promise<MigrationPreview> {
  const progress = progressFor(migrationRun.context);
  try {
    return await previewMigration({ ...migrationRun, onRead: progress.read });
  } finally {
    progress.clear();
  }
}

function reportedMigration(
  { context, workspaces, options }: MigrationRun,
  { planned, before, files }: MigrationPreview,
): Omit<Migration, 'after' | 'report'> {
  const { full = context.verbose } = options;
  const { from, to } = workspaces;
  return {
    from: from.workspace,
    to: to.workspace,
    selection: to.selection,
    before,
    files,
    plan: planned?.plan.document,
    full,
  };
}

/** Prints the migration before it is executed. If the output format is not text, prints to stderr, and only if approval is needed. */
function printBefore(migrationRun: MigrationRun, preview: MigrationPreview): void {
  const { context, options } = migrationRun;
  const { terminal } = context;
  const migration = { ...reportedMigration(migrationRun, preview), after: [], report: undefined };
  if (options.output === 'text') terminal.out(migrationText(migration, terminal.style));
  else if (!options.autoApprove && !options.dryRun && terminal.canAsk)
    terminal.err(migrationText(migration, terminal.errorStyle));
}

function printAfter(migrationRun: MigrationRun, preview: MigrationPreview, report: ApplyReport | undefined): void {
  const { context, workspaces, live, options } = migrationRun;
  const { prepared } = preview;
  const { terminal, log } = context;
  const common = reportedMigration(migrationRun, preview);
  const { plan } = common;
  const after = plan === undefined ? [] : remainingManualSteps(prepared, { document: plan, workspaces, report });
  const migration = { ...common, after, report };
  if (options.output === 'json') {
    const source = live === undefined ? 'manifests' : 'live';
    terminal.out(
      jsonText(migrateJson(migration, { source, dryRun: options.dryRun ?? false, oldIds: prepared.oldIds })),
    );
  } else {
    const text = migratedText(migration, terminal.style);
    if (text !== '') terminal.out(`\n${text}`);
  }
  if (plan === undefined) log.warn('nothing was written: fix the first items of the list, or omit them with --exclude');
}
