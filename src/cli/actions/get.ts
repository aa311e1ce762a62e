import { parseAddress } from '../../manifests/resource.ts';
import { createRecordWriter, type RecordFormat } from '../../output/records/record-writer.ts';
import type { PlatformClient } from '../../platform/client.ts';
import { isReversed } from '../../platform/date-range.ts';
import { PlatformError } from '../../platform/errors.ts';
import { didYouMean } from '../../problems/suggest.ts';
import { ExitCode, UserError } from '../../problems/user-error.ts';
import { type CallCondition, callCondition, callFields } from '../../runs/call-selection.ts';
import { type OpenWorkspace, openWorkspace } from '../../runs/open-workspace.ts';
import {
  type AnyRecord,
  isReadable,
  type Readable,
  type ReadableName,
  readables,
} from '../../runs/readable.ts';
import type { State } from '../../state/state.ts';
import type { Context } from '../context.ts';
import type { PlatformFlags } from '../flags.ts';
import { unknownInState } from '../unknown-in-state.ts';

export interface GetOptions extends PlatformFlags {
  readonly output: RecordFormat;
  readonly limit?: number;
  readonly utc?: boolean;
  readonly from?: string;
  readonly to?: string;
  readonly agent?: string;
  readonly outcome?: string;
  readonly where?: readonly string[];
}

interface Wanted {
  readonly what: string;
  readonly id: string | undefined;
  readonly version?: string | undefined;
}

export async function get(
  context: Context,
  { what, id, version }: Wanted,
  options: GetOptions,
): Promise<number> {
  const name = readableNamed(what);
  checkFilters(name, options);
  checkVersion(name, version);
  const opened = await openWorkspace(context, { requireKey: true });
  // So that the project's secrets are known, and struck out of what the platform says.
  await opened.declared('offline');
  const client = opened.connect(options, 'kept');
  try {
    const onOutside = (count: number): void =>
      context.log.warn(`The platform ignored the date range: ${count} calls outside it are not shown.`);
    const records = await recordsOf(name, { id, version, options, opened, client, onOutside });
    await print(context, records, { name: version === undefined ? name : 'agents', options });
    const elsewhere = id === undefined ? undefined : client.sightings.elsewhere;
    if (elsewhere !== undefined) {
      context.log.warn(
        `${elsewhere.id} belongs to the workspace ${elsewhere.workspaceId}, not to ${opened.workspace.workspaceId}.`,
      );
    }
    if (id === undefined) client.sightings.refuseWrongWorkspace();
    return ExitCode.ok;
  } finally {
    await client.close();
  }
}

interface Reading {
  readonly id: string | undefined;
  readonly version: string | undefined;
  onOutside(count: number): void;
  readonly options: GetOptions;
  readonly opened: OpenWorkspace;
  readonly client: PlatformClient;
}

async function recordsOf(
  name: ReadableName,
  { id, version, options, opened, client, onOutside }: Reading,
): Promise<AsyncIterable<AnyRecord>> {
  const readable: Readable = readables[name];
  const needsState = [id, options.agent].some((given) => given?.includes('/')) || readable.list === undefined;
  const state = needsState ? await opened.state() : undefined;
  const known = id === undefined ? undefined : idOf(id, state);
  if (readable.ofRecord) {
    if (known === undefined)
      throw usage(`get ${name} needs an agent`, `Example: voxform get ${name} Agent/support-line`);
    if (version !== undefined) return only(versionOf(client, known, version));
    return eachFoundOr(client.agents.versions(known), { name: 'agents', id: known });
  }
  if (known !== undefined) return only(one(readable, client, { name, id: known }));
  if (readable.list !== undefined) {
    const { from, to, outcome, agent } = options;
    const equals = (field: string, value: string | undefined): CallCondition[] =>
      value === undefined ? [] : [{ field, operator: '=', value }];
    const agentId = agent === undefined ? undefined : idOf(agent, state);
    return readable.list(client, {
      from,
      to,
      where: [...equals('agent_id', agentId), ...equals('session_outcome', outcome), ...conditions(options)],
      onOutside,
    });
  }
  return eachOf(readable, client, idsOfKind(readable.kind ?? '', state));
}

async function versionOf(client: PlatformClient, id: string, version: string): Promise<AnyRecord> {
  try {
    return await (version === 'latest'
      ? client.agents.latestVersion(id)
      : client.agents.version(id, Number(version)));
  } catch (cause) {
    if (!isGone(cause)) throw cause;
    const which = version === 'latest' ? 'published version' : `version ${version}`;
    throw new UserError(`the agent ${id} has no ${which}`, {
      hint: `Run voxform get versions ${id} to list its versions.`,
      cause,
    });
  }
}

function conditions({ where = [] }: Pick<GetOptions, 'where'>): CallCondition[] {
  return where.map((text) => {
    const condition = callCondition(text);
    if ('problem' in condition) {
      throw usage(`--where ${text}: ${condition.problem}`, `Fields: ${callFields.join(', ')}.`);
    }
    return condition;
  });
}

