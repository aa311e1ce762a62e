import type { MentionsById } from '../../engine/observe/search-candidates.ts';
import { kinds } from '../../kinds/index.ts';
import type { Kind, Versions } from '../../kinds/kind.ts';
import { namedId, parseAddress } from '../../manifests/resource.ts';
import { createRecordWriter, type RecordFormat } from '../../output/records/record-writer.ts';
import type { PlatformClient } from '../../platform/client.ts';
import { isReversed, toMilliseconds } from '../../platform/date-range.ts';
import { PlatformError } from '../../platform/platform-error.ts';
import { compareText } from '../../problems/compare-text.ts';
import { didYouMean } from '../../problems/suggest.ts';
import { type Advice, advice, command, ExitCode, UserError, usageError } from '../../problems/user-error.ts';
import { type CallCondition, callFields, parseCallCondition } from '../../runs/call-selection.ts';
import { idsInState, type MissedRecord, mentionedIds, missingReason, readMentioned } from '../../runs/discover.ts';
import { type OpenWorkspace, openWorkspace } from '../../runs/open-workspace.ts';
import { type AnyRecord, type RecordType, recordTypes } from '../../runs/record-types.ts';
import type { PlatformOptions } from '../../runs/run-context.ts';
import { unknownInState, unresolvedCreate } from '../../runs/versioned-record.ts';
import type { State } from '../../state/state.ts';
import type { Context } from '../context.ts';
import { kindsInCalls } from '../flags.ts';

interface GetFlags extends PlatformOptions {
  readonly type: string;
  readonly id?: string;
  readonly version?: string;
  readonly output: RecordFormat;
  readonly utc?: boolean;
  readonly limit?: number;
  readonly from?: string;
  readonly to?: string;
  readonly agent?: string;
  readonly outcome?: string;
  readonly where?: readonly string[];
  readonly callsFrom?: Date;
  /** Selects only API keys that expire within this number of seconds. */
  readonly expiresWithin?: number;
}

export async function get(context: Context, options: GetFlags): Promise<number> {
  const { id, version } = options;
  const recordType = recordTypeNamed(options.type);
  const filters = checkFilters(recordType, options);
  checkVersion(recordType, version);
  const opened = await openWorkspace(context, { requireKey: true });
  // This loads the secrets of the project, so that they are redacted from the platform's data.
  await opened.declared('lenient');
  await using client = opened.connect(options, 'kept');
  const { log } = context;
  const filterIds = filters.filter((each) => containsIds(recordType, each)).map(({ value }) => value);
  const isStateNeeded = [id, ...filterIds].some((each) => each?.includes('/')) || lacksList(recordType);
  const state = isStateNeeded
    ? await opened.state()
    : options.output === 'table'
      ? await stateForNames(opened, log)
      : undefined;
  const found = await recordsOf(recordType, { options, filters, opened, client, state, log });
  // A published version has the fields of the record, not those of an entry in the list of versions.
  const shown = version === undefined ? recordType : { ...recordType, ...recordType.kind?.table };
  const { expiresWithin } = options;
  const records = expiresWithin === undefined ? found.records : expiring(found.records, expiresWithin, context);
  const count = await print(context, { ...found, records }, { recordType: shown, options, state });
  const foreign = id === undefined ? undefined : client.workspaceCheck.firstForeign;
  if (foreign !== undefined) {
    log.warn(`${foreign.id} belongs to workspace ${foreign.workspaceId}, not to ${opened.workspace.workspaceId}.`);
  }
  if (id === undefined) client.workspaceCheck.refuseWrongWorkspace();
  return expiresWithin !== undefined && count > 0 ? ExitCode.changes : ExitCode.ok;
}

/** Yields the records that expire within this time. A record with an invalid expiry time is included, because it may expire too. */
async function* expiring(
  records: AsyncIterable<AnyRecord>,
  seconds: number,
  { now, log }: Context,
): AsyncGenerator<AnyRecord> {
  const from = now().getTime();
  for await (const record of records) {
    const { id, expires_at: expires } = record;
    if (expires === null || expires === undefined) continue;
    const at = toMilliseconds(String(expires));
    if (Number.isNaN(at)) log.warn(`expires_at of ${id} is not a time: ${String(expires)}`);
    else if (at < from || at > from + seconds * 1000) continue;
    yield record;
  }
}

function lacksList({ list, ofRecord }: RecordType): boolean {
  return list === undefined && ofRecord === undefined;
}

/** Reads the state in order to show addresses beside ids. If the state cannot be read, warns and returns undefined. */
async function stateForNames(opened: OpenWorkspace, log: Context['log']): Promise<State | undefined> {
  try {
    return await opened.stateWithoutWarnings();
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    log.warn(`cannot show addresses: ${error.message}`);
    return undefined;
  }
}

