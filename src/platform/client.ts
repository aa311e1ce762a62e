import type { z } from 'zod';
import type { AgentRecord, AgentRequest, VersionSummary } from './records/agent-records.ts';
import type { CallFilter, CallRecord } from './records/call-records.ts';
import type { NumberRecord, NumberRequest } from './records/number-records.ts';
import type { UserRecord, UserRequest } from './records/user-records.ts';
import type { ApiKeyRecord, InvoiceRecord, KnowledgeBaseRecord } from './records/workspace-records.ts';
import type { WorkspaceCheck } from './workspace-check.ts';

/**
 * The platform's API, with one method for each endpoint. All methods throw `PlatformError`. Lists are fetched during the iteration, one
 * page of 100 records at a time; if the iteration ends early, no further page is fetched. Lists omit records of other workspaces; reads by
 * id return them.
 */
export interface PlatformClient extends AsyncDisposable {
  /** Tracks the workspaces of the records that were read. */
  readonly workspaceCheck: WorkspaceCheck;
  /** Returns the current concurrency limit. This is a method so that a copy of the client does not keep an outdated value. */
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
  /** Returns the collection at `/api/v1/<name>`. */
  collection<T extends IdentifiedRecord>(name: string, record: Schema<T>): RecordCollection<T>;
  /** Returns a client with the same connections that starts no write after the signal has aborted. */
  writingUntil(signal: AbortSignal, permission: WritePermission): PlatformClient;
  /** Closes the connections. Requests in flight fail. */
  close(): Promise<void>;
}

/** The permission to write to the platform. It may expire at any time. */
export interface WritePermission {
  /** Checked right before the first byte of each write. If false, `renew` must be called first. */
  readonly mayWrite: boolean;
  /** Renews the permission. Rejects if writes are no longer allowed. */
  renew(): Promise<void>;
}

/** Returns the schema of a record. The schema is created on first use. */
export type Schema<T> = () => z.ZodType<T>;

export interface IdentifiedRecord {
  readonly id: string;
}

/** One method for each endpoint that the platform may have. A kind must call only the endpoints that exist for its records. */
export interface RecordCollection<T extends IdentifiedRecord> {
  list(): AsyncIterable<T>;
  get(id: string): Promise<T>;
  create(body: object): Promise<T>;
  update(id: string, body: object): Promise<T>;
}