function checkVersion(name: ReadableName, version: string | undefined): void {
  if (version === undefined) return;
  const hint = 'Example: voxform get versions Agent/support-line 3, or latest';
  if (name !== 'versions') throw usage(`get ${name} takes no version`, hint);
  if (version !== 'latest' && !/^\d{1,9}$/.test(version)) throw usage(`invalid version ${version}`, hint);
}

async function one(readable: Readable, client: PlatformClient, { name, id }: Asked): Promise<AnyRecord> {
  if (readable.get !== undefined) return foundOr(readable.get(client, id), { name, id });
  for await (const record of readable.list?.(client, {}) ?? []) if (String(record.id) === id) return record;
  throw new UserError(`${id} not found among the ${name} of this workspace`, {
    hint: `Run voxform get ${name} to list them.`,
  });
}

interface Asked {
  readonly name: ReadableName;
  readonly id: string;
}

/** What a read of one record gives; a record that is not there is told of by its id, not by its path. */
async function foundOr(record: Promise<AnyRecord>, asked: Asked): Promise<AnyRecord> {
  try {
    return await record;
  } catch (cause) {
    throw isGone(cause) ? missing(asked, cause) : cause;
  }
}

/** The same of what belongs to a record. */
async function* eachFoundOr(records: AsyncIterable<AnyRecord>, asked: Asked): AsyncGenerator<AnyRecord> {
  try {
    yield* records;
  } catch (cause) {
    throw isGone(cause) ? missing(asked, cause) : cause;
  }
}

function missing({ name, id }: Asked, cause: unknown): UserError {
  return new UserError(`${id} not found among the ${name} of this workspace`, {
    hint: 'Check the id and the workspace.',
    cause,
  });
}

function isGone(error: unknown): boolean {
  return error instanceof PlatformError && error.saysMissing;
}

async function* only(record: Promise<AnyRecord>): AsyncGenerator<AnyRecord> {
  yield await record;
}

/** Those that the state knows and that still exist. */
async function* eachOf(
  readable: Readable,
  client: PlatformClient,
  ids: readonly string[],
): AsyncGenerator<AnyRecord> {
  for (const id of ids) {
    try {
      const record = await readable.get?.(client, id);
      if (record !== undefined && client.sightings.workspaceOf(id) === undefined) yield record;
    } catch (error) {
      if (!isGone(error)) throw error;
    }
  }
}

interface Printing {
  readonly name: ReadableName;
  readonly options: GetOptions;
}

/** Page by page, as fast as they are taken: a reader who leaves ends the reading. */
async function print(
  { terminal, log, interrupts }: Context,
  records: AsyncIterable<AnyRecord>,
  { name, options: { output, limit = Number.POSITIVE_INFINITY, utc } }: Printing,
): Promise<void> {
  const writer = createRecordWriter(output, {
    name,
    style: terminal.tableStyle,
    zone: utc ? 'utc' : 'local',
  });
  let count = 0;
  for await (const record of records) {
    await terminal.outWhenReady(writer.write(record));
    count += 1;
    if (count >= limit || terminal.isLeft || interrupts.stop.aborted) break;
  }
  await terminal.outWhenReady(writer.end());
  if (count === 0 && output === 'table') log.info(noneOf(name));
}

function noneOf(name: ReadableName): string {
  const { list, ofRecord }: Readable = readables[name];
  return list === undefined && !ofRecord
    ? `The state has no ${name}, and the API cannot list them. Pass an id.`
    : `No ${name.replace('api-', 'API ').replace('-', ' ')} found.`;
}

/** The id that an address has in the state; what is no address is an id already. */
function idOf(given: string, state: State | undefined): string {
  if (parseAddress(given) === undefined || state === undefined) return given;
  const entry = state.resources.get(given);
  if (entry !== undefined) return entry.id;
  throw unknownInState(given, state.resources.keys());
}

function idsOfKind(kind: string, state: State | undefined): string[] {
  return [...(state?.resources ?? [])]
    .filter(([address]) => address.startsWith(`${kind}/`))
    .map(([, { id }]) => id);
}

function readableNamed(name: string): ReadableName {
  if (isReadable(name)) return name;
  const names = Object.keys(readables);
  throw usage(`unknown type ${name}${didYouMean(name, names)}`, `Types: ${names.join(', ')}.`);
}

function checkFilters(name: ReadableName, { from, to, agent, outcome, where }: GetOptions): void {
  if (from !== undefined && to !== undefined && isReversed(from, to)) {
    throw usage(`--to ${to} is before --from ${from}`, 'Swap the two.');
  }
  conditions({ ...(where !== undefined && { where }) });
  if (name === 'calls' || [from, to, agent, outcome, where].every((filter) => filter === undefined)) return;
  throw usage(
    '--from, --to, --agent, --outcome and --where apply to calls only',
    'Example: voxform get calls --from 2026-01-01',
  );
}

function usage(message: string, hint: string): UserError {
  return new UserError(message, { hint, exitCode: ExitCode.usage });
}
