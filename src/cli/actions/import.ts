import { claimOf, importById, recordClaims } from '../../engine/apply/import-record.ts';
import type { Resource } from '../../manifests/resource.ts';
import { advice, command, usageError } from '../../problems/user-error.ts';
import { commandFor } from '../../problems/workspace-command.ts';
import { checkRows, InvalidRows, importableKind, type RowsImport, readRows } from '../../runs/import-rows.ts';
import { openWorkspace, withSession } from '../../runs/open-workspace.ts';
import type { LockOptions, PlatformOptions } from '../../runs/run-context.ts';
import type { Context } from '../context.ts';
import { readFlagFile } from '../ids-from-flags.ts';

interface ImportOptions extends LockOptions, PlatformOptions {
  readonly address?: string;
  readonly id?: string;
  readonly from?: string;
}

export async function importRecords(context: Context, options: ImportOptions): Promise<void> {
  const { address, id, from } = options;
  if (from !== undefined && address === undefined) return importFile(context, from, options);
  if (from === undefined && address !== undefined && id !== undefined)
    return importRecord(context, { address, id }, options);
  throw usageError(
    'import needs ADDRESS and ID, or --from FILE',
    advice`Run ${command('import ADDRESS ID')}, or ${command('import --from FILE')}.`,
  );
}

async function importRecord(
  context: Context,
  { address, id }: { readonly address: string; readonly id: string },
  options: ImportOptions,
): Promise<void> {
  const kind = importableKind(address);
  if (typeof kind === 'string') throw usageError(kind);
  const opened = await openWorkspace(context, { requireKey: true });
  const { workspaceId } = opened.workspace;
  // This loads the secrets of the project, so that they are redacted from the platform's data.
  const { resources } = await opened.declared('lenient');
  const outcome = await withSession(opened, { operation: 'import', options }, ({ session, client }) =>
    importById({ address, id, kind, client, workspaceId, session, now: context.now }),
  );
  const command = commandFor('voxform plan', opened.selection);
  context.terminal.out(
    outcome === 'already'
      ? `${address} (${id}) is already managed.\n`
      : `Imported ${address} (${id}). Run ${command} to see how it differs.\n`,
  );
  warnUndeclared(context, claimedBy(resources).has(address) ? [] : [address]);
}

/** Imports all rows of a file, or none if a row has a problem. */
async function importFile(context: Context, file: string, options: ImportOptions): Promise<void> {
  const text = await readFlagFile(context.cwd, file);
  const opened = await openWorkspace(context, { requireKey: true });
  const { workspaceId, name: workspace } = opened.workspace;
  const { rows, problems } = readRows(text, { file, workspace });
  const { resources } = await opened.declared('lenient');
  const fresh = await withSession(opened, { operation: 'import', options }, async ({ session, client }) => {
    const concurrency = opened.concurrency(options);
    const rowsImport: RowsImport = { session, client, workspaceId, concurrency, now: context.now };
    const checked = await checkRows(rows, rowsImport);
    const allProblems = [...problems, ...checked.problems].sort((a, b) => a.line - b.line);
    if (allProblems.length > 0) {
      throw new InvalidRows(allProblems.map((each) => ({ severity: 'error', code: 'bad-row', file, ...each })));
    }
    await recordClaims(
      checked.fresh.map((row) => claimOf(row.address, row.id)),
      rowsImport,
    );
    return checked.fresh;
  });
  const managed = rows.length - fresh.length;
  const more = managed === 0 ? '' : ` ${managed} ${managed === 1 ? 'was' : 'were'} already managed.`;
  const command = commandFor('voxform plan', opened.selection);
  context.terminal.out(`${fresh.length} imported.${more} Run ${command} to see how they differ.\n`);
  const declared = claimedBy(resources);
  warnUndeclared(
    context,
    rows.map(({ address }) => address).filter((address) => !declared.has(address)),
  );
}

function warnUndeclared({ log }: Context, addresses: readonly string[]): void {
  const [first, ...more] = addresses;
  if (first === undefined) return;
  const [subject, pronoun, records] =
    more.length === 0 ? [first, 'one', 'record'] : [`${first} and ${more.length} more`, 'them', 'records'];
  log.warn(`no manifest declares ${subject} yet: write ${pronoun}, or the next apply releases the ${records}`);
}

/** Returns the declared addresses and the previous addresses of renamed resources. The next apply keeps their records. */
function claimedBy(resources: readonly Resource[]): ReadonlySet<string> {
  return new Set(
    resources.flatMap(({ address, kind, previousNames }) => [
      address,
      ...previousNames.map((name) => `${kind}/${name}`),
    ]),
  );
}
