import type { MentionsById } from '../../engine/observe/search-candidates.ts';
import type { Kind, Versions } from '../../kinds/kind.ts';
import { namedId, parseAddress } from '../../manifests/resource.ts';
import type { PlatformClient } from '../../platform/client.ts';
import { PlatformError } from '../../platform/platform-error.ts';
import { type Advice, advice, command, misuse, UserError } from '../../problems/user-error.ts';
import { type CallCondition, callCondition, callFields } from '../../runs/call-selection.ts';
import { idsInState, type Missed, mentionedIds, readMentioned, why } from '../../runs/discover.ts';
import type { OpenWorkspace } from '../../runs/open-workspace.ts';
import type { AnyRecord, RecordType } from '../../runs/record-types.ts';
import type { PlatformOptions } from '../../runs/run-context.ts';
import { unknownInState } from '../../runs/versioned-record.ts';
import type { State } from '../../state/state.ts';
import type { Context } from '../context.ts';

/** Restricts the records. */
export interface GetOptions extends PlatformOptions {
  readonly limit?: number;
  readonly from?: string;
  readonly to?: string;
  readonly agent?: string;
  readonly outcome?: string;
  readonly where?: readonly string[];
  readonly callsFrom?: Date;
  /** Seconds. */
  readonly expiresWithin?: number;
}

interface RecordsWanted {
  readonly id: string | undefined;
  readonly version: string | undefined;
  readonly options: GetOptions;
  readonly opened: OpenWorkspace;
  readonly client: PlatformClient;
  /** Set if an address was given, and if the API has no list. */
  readonly state: State | undefined;
  readonly log: Context['log'];
}

export interface RecordsFound {
  readonly records: AsyncIterable<AnyRecord>;
  /** For a kind that other records mention: ids that the state does not have, with the places that mention them. */
  readonly mentioned?: MentionsById;
}

export async function recordsOf(recordType: RecordType, reading: RecordsWanted): Promise<RecordsFound> {
  const { id, version, options, client, state, log } = reading;
  const { name } = recordType;
  const asked = id === undefined ? undefined : { name, id: idOf(id, state), given: id };
  const { ofRecord, kind } = recordType;
  if (ofRecord !== undefined && kind !== undefined) {
    if (asked === undefined)
      throw misuse(
        `get ${name} needs an id or address`,
        advice`Example: ${command(`get ${name} ${kind.name}/NAME`)}`,
      );
    if (version !== undefined) return { records: only(versionOf(ofRecord, client, { ...asked, version })) };
    return { records: foundOr(ofRecord.list(client, asked.id), { ...asked, name: kind.table.name }) };
  }
  if (asked !== undefined) return { records: foundOr(only(one(recordType, client, asked)), asked) };
  if (recordType.list !== undefined) {
    const { from, to } = options;
    return {
      records: recordType.list(client, {
        from,
        to,
        where: conditions(options).map(({ value, ...condition }) => ({
          ...condition,
          value: holdsIds(recordType, condition) ? idOf(value, state) : value,
        })),
        onOutside: (count) =>
          log.warn(`The platform also sent ${count} calls outside the date range, which are not shown.`),
      }),
    };
  }
  if (kind === undefined) throw new Error(`${name} can neither be listed nor found`);
  return unlisted(kind, reading);
}

