import path from 'node:path';
import { kinds } from '../../kinds/index.ts';
import { exportText } from '../../output/export-text.ts';
import { UserError, usageError } from '../../problems/user-error.ts';
import { PROJECT_FILE, projectFileIn } from '../../project/find-project.ts';
import { draftWorkspace } from '../../runs/draft-workspace.ts';
import { namesInManifests } from '../../runs/export/manifest-names.ts';
import { type FileLayout, type ProjectFile, projectFiles } from '../../runs/export/project-files.ts';
import { ownSecrets } from '../../runs/export/secret-names.ts';
import { collectingTokens, type TokenUrl } from '../../runs/export/token-urls.ts';
import { assertNewOrEmptyFolder, otherManifests, writeFolder } from '../../runs/export/write-folder.ts';
import { type OpenWorkspace, openWorkspace } from '../../runs/open-workspace.ts';
import type { PlatformOptions } from '../../runs/run-context.ts';
import { Secret, symbolicLeaves } from '../../values/value.ts';
import type { Context } from '../context.ts';
import { ALL_CALLS, chdirFlag, type DiscoveryFlags } from '../flags.ts';
import { idsFromFlags } from '../ids-from-flags.ts';
import { settingsFiles } from './init.ts';
import { progressFor } from './report.ts';

interface ExportOptions extends PlatformOptions, DiscoveryFlags {
  readonly out: string;
  readonly layout: FileLayout;
  readonly force?: boolean;
  readonly workspaceIds?: boolean;
  readonly apiKeySecret?: string;
}

const MANIFESTS = 'manifests';

export async function exportWorkspace(context: Context, options: ExportOptions): Promise<void> {
  const target = path.resolve(context.cwd, options.out);
  if (!options.force) await assertNewOrEmptyFolder(target);
  const given = await idsFromFlags(context, options);
  const opened = await openWorkspace(context, { requireKey: true });
  const { apiKey } = opened.workspace;
  if (options.apiKeySecret === apiKey.name)
    throw usageError(
      `${apiKey.name} is the API key of the workspace, but --api-key-secret takes the key of the model providers`,
    );
  const progress = progressFor(context);
  const { drafts, missed } = await draftWorkspace(opened, {
    ...(await manifestFacts(opened)),
    given,
    since: options.callsFrom ?? ALL_CALLS,
    options,
    onProgress: progress.read,
    chosenSecret: options.apiKeySecret,
  });
  const tokens: TokenUrl[] = [];
  const file = projectFileIn(target) ?? PROJECT_FILE;
  const { name, baseUrl, workspaceId, lookupNames } = opened.workspace;
  const files = projectFiles(drafts, {
    workspace: { name, baseUrl, workspaceId, apiKeySecret: apiKey.name, lookupNames },
    layout: options.layout,
    file,
    workspaceIds: options.workspaceIds ?? false,
    settings: (await settingsFiles(false)).map(([path, text]) => ({ path, text })),
  });
  const checkedFiles = collectingTokens(untilStopped(files, context), tokens);
  const { written, replaced } = await writeFolder(target, checkedFiles, { moveLast: file, replace: options.force });
  const remaining =
    options.force && drafts.manifests.length > 0 ? await otherManifests(target, MANIFESTS, written) : [];
  progress.clear();
  const { terminal, log, verbose } = context;
  const report = { folder: options.out, drafts, missed, replaced, left: remaining, verbose };
  terminal.out(exportText(report, terminal.style));
  warnOfTokens(log, tokens);
  if (remaining.length > 0)
    log.warn('older manifests may declare the same records: delete them, then run voxform validate');
  log.info(`Next: run voxform${chdirFlag(options.out, context)} plan to see the records that it would import.`);
}

const MAX_TOKEN_WARNINGS = 20;

function warnOfTokens(log: Context['log'], tokens: readonly TokenUrl[]): void {
  for (const { file, line, key, part } of tokens.slice(0, MAX_TOKEN_WARNINGS)) {
    log.warn(`${file}:${line}  ${key} may contain a token in its ${part}`);
  }
  const more = tokens.length - MAX_TOKEN_WARNINGS;
  if (more > 0) log.warn(`and ${more} more URLs may contain a token`);
  if (tokens.length > 0) log.info('Replace these URLs with { $secret: NAME } before you commit the manifests.');
}

/**
 * Yields the files until an interrupt.
 * @throws UserError after an interrupt, so that the files written so far are removed.
 */
function* untilStopped(files: Iterable<ProjectFile>, { interrupts }: Context): Generator<ProjectFile> {
  for (const file of files) {
    if (interrupts.stop.aborted) throw new UserError('interrupted');
    yield file;
  }
}

/** Returns the facts about the project's manifests that an export needs, so that the manifests need not stay in memory. */
async function manifestFacts(opened: OpenWorkspace) {
  const { resources } = await opened.declared('lenient');
  const secrets = [opened.workspace.apiKey, ...resources.flatMap(({ spec }) => symbolicLeaves(spec))].filter(
    (leaf): leaf is Secret => leaf instanceof Secret && leaf.isSet,
  );
  return { secrets, inManifests: namesInManifests(resources, kinds), ownSecrets: ownSecrets(resources, kinds) };
}
