import { kinds, lookups } from '../kinds/index.ts';
import type { Kind, Versions } from '../kinds/kind.ts';
import { ID_COLUMN, type RecordTable } from '../kinds/record-table.ts';
import type { PlatformClient } from '../platform/client.ts';
import { type CallSelection, selectedCalls } from './call-selection.ts';

/** A record of any kind, as the platform returns it. */
export type AnyRecord = Readonly<Record<string, unknown>>;

/** A type of records that the API can return. */
export interface RecordType extends RecordTable {
  /** The kind of these records in manifests. If present, addresses are accepted as ids. */
  readonly kind?: Kind;
  /** The field by which people identify a record, if its id is not printed. A record is found by its id or this field. */
  readonly label?: string;
  /** Lists all records page by page; absent if the API has no list. */
  list?(client: PlatformClient, calls: CallSelection): AsyncIterable<AnyRecord>;
  /** Reads one record. If absent, the API cannot read a single record, and the list is searched. */
  get?(client: PlatformClient, id: string): Promise<AnyRecord>;
  /** Reads the versions of one record, whose id is required. */
  readonly ofRecord?: Versions;
}

/** Types of records that manifests can neither declare nor refer to. */
const otherTypes: readonly RecordType[] = [
  {
    name: 'calls',
    description: 'call histories',
    list: (client, selection) => selectedCalls(client, selection),
    get: (client, id) => client.calls.get(id),
    columns: [
      ID_COLUMN,
      { title: 'START', field: 'start_time', form: 'time' },
      { title: 'AGENT', field: 'agent_id', form: 'reference' },
      { title: 'FROM', field: 'from', noWrap: true },
      { title: 'TO', field: 'to', noWrap: true },
      { title: 'OUTCOME', field: 'session_outcome', noWrap: true },
      { title: 'DURATION', field: 'duration', noWrap: true },
      { title: 'COST', field: 'cost', align: 'right', noWrap: true },
    ],
  },
  {
    name: 'invoices',
    description: 'invoices',
    list: (client) => client.invoices.list(),
    label: 'number',
    columns: [
      { title: 'NUMBER', field: 'number', noWrap: true },
      { title: 'FROM', field: 'period_start', form: 'unix-time' },
      { title: 'TO', field: 'period_end', form: 'unix-time' },
      { title: 'TOTAL', field: 'total', form: 'amount' },
      { title: 'PAID', field: 'amount_paid', form: 'amount', dropOrder: 1 },
      { title: 'DUE', field: 'amount_due', form: 'amount' },
      { title: 'STATUS', field: 'status' },
    ],
  },
  {
    name: 'api-keys',
    description: 'API keys, without the keys themselves',
    list: (client) => client.apiKeys.list(),
    columns: [
      { title: 'ID', field: 'id', align: 'right', noWrap: true },
      { title: 'NAME', field: 'name' },
      { title: 'CREATED', field: 'created_at', form: 'time' },
      { title: 'EXPIRES', field: 'expires_at', form: 'time-or-null' },
    ],
  },
];

/** All record types by their name on the command line. */
export const recordTypes: ReadonlyMap<string, RecordType> = new Map(
  [
    ...[...kinds.values()].map(ofKind),
    ...[...lookups.values()].map(({ table, list }): RecordType => ({ ...table, list })),
    ...[...kinds.values()].flatMap(versionsOf),
    ...otherTypes,
  ].map((readable) => [readable.name, readable]),
);

function versionsOf(kind: Kind): RecordType[] {
  const { versions } = kind;
  if (versions === undefined) return [];
  return [
    {
      name: 'versions',
      description: `published versions of ${kind.table.name}`,
      kind,
      ofRecord: versions,
      columns: [
        { title: 'VERSION', field: 'version', align: 'right', noWrap: true },
        { title: 'PUBLISHED', field: 'published_at', form: 'time' },
      ],
    },
  ];
}

function ofKind(kind: Kind): RecordType {
  const { table, list, get, mentions } = kind;
  const from = mentions === undefined ? 'the state' : 'the state and those that other records mention';
  const unlisted = `${table.description}; the API cannot list them, so without an id, the command reads those in ${from}`;
  return {
    ...table,
    kind,
    description: list === undefined ? unlisted : table.description,
    ...(list !== undefined && { list: (client) => list(client) }),
    ...(get !== undefined && { get: (client, id) => get(client, id) }),
  };
}