/** The records of an unlisted kind: first existing ones of the state, then those that other records mention. */
async function unlisted(
  kind: Kind,
  { options, opened, client, state, log }: RecordsWanted,
): Promise<RecordsFound> {
  const held = [
    ...(state?.resources ?? []),
    ...(state?.orphans ?? []).map((orphan) => [orphan.address, orphan] as const),
  ];
  const known = [...idsInState(held)].filter((each) => each.kind === kind.name);
  const missed: Missed[] = [];
  const heard = await mentionedIds(kind, { client, known, since: options.callsFrom, missed });
  for (const { because } of missed) log.warn(`${kind.name}: ${because}`);
  const inState = new Set(known.map(({ id }) => id));
  const mentioned = new Map(
    [...heard].filter(([id]) => !inState.has(id)).sort(([a], [b]) => (a < b ? -1 : 1)),
  );
  const records = readMentioned(kind, [...inState, ...mentioned.keys()], {
    client,
    workspaceId: opened.workspace.workspaceId,
    concurrency: Math.min(opened.concurrency(options), options.limit ?? Number.POSITIVE_INFINITY),
    onGap(id, seen) {
      // Calls outlive their agents, so this is not a warning.
      const clauses = mentioned.get(id);
      if (clauses !== undefined) log.debug(`${kind.name} ${id}: ${why(seen, clauses)}.`);
    },
  });
  return { records, ...(kind.mentions !== undefined && { mentioned }) };
}

async function versionOf(
  versions: Versions,
  client: PlatformClient,
  { version, ...asked }: AskedRecord & { readonly version: string },
): Promise<AnyRecord> {
  const { id, given } = asked;
  try {
    return await versions.get(client, id, version === 'latest' ? version : Number(version));
  } catch (cause) {
    if (!isGone(cause)) throw cause;
    const which = version === 'latest' ? 'published version' : `version ${version}`;
    throw new UserError(`${called(asked)} has no ${which}`, {
      hint: advice`Run ${command(`get versions ${given}`)} to list its versions.`,
      cause,
    });
  }
}

async function one(recordType: RecordType, client: PlatformClient, asked: AskedRecord): Promise<AnyRecord> {
  const { name, id } = asked;
  if (recordType.get !== undefined) return recordType.get(client, id);
  const { label = 'id' } = recordType;
  for await (const record of recordType.list?.(client, {}) ?? [])
    if (String(record.id) === id || record[label] === id) return record;
  throw missing(asked, advice`Run ${command(`get ${name}`)} to list them.`);
}

interface AskedRecord {
  readonly name: string;
  readonly id: string;
  /** The given id or address. */
  readonly given: string;
}

function called({ id, given }: AskedRecord): string {
  return namedId(id, given === id ? undefined : given);
}

/** Names a missing record by its id instead of its path. */
async function* foundOr(records: AsyncIterable<AnyRecord>, asked: AskedRecord): AsyncGenerator<AnyRecord> {
  try {
    yield* records;
  } catch (cause) {
    throw isGone(cause) ? missing(asked, 'Check the id and the workspace.', cause) : cause;
  }
}

function missing(asked: AskedRecord, hint: Advice, cause?: unknown): UserError {
  const message = `${called(asked)} not found among the ${asked.name} of this workspace`;
  return new UserError(message, { hint, cause });
}

function isGone(error: unknown): boolean {
  return error instanceof PlatformError && error.saysMissing;
}

async function* only(record: Promise<AnyRecord>): AsyncGenerator<AnyRecord> {
  yield await record;
}

/** The id of an address in the state; any other text is an id. */
function idOf(given: string, state: State | undefined): string {
  if (parseAddress(given) === undefined || state === undefined) return given;
  const entry = state.resources.get(given);
  if (entry !== undefined) return entry.id;
  throw unknownInState(given, state.resources.keys());
}

/** True if a field of the table contains record ids, for which addresses may be given. */
export function holdsIds({ columns }: RecordType, { field }: Pick<CallCondition, 'field'>): boolean {
  return columns.some((column) => column.field === field && column.as === 'reference');
}

export function conditions({ agent, outcome, where = [] }: GetOptions): CallCondition[] {
  const equals = (field: string, value: string | undefined): CallCondition[] =>
    value === undefined ? [] : [{ field, operator: '=', value }];
  const others = where.map((text) => {
    const condition = callCondition(text);
    if ('problem' in condition) {
      throw misuse(`--where ${text}: ${condition.problem}`, `Fields: ${callFields.join(', ')}.`);
    }
    return condition;
  });
  return [...equals('agent_id', agent), ...equals('session_outcome', outcome), ...others];
}
