import { driftOf } from '../../engine/drift.ts';
import { kinds, lookups } from '../../kinds/index.ts';
import { type Acceptance, acceptanceJson, renderAcceptance } from '../../output/accept-text.ts';
import { plural } from '../../output/action-words.ts';
import { jsonText } from '../../output/json-text.ts';
import { ExitCode } from '../../problems/user-error.ts';
import { planEdits } from '../../project/plan-edits.ts';
import { writeFiles } from '../../project/write-files.ts';
import { readState } from '../../state/session.ts';
import { acceptable, referableRecords } from '../../workspaces/accept.ts';
import type { Context } from '../context.ts';
import type { PlatformFlags } from '../flags.ts';
import { type OpenWorkspace, openWorkspace } from '../open-workspace.ts';
import { approve } from './confirm.ts';
import { freshState, planAll, progressFor } from './planning.ts';

export interface AcceptOptions extends PlatformFlags {
  readonly output: 'text' | 'json';
  readonly dryRun?: boolean;
  readonly autoApprove?: boolean;
}

/** Writes what somebody changed on the platform into the manifests. Writes nothing to the platform, nor to the state. */
export async function accept(
  context: Context,
  addresses: readonly string[],
  options: AcceptOptions,
): Promise<number> {
  const opened = await openWorkspace(context, { requireKey: true });
  const acceptance = await acceptanceFor(context, opened, { addresses, options });
  const { files, refused } = acceptance;
  const show = (written: boolean): void => {
    const { terminal } = context;
    const { name: workspace } = opened.workspace;
    if (options.output === 'json') terminal.out(jsonText(acceptanceJson(acceptance, { workspace, written })));
    else terminal.out(renderAcceptance(acceptance, terminal.style));
  };
  const isWriting = files.length > 0 && options.dryRun !== true;
  if (options.output === 'text') show(isWriting);
  if (isWriting) {
    const approved = options.autoApprove || (await ask(context, files.length));
    if (!approved) {
      context.log.info('Not accepted: nothing was written.');
      return context.interrupts.exitCode ?? ExitCode.error;
    }
    await writeFiles(opened.project.root, files);
    context.log.info(`Written: ${files.map(({ file }) => file).join(', ')}`);
  }
  if (options.output === 'json') show(isWriting);
  return refused.length === 0 ? ExitCode.ok : ExitCode.error;
}

interface Asked {
  readonly addresses: readonly string[];
  readonly options: AcceptOptions;
}

async function acceptanceFor(
  context: Context,
  opened: OpenWorkspace,
  { addresses, options }: Asked,
): Promise<Acceptance> {
  const { project, workspace } = opened;
  const { resources } = await opened.desired();
  const state = await readState(opened.store, { workspaceId: workspace.workspaceId, fresh: freshState() });
  const client = opened.connect(options);
  try {
    const progress = progressFor(context);
    const flags = { ...options, target: addresses, refresh: true, allowRecreate: true };
    const { plan } = await planAll(context, { opened, state, client, progress, desired: resources, flags });
    const { wanted, refused, unmoved } = acceptable(driftOf(plan), addresses);
    const declared = new Set(resources.map(({ address }) => address));
    const records = await referableRecords({
      state,
      planned: plan.document,
      declared,
      wanted,
      kinds,
      lookups,
      client,
      workspaceId: workspace.workspaceId,
    });
    const edits = await planEdits({ project, workspace, kinds, lookups, env: context.env, wanted, records });
    const left = new Set(edits.refused.map(({ address, path }) => `${address} ${path}`));
    return {
      files: edits.files,
      accepted: wanted.filter(({ address, path }) => !left.has(`${address} ${path}`)),
      refused: [...refused, ...edits.refused],
      unmoved,
    };
  } finally {
    await client.close();
  }
}

function ask(context: Context, files: number): Promise<boolean> {
  return approve(context, {
    question: `Write ${plural(files, 'file')}?`,
    hint: 'Approve on the command line: voxform accept --auto-approve. Or look first: voxform accept --dry-run.',
  });
}
