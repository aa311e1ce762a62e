import type { PlanDocument } from '../../engine/plan-document.ts';
import type { Planned, Reconciling } from '../../engine/reconcile.ts';
import { reconcile } from '../../engine/reconcile.ts';
import { kinds, lookups } from '../../kinds/index.ts';
import type { Resource } from '../../manifests/resource.ts';
import { jsonText } from '../../output/json-text.ts';
import { planGithub } from '../../output/plan-github.ts';
import { planMarkdown } from '../../output/plan-markdown.ts';
import { renderPlanText } from '../../output/plan-text.ts';
import { createProgress, type Progress } from '../../output/progress.ts';
import type { PlatformClient } from '../../platform/client.ts';
import { ExitCode } from '../../problems/user-error.ts';
import type { State } from '../../state/state.ts';
import { VERSION } from '../../version.ts';
import type { Context } from '../context.ts';
import type { PlanFlags, PlatformFlags } from '../flags.ts';
import type { OpenWorkspace } from '../open-workspace.ts';

export type PlanFormat = 'text' | 'json' | 'markdown' | 'github';

export const PLAN_FORMATS: readonly PlanFormat[] = ['text', 'json', 'markdown', 'github'];

/** The state for a command that takes no lock, which says when another one is at work. */
export async function stateToRead({ log }: Context, opened: OpenWorkspace): Promise<State> {
  const holder = await opened.store.holder();
  if (holder !== undefined) {
    log.warn(
      `${holder.operation} of ${holder.who} is at work since ${holder.since}: this sees it half done, and takes creates under way for unknown`,
    );
  }
  return opened.state();
}

/** What a plan and the apply of a saved one have in common. */
export interface Surroundings {
  readonly opened: OpenWorkspace;
  readonly state: State;
  readonly client: PlatformClient;
  readonly flags: PlatformFlags;
  readonly progress: Progress;
}

type Common = Omit<
  Reconciling,
  'desired' | 'selection' | 'refresh' | 'allowRecreate' | 'allowReplace' | 'guards'
>;

export function commonInput(
  context: Context,
  { opened, state, client, flags, progress }: Surroundings,
): Common {
  const { name, workspaceId, baseUrl } = opened.workspace;
  return {
    state,
    client,
    kinds,
    lookups,
    workspace: { name, id: workspaceId, baseUrl },
    concurrency: opened.concurrency(flags),
    version: VERSION,
    now: context.now,
    onProgress: (reading) => progress.read(reading),
  };
}

/** Plans everything that the flags leave in scope. */
export async function planAll(
  context: Context,
  {
    desired,
    flags,
    ...surroundings
  }: Surroundings & { readonly desired: readonly Resource[]; readonly flags: PlanFlags },
): Promise<Planned> {
  const planned = await reconcile({
    ...commonInput(context, { ...surroundings, flags }),
    desired,
    selection: { targets: flags.target ?? [], labels: flags.selector ?? {} },
    refresh: flags.refresh,
    allowRecreate: flags.allowRecreate ?? false,
    allowReplace: flags.allowReplace ?? [],
    guards: surroundings.opened.project.guards,
  });
  surroundings.progress.clear();
  return planned;
}

export function progressFor({ terminal, log, quiet, now }: Context): Progress {
  return createProgress({
    write: (text) => (log.isJson ? log.block('info', text) : terminal.err(text)),
    interactive: terminal.canDraw && !log.isJson,
    quiet,
    style: terminal.errorStyle,
    now: () => now().getTime(),
  });
}

/** The plan in one of its forms. */
export function rendered(document: PlanDocument, format: PlanFormat, { terminal, verbose }: Context): string {
  switch (format) {
    case 'text':
      return renderPlanText(document, terminal.style, { verbose });
    case 'json':
      return jsonText(document);
    case 'markdown':
      return planMarkdown(document);
    case 'github':
      return planGithub(document);
    default:
      return format satisfies never;
  }
}

/** With `--strict`, what is left to a person is an error. */
export function strictCode(document: PlanDocument, { strict }: PlanFlags): number {
  const { manual, blocked, unknown } = document.summary;
  return strict && manual + blocked + unknown > 0 ? ExitCode.error : ExitCode.ok;
}

/** The number of resources that an apply would write. */
export function changesIn({ summary }: PlanDocument): number {
  return summary.create + summary.update + summary.replace + summary.adopt + summary.forget;
}
