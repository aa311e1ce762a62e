import { historyText, runText } from '../../output/history-text.ts';
import { jsonText } from '../../output/json-text.ts';
import { openWorkspace } from '../../runs/open-workspace.ts';
import { type HistoryDocument, pastRuns, runNamed, selectRuns } from '../../runs/past-runs.ts';
import { VERSION } from '../../version.ts';
import type { Context } from '../context.ts';
import type { JsonFlag } from '../flags.ts';

interface HistoryOptions {
  readonly address?: string;
  readonly number: number;
  /** Selects only runs since this date or time. */
  readonly since?: string;
  readonly output: 'text' | 'json' | 'jsonl';
}

export async function history(context: Context, options: HistoryOptions): Promise<void> {
  const { number: limit, output } = options;
  const { store, workspace } = await openWorkspace(context, { requireKey: false });
  const all = await pastRuns(store);
  const runs = selectRuns(all, { ...options, limit });
  const { terminal } = context;
  if (output === 'json') {
    const header = { format_version: 1, voxform_version: VERSION, workspace: workspace.name } as const;
    terminal.out(jsonText({ ...header, runs } satisfies HistoryDocument));
  } else if (output === 'jsonl') for (const run of runs) terminal.out(`${JSON.stringify(run)}\n`);
  else if (runs.length === 0) {
    const from = all.findLast((run) => run.moved_from !== undefined)?.moved_from;
    const elsewhere = from === undefined ? '' : ` ${from} keeps the earlier runs.`;
    context.log.info(all.length === 0 ? 'No runs yet.' : `No run matches.${elsewhere}`);
  } else terminal.out(historyText(runs, all, terminal.tableStyle));
}

export async function showRun(context: Context, options: JsonFlag & { readonly run: string }): Promise<void> {
  const { store } = await openWorkspace(context, { requireKey: false });
  const run = runNamed(await pastRuns(store), options.run);
  const { terminal } = context;
  terminal.out(options.output === 'text' ? runText(run, terminal.style) : jsonText(run));
}
