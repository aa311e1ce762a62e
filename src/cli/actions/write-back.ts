import { kinds, lookups } from '../../kinds/index.ts';
import type { Address } from '../../manifests/resource.ts';
import {
  type Acceptance,
  type AcceptanceWords,
  acceptanceJson,
  renderAcceptance,
} from '../../output/accept-text.ts';
import { jsonText } from '../../output/json-text.ts';
import { plural } from '../../output/plural.ts';
import { ExitCode } from '../../problems/user-error.ts';
import type { WantedValue } from '../../project/write-back/edit-plan.ts';
import { planEdits } from '../../project/write-back/plan-edits.ts';
import { writeFiles } from '../../project/write-back/write-files.ts';
import type { OpenWorkspace } from '../../runs/open-workspace.ts';
import type { Context } from '../context.ts';
import type { JsonFlag } from '../flags.ts';
import { approve } from './confirm.ts';

export interface WriteBackOptions extends JsonFlag {
  readonly dryRun?: boolean;
  readonly autoApprove?: boolean;
}

/** Values for the manifests, and what cannot go into them. */
interface ValuesFound extends Pick<Acceptance, 'refused' | 'unmoved'> {
  readonly wanted: readonly WantedValue[];
  /** Ids of what a `$ref` can name. */
  readonly records: ReadonlyMap<Address, string>;
}

interface WritingBack {
  readonly found: ValuesFound;
  readonly options: WriteBackOptions;
  /** For the hint. */
  readonly command: string;
  readonly words: AcceptanceWords;
}

/** Shows what would change in the project's files, asks, and writes them. */
export async function writeBack(
  context: Context,
  { project, workspace }: OpenWorkspace,
  { found, options, command, words }: WritingBack,
): Promise<number> {
  const { wanted, records } = found;
  const edits = await planEdits({ project, workspace, kinds, lookups, env: context.env, wanted, records });
  const left = new Set(edits.refused.map(({ address, path }) => `${address} ${path}`));
  const acceptance: Acceptance = {
    files: edits.files,
    accepted: wanted.filter(({ address, path }) => !left.has(`${address} ${path}`)),
    refused: [...found.refused, ...edits.refused],
    unmoved: found.unmoved,
  };
  const { files, refused } = acceptance;
  const { terminal, log, interrupts } = context;
  const isWriting = files.length > 0 && options.dryRun !== true;
  if (options.output === 'text') terminal.out(renderAcceptance(acceptance, terminal.style, words));
  if (isWriting) {
    const approved = options.autoApprove || (await ask(context, { files: files.length, command }));
    if (!approved) {
      log.warn('cancelled: nothing was written');
      return interrupts.exitCode ?? ExitCode.error;
    }
    await writeFiles(project.root, files);
    log.info(`Written: ${files.map(({ file }) => file).join(', ')}`);
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
