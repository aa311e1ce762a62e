import type { z } from 'zod';
import type { AgentRecord, AgentRequest, VersionSummary } from './records/agent-records.ts';
import type { CallFilter, CallRecord } from './records/call-records.ts';
import type { NumberRecord, NumberRequest } from './records/number-records.ts';
import type { UserRecord, UserRequest } from './records/user-records.ts';
import type { ApiKeyRecord, InvoiceRecord, KnowledgeBaseRecord } from './records/workspace-records.ts';
import type { WorkspaceCheck } from './workspace-check.ts';

/**
 * The platform's API: one method an endpoint. All throw `PlatformError`. Lists are read page by page, 100 a page, as they
 * are iterated; an iteration that is left early asks for no further page. Records of other workspaces are passed over in lists, and
 * given where they are asked for by their ids.
 */
export interface PlatformClient extends AsyncDisposable {
  /** Which workspaces the records belong to that were read. */
  readonly workspaceCheck: WorkspaceCheck;
  /** How many requests may run at once, by the answers so far. A method, so that a copy of the client does not keep an old number. */
  atOnce(): number;
  readonly agents: {
    get(id: string): Promise<AgentRecord>;
    create(body: AgentRequest): Promise<AgentRecord>;
    update(id: string, body: AgentRequest): Promise<AgentRecord>;
    versions(id: string): AsyncIterable<VersionSummary>;
    version(id: string, version: number): Promise<AgentRecord>;
    latestVersion(id: string): Promise<AgentRecord>;
  };
  readonly numbers: {
    list(): AsyncIterable<NumberRecord>;
    create(body: NumberRequest): Promise<NumberRecord>;
  };
  readonly knowledgeBases: { list(): AsyncIterable<KnowledgeBaseRecord> };
  readonly calls: {
    list(filter?: Omit<CallFilter, 'per_page' | 'cursor'>): AsyncIterable<CallRecord>;
    get(id: string): Promise<CallRecord>;
  };
  readonly users: {
    list(): AsyncIterable<UserRecord>;
    update(id: string, body: UserRequest): Promise<UserRecord>;
  };
  readonly invoices: { list(): AsyncIterable<InvoiceRecord> };
  readonly apiKeys: { list(): AsyncIterable<ApiKeyRecord> };
  /** The records below `/api/v1/<name>`. */
  collection<T extends IdentifiedRecord>(name: string, record: Schema<T>): RecordCollection<T>;
  /** The same platform over the same connections. Once the signal aborts, no write is sent that has not been sent yet. */
  writingUntil(signal: AbortSignal, permission: WritePermission): PlatformClient;
  /** Closes the connections; requests still under way fail. */
  close(): Promise<void>;
}

/** The right to write to the platform, which may end at any time. */
export interface WritePermission {
  /** Asked right before the first byte of each write is sent. False where `renew` has to be called first. */
  readonly mayWrite: boolean;
  /** Rejects where nothing may be written any more. */
  renew(): Promise<void>;
}

/** Gives the schema of a record, which is made when it is first needed. */
export type Schema<T> = () => z.ZodType<T>;

export interface IdentifiedRecord {
  readonly id: string;
}

/** One method for each endpoint that the platform may have: a kind must call only those that it has. */
export interface RecordCollection<T extends IdentifiedRecord> {
  list(): AsyncIterable<T>;
  get(id: string): Promise<T>;
  create(body: object): Promise<T>;
  update(id: string, body: object): Promise<T>;
}
