import { stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { PlanDocument } from '../../engine/plan/plan-document.ts';
import { sealed } from '../../engine/plan/saved-plan.ts';
import { replaceFile } from '../../files/replace-file.ts';
import { reasonOf } from '../../manifests/read-file.ts';
import { jsonText } from '../../output/json-text.ts';
import { ExitCode, misuse, UserError } from '../../problems/user-error.ts';
import type { OpenWorkspace } from '../../runs/open-workspace.ts';
import { changesIn, preparedToPlan } from '../../runs/planning.ts';
import type { Context } from '../context.ts';
import type { PlanFlags, WorkspacesFlags } from '../flags.ts';
import { planAll, type ReportFlags, refuseLooseEvenIfAll, strictCode } from './planning.ts';
import { reportEach, severalNamed } from './several.ts';

export interface PlanCommandFlags extends PlanFlags, WorkspacesFlags, ReportFlags {
  readonly out?: string;
  readonly detailedExitcode?: boolean;
}

export async function plan(context: Context, options: PlanCommandFlags): Promise<number> {
  refuseLooseEvenIfAll(options);
  const { out } = options;
  if (out !== undefined && severalNamed(context, options) !== undefined) {
    throw misuse(
      '--out takes one workspace only',
      'Save one plan per workspace: voxform plan --workspace NAME --out FILE',
    );
  }
  const exitCode = await reportEach(context, options, {
    what: 'plan',
    async look(opened) {
      const document = await planOf(context, opened, options);
      if (out !== undefined) await writePrivateFile(context, out, jsonText(sealed(document)));
      return document;
    },
    codeFor: (documents) => codeFor(documents, options),
  });
  if (out !== undefined) context.log.info(`Plan saved. To apply it: voxform apply ${out}`);
  return exitCode;
}

async function planOf(
  context: Context,
  opened: OpenWorkspace,
  options: PlanCommandFlags,
): Promise<PlanDocument> {
  return preparedToPlan(context, { opened, options }, async (prepared) => {
    const flags = { ...options, routes: true };
    const { plan } = await planAll(context, { ...prepared, opened, flags });
    return plan.document;
  });
}

function codeFor(documents: readonly PlanDocument[], options: PlanCommandFlags): number {
  if (documents.some((document) => strictCode(document, options) !== ExitCode.ok)) return ExitCode.error;
  const changed = documents.some((document) => changesIn(document) > 0);
  return options.detailedExitcode && changed ? ExitCode.changes : ExitCode.ok;
}

/** Writes a file that only its owner may read, whole or not at all. A device or a pipe of that name is written to. */
export async function writePrivateFile({ cwd }: Context, file: string, text: string): Promise<void> {
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

/** Devices and pipes are there to be written to: a file in their place would take them away from everyone else. */
async function isStream(file: string): Promise<boolean> {
  try {
    const found = await stat(file);
    return !found.isFile() && !found.isDirectory();
  } catch {
    return false;
  }
}
