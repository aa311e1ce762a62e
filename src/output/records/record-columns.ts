import type { Column } from '../table.ts';
import { amountText, plainText, type TimeZone, timeText, unixTimeText } from './record-values.ts';

export interface RecordColumn extends Column {
  /** The field of the record, which is also its name in CSV. */
  readonly field: string;
  /** How a table shows it; as it is where absent. */
  show?(value: unknown, record: Readonly<Record<string, unknown>>, about: RecordContext): string;
  /** False where the column would be empty; absent where it never is. */
  isFilled?(about: RecordContext): boolean;
}

/** What is known beside the records. */
export interface RecordContext {
  readonly zone: TimeZone;
  /** By id: the addresses of known records. */
  readonly addresses: ReadonlyMap<string, string>;
  /** By id: where records that have no address were heard of, as clauses. */
  readonly mentioned: ReadonlyMap<string, readonly string[]>;
}

const id: RecordColumn = { title: 'ID', field: 'id', whole: true };
const address: RecordColumn = {
  title: 'ADDRESS',
  field: 'id',
  whole: true,
  show: (value, _, { addresses }) => addresses.get(String(value)) ?? '',
  isFilled: ({ addresses }) => addresses.size > 0,
};
/** Why a record is known that has no address. */
const foundBy: RecordColumn = {
  title: 'FOUND BY',
  field: 'id',
  prose: true,
  show: (value, _, { mentioned }) => mentioned.get(String(value))?.join(', ') ?? '',
  isFilled: ({ mentioned }) => mentioned.size > 0,
};
/** The address of the record that a field refers to, or else its id. */
const reference = (title: string, field: string): RecordColumn => ({
  title,
  field,
  whole: true,
  show: (value, _, { addresses }) => addresses.get(String(value)) ?? plainText(value),
});
const time = (title: string, field: string): RecordColumn => ({
  title,
  field,
  whole: true,
  show: (value, _, { zone }) => timeText(value, zone),
});
const unixTime = (title: string, field: string): RecordColumn => ({
  title,
  field,
  whole: true,
  show: (value, _, { zone }) => unixTimeText(value, zone),
});
const amount = (title: string, field: string): RecordColumn => ({
  title,
  field,
  align: 'right',
  whole: true,
  show: (value, { currency }) => amountText(value, currency),
});
const plain = (title: string, field: string, more: Partial<RecordColumn> = {}): RecordColumn => ({
  title,
  field,
  ...more,
});

/** What a table shows of each kind of record, from left to right. */
export const recordColumns: Readonly<Record<string, readonly RecordColumn[]>> = {
  agents: [
    id,
    address,
    plain('NAME', 'name'),
    plain('STATUS', 'status', { spare: 1 }),
    plain('VERSION', 'version', { align: 'right' }),
    { ...time('UPDATED', 'updated_at'), spare: 3 },
    { ...time('PUBLISHED', 'published_at'), spare: 2 },
    foundBy,
  ],
  versions: [plain('VERSION', 'version', { align: 'right', whole: true }), time('PUBLISHED', 'published_at')],
  numbers: [
    id,
    plain('NUMBER', 'number', { whole: true }),
    plain('NICKNAME', 'nickname'),
    reference('INBOUND AGENT', 'inbound_agent_id'),
    reference('OUTBOUND AGENT', 'outbound_agent_id'),
    { ...address, spare: 1 },
  ],
  webhooks: [
    id,
    address,
    plain('URL', 'url'),
    plain('RETRIES', 'retries', { align: 'right', spare: 1 }),
    plain('TIMEOUT', 'timeout', { align: 'right', spare: 2 }),
    { ...time('CREATED', 'created_at'), spare: 3 },
  ],
  users: [
    id,
    { ...address, spare: 1 },
    plain('EMAIL', 'email', { whole: true }),
    plain('ROLE', 'role'),
    plain('OWNER', 'is_owner', { spare: 2 }),
    plain('MODULES', 'modules', { spare: 3 }),
    plain('AGENTS', 'agent_ids', { show: (value) => (Array.isArray(value) ? String(value.length) : '') }),
  ],
  'knowledge-bases': [id, plain('NAME', 'name'), { ...time('CREATED', 'created_at'), spare: 1 }],
  calls: [
    id,
    time('START', 'start_time'),
    reference('AGENT', 'agent_id'),
    plain('FROM', 'from', { whole: true }),
    plain('TO', 'to', { whole: true }),
    plain('OUTCOME', 'session_outcome', { whole: true }),
    plain('DURATION', 'duration', { whole: true }),
    plain('COST', 'cost', { align: 'right', whole: true }),
  ],
  invoices: [
    plain('NUMBER', 'number', { whole: true }),
    unixTime('FROM', 'period_start'),
    unixTime('TO', 'period_end'),
    amount('TOTAL', 'total'),
    { ...amount('PAID', 'amount_paid'), spare: 1 },
    amount('DUE', 'amount_due'),
    plain('STATUS', 'status'),
  ],
  'api-keys': [
    plain('ID', 'id', { align: 'right', whole: true }),
    plain('NAME', 'name'),
    time('CREATED', 'created_at'),
    plain('EXPIRES', 'expires_at', {
      whole: true,
      show: (value, _, { zone }) => (value === null ? 'null' : timeText(value, zone)),
    }),
  ],
};
