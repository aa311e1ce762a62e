import { kinds } from '../../kinds/index.ts';
import { jsonText } from '../../output/json-text.ts';
import { renderTable } from '../../output/table.ts';
import { ExitCode } from '../../problems/user-error.ts';
import { type OpenWorkspace, openWorkspace } from '../../workspaces/open-workspace.ts';
import { lookAtOrphans, type OrphanStatus } from '../../workspaces/orphans.ts';
import type { Context } from '../context.ts';
import type { PlatformFlags } from '../flags.ts';

export interface OrphansOptions extends PlatformFlags {
  readonly output: 'text' | 'json';
  readonly check?: boolean;
}

export async function orphans(context: Context, options: OrphansOptions): Promise<number> {
  const opened = await openWorkspace(context, { requireKey: options.check ?? false });
  const state = await opened.state();
  const known = options.check
    ? await checked(opened, state.orphans, options)
    : state.orphans.map((orphan): OrphanStatus => ({ ...orphan, exists: null }));
  const { terminal, log } = context;
  if (options.output === 'json') terminal.out(jsonText(known));
  else if (known.length === 0) log.info('There are no orphans.');
  else terminal.out(table(known, context));
  return ExitCode.ok;
}

async function checked(
  opened: OpenWorkspace,
  known: Parameters<typeof lookAtOrphans>[0],
  flags: PlatformFlags,
): Promise<OrphanStatus[]> {
  const client = opened.connect(flags);
  try {
    const { workspaceId } = opened.workspace;
    return await lookAtOrphans(known, { client, kinds, workspaceId, concurrency: opened.concurrency(flags) });
  } finally {
    await client.close();
  }
}

function table(known: readonly OrphanStatus[], { terminal }: Context): string {
  const columns = [
    { title: 'WAS', whole: true },
    { title: 'ID', whole: true },
    { title: 'REASON' },
    { title: 'SINCE' },
    { title: 'EXISTS' },
  ];
  const rows = known.map(({ address, id, reason, since, exists }) => [
    address,
    id,
    reason,
    since.slice(0, 10),
    exists === null ? '?' : exists ? 'yes' : 'no',
  ]);
  return renderTable(columns, rows, terminal.tableStyle);
}
