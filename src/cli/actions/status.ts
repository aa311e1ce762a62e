import { setTimeout as delay } from 'node:timers/promises';
import { jsonText } from '../../output/json-text.ts';
import { renderTable } from '../../output/table.ts';
import { ExitCode } from '../../problems/user-error.ts';
import { openWorkspace } from '../../workspaces/open-workspace.ts';
import { stateToRead } from '../../workspaces/planning.ts';
import { isSettled, type ResourceStatus, statusOf } from '../../workspaces/status.ts';
import type { Context } from '../context.ts';
import type { PlatformFlags, SelectionFlags } from '../flags.ts';
import { planAll, progressFor } from './planning.ts';

export interface StatusOptions extends SelectionFlags, PlatformFlags {
  readonly output: 'text' | 'json';
  readonly detailedExitcode?: boolean;
  readonly waitPublished?: boolean;
  readonly timeout: number;
}

/** Milliseconds between two looks while waiting for somebody to publish. */
const PAUSE = 5_000;

export async function status(context: Context, options: StatusOptions): Promise<number> {
  const opened = await openWorkspace(context, { requireKey: true });
  const { resources } = await opened.desired();
  const state = await stateToRead(context, opened);
  const client = opened.connect(options);
  const { terminal, log, interrupts, now } = context;
  try {
    const flags = { ...options, refresh: true, allowRecreate: true };
    const look = async (): Promise<ResourceStatus[]> => {
      const progress = progressFor(context);
      const { plan } = await planAll(context, { opened, state, client, progress, desired: resources, flags });
      return statusOf(plan.document.resources);
    };
    const deadline = now().getTime() + options.timeout * 1000;
    let rows = await look();
    while (options.waitPublished && rows.some(isUnpublished)) {
      const left = deadline - now().getTime();
      if (left <= 0) break;
      log.info(
        `Waiting for ${rows
          .filter(isUnpublished)
          .map(({ address }) => address)
          .join(', ')} to be published.`,
      );
      await delay(Math.min(PAUSE, left), undefined, { signal: interrupts.stop }).catch(() => undefined);
      if (interrupts.exitCode !== undefined) return interrupts.exitCode;
      rows = await look();
    }
    if (options.output === 'json') terminal.out(jsonText(rows));
    else terminal.out(table(rows, context));
    if (options.waitPublished && rows.some(isUnpublished)) {
      log.warn('not everything was published in time');
      return ExitCode.error;
    }
    return options.detailedExitcode && !rows.every(isSettled) ? ExitCode.changes : ExitCode.ok;
  } finally {
    await client.close();
  }
}

function isUnpublished({ status }: ResourceStatus): boolean {
  return status === 'unpublished';
}

function table(rows: readonly ResourceStatus[], { terminal }: Context): string {
  if (rows.length === 0) return 'The manifests declare nothing, and the state holds nothing.\n';
  const columns = [{ title: 'ADDRESS', whole: true }, { title: 'STATUS', whole: true }, { title: 'DETAIL' }];
  const cells = rows.map(({ address, status, detail }) => [address, status, detail]);
  return renderTable(columns, cells, terminal.tableStyle);
}
