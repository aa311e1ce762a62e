import type { Column } from '../table.ts';
import { amountText, type TimeZone, timeText, unixTimeText } from './record-values.ts';

export interface RecordColumn extends Column {
  /** The field of the record, which is also its name in CSV. */
  readonly field: string;
  /** How a table shows it; as it is where absent. */
  show?(value: unknown, record: Readonly<Record<string, unknown>>, zone: TimeZone): string;
}

const id: RecordColumn = { title: 'ID', field: 'id', whole: true };
const time = (title: string, field: string): RecordColumn => ({
  title,
  field,
  whole: true,
  show: (value, _, zone) => timeText(value, zone),
});
const unixTime = (title: string, field: string): RecordColumn => ({
  title,
  field,
  whole: true,
  show: (value, _, zone) => unixTimeText(value, zone),
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
    plain('NAME', 'name'),
    plain('STATUS', 'status'),
    plain('VERSION', 'version', { align: 'right' }),
    time('UPDATED', 'updated_at'),
    time('PUBLISHED', 'published_at'),
  ],
  versions: [plain('VERSION', 'version', { align: 'right', whole: true }), time('PUBLISHED', 'published_at')],
  numbers: [
    id,
    plain('NUMBER', 'number', { whole: true }),
    plain('NICKNAME', 'nickname'),
    plain('INBOUND AGENT', 'inbound_agent_id', { whole: true }),
    plain('OUTBOUND AGENT', 'outbound_agent_id', { whole: true }),
  ],
  webhooks: [
    id,
    plain('URL', 'url'),
    plain('RETRIES', 'retries', { align: 'right' }),
    plain('TIMEOUT', 'timeout', { align: 'right' }),
    time('CREATED', 'created_at'),
  ],
  users: [
    id,
    plain('EMAIL', 'email', { whole: true }),
    plain('ROLE', 'role'),
    plain('OWNER', 'is_owner'),
    plain('MODULES', 'modules'),
    plain('AGENTS', 'agent_ids', { show: (value) => (Array.isArray(value) ? String(value.length) : '') }),
  ],
  'knowledge-bases': [id, plain('NAME', 'name', { whole: true }), time('CREATED', 'created_at')],
  calls: [
    id,
    time('START', 'start_time'),
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
    amount('PAID', 'amount_paid'),
    amount('DUE', 'amount_due'),
    plain('STATUS', 'status'),
  ],
  'api-keys': [
    plain('ID', 'id', { align: 'right', whole: true }),
    plain('NAME', 'name'),
    time('CREATED', 'created_at'),
    plain('EXPIRES', 'expires_at', {
      whole: true,
      show: (value, _, zone) => (value === null ? 'null' : timeText(value, zone)),
    }),
  ],
};
