import { stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { isPlanLike } from '../../engine/plan/plan-actions.ts';
import { withDigest } from '../../engine/plan/plan-digest.ts';
import type { PlanDocument } from '../../engine/plan/plan-document.ts';
import { readGivenFile } from '../../files/given-file.ts';
import { replaceFile } from '../../files/replace-file.ts';
import { reasonOf } from '../../manifests/read-file.ts';
import { jsonText } from '../../output/json-text.ts';
import { denials } from '../../policies/waivers.ts';
import { errorCode } from '../../problems/error-code.ts';
import { shellWord } from '../../problems/shell-word.ts';
import { ExitCode, UserError, usageError } from '../../problems/user-error.ts';
import { commandFor } from '../../problems/workspace-command.ts';
import { withViolations } from '../../runs/judged-plan.ts';
import { changesIn } from '../../runs/planning.ts';
import { isAgeFile } from '../../state/seal.ts';
import { tryParseJson } from '../../values/json.ts';
import type { Context } from '../context.ts';
import {
  type PlanFlags,
  type PolicyFlags,
  type WaiverFlags,
  type WorkspacesFlags,
  waiverOf,
  withPolicyFiles,
} from '../flags.ts';
import {
  type ReportFlags,
  reportEach,
  requestedWorkspaces,
  requireAllowRecreateAll,
  strictCode,
  withPlan,
} from './report.ts';

interface PlanCommandFlags extends PlanFlags, WorkspacesFlags, ReportFlags, PolicyFlags, WaiverFlags {
  readonly out?: string;
  readonly detailedExitcode?: boolean;
}

export async function plan(given: Context, flags: PlanCommandFlags): Promise<number> {
  requireAllowRecreateAll(flags);
  const context = withPolicyFiles(given, flags);
  const options = { ...flags, waiver: waiverOf(flags) };
  const { out } = options;
  if (out !== undefined && requestedWorkspaces(context, options) !== undefined) {
    throw usageError(
      '--out takes one workspace only',
      'Save one plan per workspace: voxform plan --workspace NAME --out FILE',
    );
  }
  if (out === '') throw usageError('--out has no file name', 'Name a file: --out FILE');
  if (out !== undefined) await assertReplaceable(context, out);
  let isDenied = false;
  const exitCode = await reportEach(context, options, {
    type: 'plan',
    async compute(opened) {
      const all = { opened, options: { ...options, routes: true } };
      const document = await withPlan(context, all, async (planned, sources) => {
        const { plan } = await withViolations(planned, { ...options, ...all, ...sources });
        return plan.document;
      });
      if (out !== undefined) {
        const text = await opened.seal.encryptFile(jsonText(withDigest(document)));
        await writePrivateFile(context, out, text);
      }
      isDenied = denials(document.violations).length > 0;
      return document;
    },
    codeFor: (documents) => codeFor(documents, options),
  });
  if (out !== undefined) {
    const next = isDenied
      ? `apply refuses it. To show it: voxform show ${shellWord(out)}`
      : `To apply it: ${commandFor(`voxform apply ${shellWord(out)}`, context.selection)}`;
    context.log.info(`Plan saved${isDenied ? ', but' : '.'} ${next}`);
  }
  return exitCode;
}

function codeFor(documents: readonly PlanDocument[], options: PlanCommandFlags): number {
  if (documents.some(({ violations }) => denials(violations).length > 0)) return ExitCode.error;
  if (documents.some((document) => strictCode(document, options) !== ExitCode.ok)) return ExitCode.error;
  const changed = documents.some((document) => changesIn(document) > 0);
  return options.detailedExitcode && changed ? ExitCode.changes : ExitCode.ok;
}

/** Refuses a file with other contents than a saved plan, such as a manifest or the state. */
async function assertReplaceable({ cwd }: Context, file: string): Promise<void> {
  const target = path.resolve(cwd, file);
  if (await isStream(target)) return;
  const bytes = await readGivenFile(target).catch((cause: unknown) => {
    // Writing reports a folder and a missing parent.
    if (['ENOENT', 'ENOTDIR', 'EISDIR'].includes(errorCode(cause) ?? '')) return Buffer.of();
    throw new UserError(`${file} exists and cannot be read: ${reasonOf(cause)}`, {
      hint: 'Choose another file: --out FILE',
      cause,
    });
  });
  if (bytes.length === 0 || isAgeFile(bytes)) return;
  if (isPlanLike(tryParseJson(bytes.toString()))) return;
  throw new UserError(`${file} exists and is not a saved plan`, { hint: 'Choose another file: --out FILE' });
}

/** Writes a private file atomically. If the file is a device or a pipe, writes to it instead of replacing it. */
async function writePrivateFile({ cwd }: Context, file: string, text: string): Promise<void> {
  const target = path.resolve(cwd, file);
  try {
    if (await isStream(target)) return await writeFile(target, text);
    await replaceFile(target, text);
  } catch (cause) {
    const isWithoutFolder = (cause as NodeJS.ErrnoException).code === 'ENOENT';
    const reason = isWithoutFolder ? 'no such folder' : reasonOf(cause);
    throw new UserError(`cannot write ${file}: ${reason}`, {
      hint: 'Choose an existing, writable folder.',
      cause,
    });
  }
}

/** Returns true for a device or a pipe, which must not be replaced with a file. */
async function isStream(file: string): Promise<boolean> {
  const found = await stat(file).catch(() => undefined);
  return found !== undefined && !found.isFile() && !found.isDirectory();
}
