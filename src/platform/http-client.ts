import type { z } from 'zod';
import { UserError } from '../problems/user-error.ts';
import type { IdentifiedRecord, PlatformClient, RecordCollection, Schema } from './client.ts';
import { type Query, queryText } from './connection.ts';
import { PER_PAGE, pages, type RecordPage, storedList, streamedList } from './pages.ts';
import { PlatformError } from './platform-error.ts';
import {
  assertNotEmpty,
  assertRequested,
  isOpenPage,
  type RequestAndResponse,
  type Requested,
  type RequestLine,
  readItems,
  readPage,
  readRecord,
  type UnexpectedFields,
} from './read-response.ts';
import type { RecordCache } from './record-cache.ts';
import { agentRecord, versionSummary } from './records/agent-records.ts';
import { type CallFilter, callRecord } from './records/call-records.ts';
import { numberRecord } from './records/number-records.ts';
import { userRecord } from './records/user-records.ts';
import { apiKeyRecord, invoiceRecord, knowledgeBaseRecord } from './records/workspace-records.ts';
import type { Transport } from './transport.ts';
import { WorkspaceCheck } from './workspace-check.ts';

type RequestSender = Pick<Transport, 'atOnce' | 'send' | 'close'>;

interface ClientOptions {
  readonly transport: RequestSender;
  readonly workspaceId: string;
  /** The default is `hidden`, because code that uses a record expects the documented types. */
  readonly unexpectedFields?: UnexpectedFields | undefined;
  /** A cache for a caller that reads the same records repeatedly. */
  readonly cache?: RecordCache | undefined;
}

/** Creates a client of the platform's API over HTTP. Its methods throw `UserError` for an id that cannot be part of a path. */
export function createClient(options: ClientOptions): PlatformClient {
  const { transport, workspaceId, unexpectedFields = 'hidden', cache } = options;
  const workspaceCheck = new WorkspaceCheck(workspaceId);
  const requests = requestsOver(transport, { unexpectedFields, workspaceCheck, cache });
  const { get, write, list } = requests;
  const collection = <T extends IdentifiedRecord>(name: string, record: Schema<T>): RecordCollection<T> => {
    const path = `/api/v1/${name}`;
    const pathOf = (id: string) => `${path}/${encodeSegment(id)}`;
    return {
      list: () => list(record(), path, byId),
      get: async (id) => get(record(), pathOf(id), { id }),
      create: async (body) => write(record(), { method: 'POST', path }, body),
      update: async (id, body) => write(record(), { method: 'PUT', path: pathOf(id) }, body),
    };
  };
  const agent = (id: string) => `/api/v1/agents/${encodeSegment(id)}`;
  const workspace = () => `/api/v1/workspaces/${encodeSegment(workspaceId)}`;
  return {
    workspaceCheck,
    atOnce: () => transport.atOnce(),
    agents: {
      ...collection('agents', agentRecord),
      versions: (id) => list(versionSummary(), `${agent(id)}/versions`, ({ version }) => version),
      version: async (id, version) => get(agentRecord(), `${agent(id)}/versions/${version}`, { version }),
      latestVersion: async (id) => get(agentRecord(), `${agent(id)}/versions/latest`),
    },
    numbers: collection('numbers', numberRecord),
    knowledgeBases: collection('knowledge-bases', knowledgeBaseRecord),
    calls: {
      list: (filter = {}) => requests.calls(filter),
      get: async (id) => get(callRecord(), `/api/v1/call-histories/${encodeSegment(id)}`, { id }),
    },
    users: {
      list: () => requests.users(`${workspace()}/users`),
      update: async (id, body) =>
        write(userRecord(), { method: 'PUT', path: `${workspace()}/users/${encodeSegment(id)}` }, body),
    },
    invoices: { list: () => requests.invoices(`${workspace()}/billing/history`) },
    apiKeys: { list: () => list(apiKeyRecord(), '/api/v1/api-keys', byId) },
    collection,
    writingUntil: (cancelWrites, permission) =>
      createClient({
        workspaceId,
        cache,
        transport: {
          atOnce: () => transport.atOnce(),
          send: (request) =>
            transport.send(request.method === 'GET' ? request : { ...request, cancelWrites, permission }),
          close: () => transport.close(),
        },
      }),
    close: () => transport.close(),
    [Symbol.asyncDispose]: () => transport.close(),
  };
}

function byId({ id }: { readonly id: string | number }): string | number {
  return id;
}

/** The statuses with which a server may refuse a GET with a body. */
const BODY_REFUSED: ReadonlySet<number> = new Set([400, 403, 405, 411, 413, 415, 501]);

interface ParseOptions {
  readonly unexpectedFields: UnexpectedFields;
  readonly workspaceCheck: WorkspaceCheck;
  readonly cache: RecordCache | undefined;
}

