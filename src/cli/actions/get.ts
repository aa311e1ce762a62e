import { kinds } from '../../kinds/index.ts';
import { createRecordWriter, type RecordFormat } from '../../output/records/record-writer.ts';
import { isReversed, momentOf } from '../../platform/date-range.ts';
import { didYouMean } from '../../problems/suggest.ts';
import { advice, command, ExitCode, misuse, UserError } from '../../problems/user-error.ts';
import type { CallCondition } from '../../runs/call-selection.ts';
import { type OpenWorkspace, openWorkspace } from '../../runs/open-workspace.ts';
import { type AnyRecord, type RecordType, recordTypes } from '../../runs/record-types.ts';
import type { State } from '../../state/state.ts';
import type { Context } from '../context.ts';
import { foundInCalls } from '../discovery-flags.ts';
import { conditions, type GetOptions, holdsIds, type RecordsFound, recordsOf } from './get-records.ts';

interface GetFlags extends GetOptions {
  readonly type: string;
  readonly id?: string;
  readonly version?: string;
  readonly output: RecordFormat;
  readonly utc?: boolean;
}

export async function get(context: Context, options: GetFlags): Promise<number> {
  const { id, version } = options;
  const recordType = recordTypeNamed(options.type);
  const filters = checkFilters(recordType, options);
  checkVersion(recordType, version);
  const opened = await openWorkspace(context, { requireKey: true });
  // Loads the project's secrets, so that they are redacted from texts of the platform.
  await opened.declared('offline');
  await using client = opened.connect(options, 'kept');
  const { log } = context;
  const given = filters.filter((each) => holdsIds(recordType, each)).map(({ value }) => value);
  const isNeeded = [id, ...given].some((each) => each?.includes('/')) || lacksList(recordType);
  const state = isNeeded
    ? await opened.state()
    : options.output === 'table'
      ? await stateForNames(opened, log)
      : undefined;
  const found = await recordsOf(recordType, { id, version, options, opened, client, state, log });
  // A version is a former state of the record.
  const shown = version === undefined ? recordType : { ...recordType, ...recordType.kind?.table };
  const { expiresWithin } = options;
  const records =
    expiresWithin === undefined ? found.records : expiring(found.records, expiresWithin, context);
  const count = await print(context, { ...found, records }, { recordType: shown, options, state });
  const elsewhere = id === undefined ? undefined : client.workspaceCheck.elsewhere;
  if (elsewhere !== undefined) {
    log.warn(
      `${elsewhere.id} belongs to workspace ${elsewhere.workspaceId}, not to ${opened.workspace.workspaceId}.`,
    );
  }
  if (id === undefined) client.workspaceCheck.refuseWrongWorkspace();
  return expiresWithin !== undefined && count > 0 ? ExitCode.changes : ExitCode.ok;
}

/** Records that expire within this time, and those with an unreadable time, which may expire too. */
async function* expiring(
  records: AsyncIterable<AnyRecord>,
  seconds: number,
  { now, log }: Context,
): AsyncGenerator<AnyRecord> {
  const from = now().getTime();
  for await (const record of records) {
    const { id, expires_at: expires } = record;
    if (expires === null || expires === undefined) continue;
    const at = momentOf(String(expires));
    if (Number.isNaN(at)) log.warn(`expires_at of ${id} is not a time: ${String(expires)}`);
    else if (at < from || at > from + seconds * 1000) continue;
    yield record;
  }
}

function lacksList({ list, ofRecord }: RecordType): boolean {
  return list === undefined && ofRecord === undefined;
}

/** The state is optional: it only adds addresses to ids. */
async function stateForNames(opened: OpenWorkspace, log: Context['log']): Promise<State | undefined> {
  try {
    return await opened.stateAhead();
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    log.warn(`addresses not shown: ${error.message}`);
    return undefined;
  }
}

function checkVersion({ name }: RecordType, version: string | undefined): void {
  if (version === undefined) return;
  const hint = advice`Example: ${command('get versions Agent/support-line 3')}, or latest`;
  if (name !== 'versions') throw misuse(`get ${name} takes no version`, hint);
  if (version !== 'latest' && !/^\d{1,9}$/.test(version)) throw misuse(`invalid version ${version}`, hint);
}

interface Printing {
  readonly recordType: RecordType;
  readonly options: GetFlags;
  readonly state: State | undefined;
}

/** Page by page, as fast as the output is read; a closed output ends the reads. */
async function print(
  { terminal, log, interrupts }: Context,
  { records, mentioned }: RecordsFound,
  { recordType, options: { output, limit = Number.POSITIVE_INFINITY, utc, expiresWithin }, state }: Printing,
): Promise<number> {
  const writer = createRecordWriter(output, {
    columns: recordType.columns,
    style: terminal.tableStyle,
    zone: utc ? 'utc' : 'local',
    addresses: addressesOf(state),
    mentioned: mentioned ?? new Map(),
  });
  let count = 0;
  for await (const record of records) {
    await terminal.outWhenReady(writer.write(record));
    count += 1;
    if (count >= limit || terminal.isClosed || interrupts.stop.aborted) break;
  }
  await terminal.outWhenReady(writer.end());
  if (count === 0 && output === 'table') {
    log.info(
      expiresWithin === undefined
        ? noneOf(recordType, mentioned !== undefined)
        : 'No API key expires within this time.',
    );
  }
  return count;
}

/** By id: the current or former address of a record. */
function addressesOf(state: State | undefined): Map<string, string> {
  return new Map([
    ...(state?.orphans ?? []).map(({ id, address }) => [id, `${address} (orphan)`] as const),
    ...[...(state?.resources ?? [])].map(([address, { id }]) => [id, address] as const),
  ]);
}

function noneOf(recordType: RecordType, areMentioned: boolean): string {
  const { name } = recordType;
  if (!lacksList(recordType)) return `No ${name.replace('api-', 'API ').replace('-', ' ')} found.`;
  const where = areMentioned ? 'Neither the state nor other records name any' : 'The state has no';
  return `${where} ${name}, and the API cannot list them. Pass an id.`;
}

function recordTypeNamed(name: string): RecordType {
  const recordType = recordTypes.get(name);
  if (recordType !== undefined) return recordType;
  const names = [...recordTypes.keys()];
  throw misuse(`unknown type ${name}${didYouMean(name, names)}`, `Types: ${names.join(', ')}.`);
}

function checkFilters({ name }: RecordType, options: GetOptions): CallCondition[] {
  const { from, to, callsFrom, expiresWithin } = options;
  if (from !== undefined && to !== undefined && isReversed(from, to)) {
    throw misuse(`--to ${to} is before --from ${from}`, 'Swap the two.');
  }
  const filters = conditions(options);
  if (callsFrom !== undefined && name !== foundInCalls(kinds)) {
    throw misuse(
      `--calls-from applies to ${foundInCalls(kinds)} only`,
      advice`Example: ${command('get calls --from 2026-01-01')}`,
    );
  }
  if (expiresWithin !== undefined && name !== 'api-keys') {
    throw misuse(
      '--expires-within applies to api-keys only',
      advice`Example: ${command('get api-keys --expires-within 30d')}`,
    );
  }
  if (name === 'calls' || (filters.length === 0 && from === undefined && to === undefined)) return filters;
  throw misuse(
    '--from, --to, --agent, --outcome and --where apply to calls only',
    advice`Example: ${command('get calls --from 2026-01-01')}`,
  );
}
