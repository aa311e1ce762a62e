import { parseAddress } from '../../manifests/resource.ts';
import { createRecordWriter, type RecordFormat } from '../../output/records/record-writer.ts';
import type { PlatformClient } from '../../platform/client.ts';
import { PlatformError } from '../../platform/errors.ts';
import { didYouMean } from '../../problems/suggest.ts';
import { ExitCode, UserError } from '../../problems/user-error.ts';
import type { State } from '../../state/state.ts';
import { type OpenWorkspace, openWorkspace } from '../../workspaces/open-workspace.ts';
import {
  type AnyRecord,
  isReadable,
  type Readable,
  type ReadableName,
  readables,
} from '../../workspaces/readable.ts';
import type { Context } from '../context.ts';
import { isReversed } from '../dates.ts';
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
}

interface Wanted {
  readonly what: string;
  readonly id: string | undefined;
}

export async function get(context: Context, { what, id }: Wanted, options: GetOptions): Promise<number> {
  const name = readableNamed(what);
  checkFilters(name, options);
  const opened = await openWorkspace(context, { requireKey: true });
  // So that the project's secrets are known, and struck out of what the platform says.
  await opened.declared('offline');
  const client = opened.connect(options, 'kept');
  try {
    const records = await recordsOf(name, { id, options, opened, client });
    await print(context, records, { name, options });
    return ExitCode.ok;
  } finally {
    await client.close();
  }
}

interface Reading {
  readonly id: string | undefined;
  readonly options: GetOptions;
  readonly opened: OpenWorkspace;
  readonly client: PlatformClient;
}

async function recordsOf(
  name: ReadableName,
  { id, options, opened, client }: Reading,
): Promise<AsyncIterable<AnyRecord>> {
  const readable: Readable = readables[name];
  const needsState = [id, options.agent].some((given) => given?.includes('/')) || readable.list === undefined;
  const state = needsState ? await opened.state() : undefined;
  const known = id === undefined ? undefined : idOf(id, state);
  if (readable.ofRecord) {
    if (known === undefined)
      throw usage(`get ${name} needs to be told which agent`, `voxform get ${name} Agent/support-line`);
    return eachFoundOr(client.agents.versions(known), { name: 'agents', id: known });
  }
  if (known !== undefined) return only(one(readable, client, { name, id: known }));
  if (readable.list !== undefined) {
    const { from, to, outcome, agent } = options;
    return readable.list(client, {
      from,
      to,
      outcome,
      agentId: agent === undefined ? undefined : idOf(agent, state),
    });
  }
  return eachOf(readable, client, idsOfKind(readable.kind ?? '', state));
}

async function one(readable: Readable, client: PlatformClient, { name, id }: Asked): Promise<AnyRecord> {
  if (readable.get !== undefined) return foundOr(readable.get(client, id), { name, id });
  for await (const record of readable.list?.(client, {}) ?? []) if (String(record.id) === id) return record;
  throw new UserError(`there is no ${id} among the ${name} of this workspace`, {
    hint: `voxform get ${name} lists them.`,
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
  return new UserError(`there is no ${id} among the ${name} of this workspace`, {
    hint: 'Check the id, and that the workspace is the right one.',
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
      if (record !== undefined) yield record;
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
    ? `The state has no ${name}, and the API cannot list them: name one by its id.`
    : `There are no ${name.replace('api-', 'API ').replace('-', ' ')}.`;
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
  throw usage(
    `there is no ${name} to get${didYouMean(name, names)}`,
    `voxform get reads ${names.join(', ')}.`,
  );
}

function checkFilters(name: ReadableName, { from, to, agent, outcome }: GetOptions): void {
  if (from !== undefined && to !== undefined && isReversed(from, to)) {
    throw usage(`--to ${to} lies before --from ${from}`, 'Exchange the two.');
  }
  if (name === 'calls' || [from, to, agent, outcome].every((filter) => filter === undefined)) return;
  throw usage(
    '--from, --to, --agent and --outcome narrow calls alone',
    'voxform get calls --from 2026-01-01',
  );
}

function usage(message: string, hint: string): UserError {
  return new UserError(message, { hint, exitCode: ExitCode.usage });
}