function requestsOver(transport: RequestSender, { unexpectedFields, workspaceCheck, cache }: ParseOptions) {
  const fetchPage = async (path: string, query?: Query, body?: unknown): Promise<RequestAndResponse> => {
    const request: RequestLine = { method: 'GET', path: path + queryText(query) };
    return { request, response: await transport.send({ ...request, body }), unexpectedFields };
  };
  /** Sends `size` until the platform rejects it. The API document does not list this parameter for these endpoints. */
  const requestSized = (path: string, size: Query) => {
    let sendsSize = true;
    return async (query: Query): Promise<RequestAndResponse> => {
      if (sendsSize) {
        try {
          return await fetchPage(path, { ...size, ...query });
        } catch (error) {
          // The platform may have rejected only `size`.
          const isInvalid = error instanceof PlatformError && (error.status === 400 || error.status === 422);
          if (!isInvalid) throw error;
        }
      }
      const page = await fetchPage(path, query);
      sendsSize = false;
      return page;
    };
  };
  /** Yields the records of a list, except records of other workspaces. */
  async function* own<T extends object>(records: AsyncIterable<T>): AsyncGenerator<T> {
    for await (const record of records) if (workspaceCheck.admits(record)) yield record;
  }
  return {
    /** A response with another record than the requested one must not cause an update of that record. */
    async get<T extends IdentifiedRecord>(schema: z.ZodType<T>, path: string, requested: Requested = {}): Promise<T> {
      const request: RequestLine = { method: 'GET', path };
      const cached = cache?.get(path);
      const response = await transport.send({ ...request, lastDigest: cache && (cached?.digest ?? '') });
      const received = { request, response, unexpectedFields };
      const { digest } = response;
      // The platform may report a missing version with a success status and empty data.
      if (requested.id === undefined) assertNotEmpty(received);
      const isUnchanged = cached !== undefined && digest === cached.digest;
      const record = isUnchanged ? (cached.record as T) : readRecord(schema, received);
      assertRequested(record, requested, received);
      if (digest !== undefined && !isUnchanged) cache?.set(path, { digest, record });
      workspaceCheck.admits(record);
      return record;
    },
    async write<T>(schema: z.ZodType<T>, request: RequestLine, body: unknown): Promise<T> {
      return readRecord(schema, { request, response: await transport.send({ ...request, body }), unexpectedFields });
    },
    list<T extends object>(schema: z.ZodType<T>, path: string, keyOf: (item: T) => string | number) {
      const read = async (cursor?: string) => readPage(schema, await fetchPage(path, { per_page: PER_PAGE, cursor }));
      return own(pages(read, keyOf, storedList));
    },
    /**
     * The API document shows a `meta` without paging for users, so the list may or may not be paged. A full page without a cursor is the
     * complete list if a request without a size returns no more records.
     */
    users(path: string) {
      const page = requestSized(path, { per_page: PER_PAGE });
      const whole = async () => readPage(userRecord(), await fetchPage(path), (count) => count >= PER_PAGE);
      const read = async (cursor?: string) => {
        const received = await page({ cursor });
        if (cursor === undefined && isOpenPage(received)) {
          const unsized = await whole();
          if (unsized.next !== undefined || unsized.items.length >= PER_PAGE) return unsized;
        }
        return readPage(userRecord(), received, (count) => count !== PER_PAGE);
      };
      return own(pages(read, byId, { ...storedList, whole }));
    },
    /**
     * The filters are in the body. If the cursor of a page points to the page itself, the platform ignores the cursor in the body. The list
     * is then read again from the start with the filters also in the query, because a cursor may refer to the list without filters. If the
     * platform refuses the body, it is omitted.
     */
    calls(filter: Omit<CallFilter, 'per_page' | 'cursor'>) {
      let filtersIn: 'body' | 'both' | 'query' = 'body';
      const read = async (cursor?: string) => {
        const all = { ...filter, per_page: PER_PAGE, cursor };
        const query = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null)) as Query;
        const inQuery = filtersIn === 'body' ? {} : query;
        return readPage(
          callRecord(),
          await fetchPage('/api/v1/call-histories', inQuery, filtersIn === 'query' ? undefined : all),
        );
      };
      const first = async () => {
        try {
          return await read();
        } catch (error) {
          const status = error instanceof PlatformError ? error.status : undefined;
          if (status === undefined || !BODY_REFUSED.has(status)) throw error;
          filtersIn = 'query';
          // If the request also fails without the body, the body was not the reason.
          return await read().catch((second) => {
            throw second instanceof PlatformError && second.status === status ? error : second;
          });
        }
      };
      const next = async (cursor: string | undefined) => {
        if (cursor === undefined) return first();
        const page = await read(cursor);
        if (page.next !== cursor) return page;
        if (filtersIn !== 'body') throw ignoredCursor(page);
        filtersIn = 'both';
        return { ...(await read()), isRestarted: true };
      };
      return own(pages(next, byId, streamedList));
    },
    /** The cursor is the id of a page's last invoice. Pages may be short and the last is not marked, so only an empty page ends a list. */
    invoices(path: string) {
      const page = requestSized(path, { limit: PER_PAGE });
      const read = async (cursor?: string) => {
        const received = await page({ starting_after: cursor });
        const items = readItems(invoiceRecord(), received);
        return { items, next: items.at(-1)?.id, path: received.request.path };
      };
      return pages(read, byId, storedList);
    },
  };
}

function ignoredCursor({ path, items: { length } }: RecordPage<unknown>): PlatformError {
  return new PlatformError(
    'cursor-loop',
    { method: 'GET', path: path.replace(/\?.*/s, ''), outcome: 'not-done', firstCalls: length },
    `GET /api/v1/call-histories: the platform ignored the cursor, in the body and in the query, so only the first ${length} calls can be read`,
  );
}

/** Encodes a path segment. Throws `UserError` for a string that would change the path. */
function encodeSegment(text: string): string {
  if (/^\.{0,2}$/.test(text)) throw new UserError(`"${text}" is not a valid record id`);
  return encodeURIComponent(text.toWellFormed());
}