function checkVersion({ name }: RecordType, version: string | undefined): void {
  if (version === undefined) return;
  const hint = advice`Example: ${command('get versions Agent/support-line 3')}, or latest`;
  if (name !== 'versions') throw usageError(`get ${name} takes no version`, hint);
  if (version !== 'latest' && !/^\d{1,9}$/.test(version)) throw usageError(`invalid version ${version}`, hint);
}

/** Prints the records and returns their number. Reads no faster than the output is consumed, and stops when the output is closed. */
async function print(
  { terminal, log, interrupts }: Context,
  { records, mentioned }: RecordsFound,
  { recordType, options, state }: Pick<RecordsWanted, 'options' | 'state'> & { readonly recordType: RecordType },
): Promise<number> {
  const { output, limit = Number.POSITIVE_INFINITY, utc, expiresWithin } = options;
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

/** Returns the current or former address of each record in the state, by id. */
function addressesOf(state: State | undefined): Map<string, string> {
  return new Map([
    ...(state?.orphans ?? []).map(({ id, address }) => [id, `${address} (orphan)`] as const),
    ...[...(state?.resources ?? [])].map(([address, { id }]) => [id, address] as const),
  ]);
}

function noneOf(recordType: RecordType, areMentioned: boolean): string {
  const { name } = recordType;
  if (!lacksList(recordType)) return `No ${name.replace('api-', 'API ').replace('-', ' ')} found.`;
  const where = areMentioned ? 'Neither the state nor other records mention any' : 'The state has no';
  return `${where} ${name}, and the API cannot list them. Pass an id.`;
}

function recordTypeNamed(name: string): RecordType {
  const recordType = recordTypes.get(name);
  if (recordType !== undefined) return recordType;
  const names = [...recordTypes.keys()];
  throw usageError(`unknown type ${name}${didYouMean(name, names)}`, `Types: ${names.join(', ')}.`);
}

function checkFilters({ name }: RecordType, options: GetFlags): CallCondition[] {
  const { from, to, callsFrom, expiresWithin } = options;
  if (from !== undefined && to !== undefined && isReversed(from, to)) {
    throw usageError(`--to ${to} is before --from ${from}`, 'Swap the two dates.');
  }
  const filters = conditions(options);
  if (callsFrom !== undefined && name !== kindsInCalls(kinds)) {
    throw usageError(
      `--calls-from applies to ${kindsInCalls(kinds)} only`,
      advice`Example: ${command('get calls --from 2026-01-01')}`,
    );
  }
  if (expiresWithin !== undefined && name !== 'api-keys') {
    throw usageError(
      '--expires-within applies to api-keys only',
      advice`Example: ${command('get api-keys --expires-within 30d')}`,
    );
  }
  if (name === 'calls' || (filters.length === 0 && from === undefined && to === undefined)) return filters;
  throw usageError(
    '--from, --to, --agent, --outcome and --where apply to calls only',
    advice`Example: ${command('get calls --from 2026-01-01')}`,
  );
}

interface RecordsWanted {
  readonly options: GetFlags;
  readonly filters: readonly CallCondition[];
  readonly opened: OpenWorkspace;
  readonly client: PlatformClient;
  /** Always set if an argument is an address or the API cannot list the records. */
  readonly state: State | undefined;
  readonly log: Context['log'];
}

interface RecordsFound {
  readonly records: AsyncIterable<AnyRecord>;
  /** Set for a kind that other records mention: the ids that are not in the state, and where they are mentioned. */
  readonly mentioned?: MentionsById;
}

async function recordsOf(recordType: RecordType, wanted: RecordsWanted): Promise<RecordsFound> {
  const { options, filters, client, state, log } = wanted;
  const { id, version } = options;
  const { name } = recordType;
  const requested = id === undefined ? undefined : { name, id: idOf(id, state), given: id };
  const { ofRecord, kind } = recordType;
  if (ofRecord !== undefined && kind !== undefined) {
    if (requested === undefined)
      throw usageError(
        `get ${name} needs an id or address`,
        advice`Example: ${command(`get ${name} ${kind.name}/NAME`)}`,
      );
    if (version !== undefined) return { records: only(versionOf(ofRecord, client, { ...requested, version })) };
    return { records: withNamedId(ofRecord.list(client, requested.id), { ...requested, name: kind.table.name }) };
  }
  if (requested !== undefined) {
    return { records: withNamedId(only(recordById(recordType, client, requested)), requested) };
  }
  if (recordType.list !== undefined) {
    const { from, to } = options;
    return {
      records: recordType.list(client, {
        from,
        to,
        where: filters.map((filter) =>
          containsIds(recordType, filter) ? { ...filter, value: idOf(filter.value, state) } : filter,
        ),
        onOutside: (count) =>
          log.warn(`The platform also sent ${count} calls outside the date range, which are not shown.`),
      }),
    };
  }
  if (kind === undefined) throw new Error(`${name} can neither be listed nor found`);
  return unlisted(kind, wanted);
}

/** Returns the records of a kind that the API cannot list: first the records in the state, then the records that other records mention. */
async function unlisted(kind: Kind, { options, opened, client, state, log }: RecordsWanted): Promise<RecordsFound> {
  const entries = [
    ...(state?.resources ?? []),
    ...(state?.orphans ?? []).map((orphan) => [orphan.address, orphan] as const),
  ];
  const known = [...idsInState(entries)].filter((each) => each.kind === kind.name);
  const missed: MissedRecord[] = [];
  const allMentioned = await mentionedIds(kind, { client, known, since: options.callsFrom, missed });
  for (const { because } of missed) log.warn(`${kind.name}: ${because}`);
  const inState = new Set(known.map(({ id }) => id));
  const mentioned = new Map([...allMentioned].filter(([id]) => !inState.has(id)).sort(([a], [b]) => compareText(a, b)));
  const records = readMentioned(kind, [...inState, ...mentioned.keys()], {
    client,
    workspaceId: opened.workspace.workspaceId,
    concurrency: Math.min(opened.concurrency(options), options.limit ?? Number.POSITIVE_INFINITY),
    onGap(id, seen) {
      // This is not a warning, because the calls of deleted agents remain on the platform.
      const clauses = mentioned.get(id);
      if (clauses !== undefined) log.debug(`${kind.name} ${id}: ${missingReason(seen, clauses)}.`);
    },
  });
  return { records, ...(kind.mentions !== undefined && { mentioned }) };
}

async function versionOf(
  versions: Versions,
  client: PlatformClient,
  { version, ...requested }: RequestedRecord & { readonly version: string },
): Promise<AnyRecord> {
  const { id, given } = requested;
  try {
    return await versions.get(client, id, version === 'latest' ? version : Number(version));
  } catch (cause) {
    if (!isMissing(cause)) throw cause;
    const isLatest = version === 'latest';
    throw new UserError(`${nameOf(requested)} has no ${isLatest ? 'published version' : `version ${version}`}`, {
      hint: advice`Run ${command(`get versions ${given}`)} to list its versions.`,
      exitCode: isLatest ? ExitCode.error : ExitCode.usage,
      cause,
    });
  }
}

async function recordById(
  recordType: RecordType,
  client: PlatformClient,
  requested: RequestedRecord,
): Promise<AnyRecord> {
  const { name, id } = requested;
  if (recordType.get !== undefined) return recordType.get(client, id);
  const { label = 'id' } = recordType;
  for await (const record of recordType.list?.(client, {}) ?? [])
    if (String(record.id) === id || record[label] === id) return record;
  throw missing(requested, advice`Run ${command(`get ${name}`)} to list them.`);
}

interface RequestedRecord {
  /** The name of the record type. */
  readonly name: string;
  readonly id: string;
  /** The id or address that the user typed. */
  readonly given: string;
}

function nameOf({ id, given }: RequestedRecord): string {
  return namedId(id, given === id ? undefined : given);
}

/** Replaces the error about a missing record, which contains the request path, with an error that contains the id. */
async function* withNamedId(records: AsyncIterable<AnyRecord>, requested: RequestedRecord): AsyncGenerator<AnyRecord> {
  try {
    yield* records;
  } catch (cause) {
    throw isMissing(cause) ? missing(requested, 'Check the id and the workspace.', cause) : cause;
  }
}

function missing(requested: RequestedRecord, hint: Advice, cause?: unknown): UserError {
  const message = `${nameOf(requested)} not found among the ${requested.name} of this workspace`;
  return new UserError(message, { hint, cause });
}

function isMissing(error: unknown): boolean {
  return error instanceof PlatformError && error.isMissing;
}

async function* only(record: Promise<AnyRecord>): AsyncGenerator<AnyRecord> {
  yield await record;
}

/** Returns the id of an address in the state. Any other text is returned unchanged, because it is an id. */
function idOf(given: string, state: State | undefined): string {
  if (parseAddress(given) === undefined || state === undefined) return given;
  const entry = state.resources.get(given);
  if (entry !== undefined) return entry.id;
  if (state.pending.has(given)) throw unresolvedCreate(given);
  throw unknownInState(given, state.resources.keys());
}

/** Returns true if the field contains record ids, so that the user may give an address as its value. */
function containsIds({ columns }: RecordType, { field }: Pick<CallCondition, 'field'>): boolean {
  return columns.some((column) => column.field === field && column.form === 'reference');
}

function conditions({ agent, outcome, where = [] }: GetFlags): CallCondition[] {
  const equals = (field: string, value: string | undefined): CallCondition[] =>
    value === undefined ? [] : [{ field, operator: '=', value }];
  const others = where.map((text) => {
    const condition = parseCallCondition(text);
    if ('problem' in condition) {
      throw usageError(`--where ${text}: ${condition.problem}`, `Fields: ${callFields.join(', ')}.`);
    }
    return condition;
  });
  return [...equals('agent_id', agent), ...equals('session_outcome', outcome), ...others];
}
