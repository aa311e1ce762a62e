import path from 'node:path';
import type { PlanDocument } from '../../engine/plan/plan-document.ts';
import { parseSavedPlan } from '../../engine/plan/saved-plan.ts';
import { readGivenFile } from '../../files/given-file.ts';
import { reasonOf } from '../../manifests/read-file.ts';
import { parseAddress } from '../../manifests/resource.ts';
import type { ReportFormatName } from '../../output/formats/index.ts';
import { planReport, selectionOf } from '../../output/report.ts';
import { shellWord } from '../../problems/shell-word.ts';
import { UserError } from '../../problems/user-error.ts';
import { openWorkspace } from '../../runs/open-workspace.ts';
import { isAgeFile } from '../../state/seal.ts';
import { VERSION } from '../../version.ts';
import type { Context } from '../context.ts';
import type { FullFlag } from '../flags.ts';
import { inProject } from '../project-context.ts';
import { report } from './report.ts';

interface ShowOptions extends FullFlag {
  readonly 'plan-file': string;
  readonly output: ReportFormatName;
  /** The value of `--chdir`, if given. */
  readonly chdir?: string;
  readonly envFile?: boolean;
}

/** Prints a saved plan in the same formats as `plan`. */
export async function show(context: Context, options: ShowOptions): Promise<void> {
  const { 'plan-file': file, chdir, envFile: usesEnvFile = true } = options;
  const project = () => inProject(context, { isNamed: chdir !== undefined, usesEnvFile, isSilent: true });
  const document = await readSavedPlan(context, file, project);
  const { voxform_version: madeBy } = document;
  if (madeBy !== VERSION) context.log.warn(`${file} was made by voxform ${madeBy}; this is voxform ${VERSION}`);
  const plan = planReport(document);
  const inFolder = { ...context, projectFolder: context.cwd };
  await report(inFolder, { ...options, selection: selectionOf(plan), isSaved: true }, plan);
}

/**
 * Reads a saved plan.
 * @param project returns the context of the project whose age key decrypts a sealed plan.
 * @throws UserError if the file cannot be read or is not a plan for this version.
 */
export async function readSavedPlan(
  context: Context,
  file: string,
  project: () => Context = () => context,
): Promise<PlanDocument> {
  let bytes: Buffer;
  try {
    bytes = await readGivenFile(path.resolve(context.cwd, file));
  } catch (cause) {
    const help =
      parseAddress(file) === undefined
        ? { next: [{ action: 'save_plan' as const }] }
        : { hint: `To apply one resource: voxform apply --target ${shellWord(file)}` };
    throw new UserError(`cannot read the plan ${file}: ${reasonOf(cause)}`, { ...help, cause });
  }
  if (isAgeFile(bytes)) {
    const opened = await openWorkspace(project(), { requireKey: false }).catch(() => undefined);
    if (opened?.workspace.state.seal !== undefined) bytes = await opened.seal.decryptFile(bytes, file);
  }
  return parseSavedPlan(bytes.toString(), { file, version: VERSION });
}
