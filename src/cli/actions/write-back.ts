import { type AcceptanceWords, acceptanceJson, renderAcceptance } from '../../output/accept-text.ts';
import { jsonText } from '../../output/json-text.ts';
import { plural } from '../../output/plural.ts';
import { ExitCode } from '../../problems/user-error.ts';
import { writeFiles } from '../../project/write-back/write-files.ts';
import { acceptanceOf, type ValuesFound } from '../../runs/accepted-values.ts';
import type { OpenWorkspace } from '../../runs/open-workspace.ts';
import type { Context } from '../context.ts';
import type { JsonFlag } from '../flags.ts';
import { approve, cancelled } from './confirm.ts';

export interface WriteBackOptions extends JsonFlag {
  readonly dryRun?: boolean;
  readonly autoApprove?: boolean;
}

interface WritingBack {
  readonly found: ValuesFound;
  readonly options: WriteBackOptions;
  readonly command: string;
  readonly words: AcceptanceWords;
}

/** Shows the edits of the project's files, asks for approval, and writes them. */
export async function writeBack(
  context: Context,
  opened: OpenWorkspace,
  { found, options, command, words }: WritingBack,
): Promise<number> {
  const { project, workspace } = opened;
  const acceptance = await acceptanceOf(opened, found);
  const { files, refused } = acceptance;
  const { terminal, log } = context;
  const isWriting = files.length > 0 && options.dryRun !== true;
  if (options.output === 'text') terminal.out(renderAcceptance(acceptance, terminal.style, words));
  if (isWriting) {
    const approved = options.autoApprove || (await ask(context, { files: files.length, command }));
    if (!approved) return cancelled(context);
    await writeFiles(project.root, files);
    log.info([`Written: ${files.map(({ file }) => file).join(', ')}`, words.next].filter(Boolean).join('. '));
  }
  if (options.output === 'json') {
    terminal.out(jsonText(acceptanceJson(acceptance, { workspace: workspace.name, written: isWriting })));
  }
  return refused.length === 0 ? ExitCode.ok : ExitCode.error;
}

function ask(context: Context, { files, command }: { files: number; command: string }): Promise<boolean> {
  return approve(context, {
    question: `Write ${plural(files, 'file')}?`,
    verb: 'write',
    hint: `Review with ${command} --dry-run, then approve with ${command} --auto-approve.`,
  });
}
