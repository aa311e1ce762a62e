import type { z } from 'zod';
import { UserError } from '../problems/user-error.ts';
import type { AnswerMemory } from './answer-memory.ts';
import type { IdentifiedRecord, PlatformClient, RecordCollection, Schema } from './client.ts';
import { type Query, queryText } from './connection.ts';
import { heldList, PER_PAGE, pages, passingList, type RecordPage } from './pages.ts';
import { PlatformError } from './platform-error.ts';
import {
  isOpenPage,
  type Received,
  type RequestLine,
  readItems,
  readPage,
  readRecord,
  refuseEmpty,
  refuseOther,
  type UnexpectedFields,
} from './read-answer.ts';
import { agentRecord, versionSummary } from './records/agent-records.ts';
import { type CallFilter, callRecord } from './records/call-records.ts';
import { numberRecord } from './records/number-records.ts';
import { userRecord } from './records/user-records.ts';
import { apiKeyRecord, invoiceRecord, knowledgeBaseRecord } from './records/workspace-records.ts';
import type { Transport } from './transport.ts';
import { WorkspaceCheck } from './workspace-check.ts';

type Sending = Pick<Transport, 'atOnce' | 'send' | 'close'>;

interface ClientOptions {
  readonly transport: Sending;
  readonly workspaceId: string;
  /** Default: `hidden`, because code that uses a record needs the documented types. */
  readonly unexpectedFields?: UnexpectedFields | undefined;
  /** For a caller that reads the same records repeatedly. */
  readonly memory?: AnswerMemory | undefined;
}

/** The platform's API over HTTP. Its methods throw `UserError` for an id that cannot be part of a path. */
export function createClient(options: ClientOptions): PlatformClient {
  const { transport, workspaceId, unexpectedFields = 'hidden', memory } = options;
  const workspaceCheck = new WorkspaceCheck(workspaceId);
  const requests = requestsOver(transport, { unexpectedFields, workspaceCheck, memory });
  const { get, write, list } = requests;
  const collection = <T extends IdentifiedRecord>(name: string, record: Schema<T>): RecordCollection<T> => {
    const path = `/api/v1/${name}`;
    const one = (id: string) => `${path}/${segment(id)}`;
    return {
      list: () => list(record(), path, byId),
      get: async (id) => get(record(), one(id), id),
      create: async (body) => write(record(), { method: 'POST', path }, body),
      update: async (id, body) => write(record(), { method: 'PUT', path: one(id) }, body),
    };
  };
  const agent = (id: string) => `/api/v1/agents/${segment(id)}`;
  const workspace = () => `/api/v1/workspaces/${segment(workspaceId)}`;
  return {
    workspaceCheck,
    atOnce: () => transport.atOnce(),
    agents: {
      ...collection('agents', agentRecord),
      versions: (id) => list(versionSummary(), `${agent(id)}/versions`, ({ version }) => version),
      version: async (id, version) => get(agentRecord(), `${agent(id)}/versions/${segment(String(version))}`),
      latestVersion: async (id) => get(agentRecord(), `${agent(id)}/versions/latest`),
    },
    numbers: collection('numbers', numberRecord),
    knowledgeBases: collection('knowledge-bases', knowledgeBaseRecord),
    calls: {
      list: (filter = {}) => requests.calls(filter),
      get: async (id) => get(callRecord(), `/api/v1/call-histories/${segment(id)}`, id),
    },
    users: {
      list: () => requests.users(`${workspace()}/users`),
      update: async (id, body) =>
        write(userRecord(), { method: 'PUT', path: `${workspace()}/users/${segment(id)}` }, body),
    },
    invoices: { list: () => requests.invoices(`${workspace()}/billing/history`) },
    apiKeys: { list: () => list(apiKeyRecord(), '/api/v1/api-keys', byId) },
    collection,
    writingUntil: (cancelWrites, permission) =>
      createClient({
        workspaceId,
        memory,
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

/** The statuses of servers that do not accept a GET with a body. */
const REFUSES_BODY: ReadonlySet<number> = new Set([400, 403, 405, 411, 413, 415, 501]);

type CallRange = Omit<CallFilter, 'per_page' | 'cursor'>;

interface ParseOptions {
  readonly unexpectedFields: UnexpectedFields;
  readonly workspaceCheck: WorkspaceCheck;
  readonly memory: AnswerMemory | undefined;
}

function requestsOver(transport: Sending, { unexpectedFields, workspaceCheck, memory }: ParseOptions) {
  const ask = async (path: string, query?: Query, body?: unknown): Promise<Received> => {
    const request: RequestLine = { method: 'GET', path: path + queryText(query) };
    return { request, answer: await transport.send({ ...request, body }), unexpectedFields };
  };
  /** Sends `size` as long as the platform accepts it. The API document does not list it for these endpoints. */
  const requestSized = (path: string, size: Query) => {
    let isTaken = true;
    return async (query: Query): Promise<Received> => {
      if (isTaken) {
        try {
          return await ask(path, { ...size, ...query });
        } catch (error) {
          // The refusal may concern only `size`.
          const isInvalid = error instanceof PlatformError && (error.status === 400 || error.status === 422);
          if (!isInvalid) throw error;
        }
      }
      const page = await ask(path, query);
      isTaken = false;
      return page;
    };
  };
  /** The records of a list without those of other workspaces. */
  async function* own<T extends object>(records: AsyncIterable<T>): AsyncGenerator<T> {
    for await (const record of records) if (workspaceCheck.admits(record)) yield record;
  }
  return {
    /** @param id of the record. A response with another record must not lead to an update of that one. */
    async get<T extends IdentifiedRecord>(schema: z.ZodType<T>, path: string, id?: string): Promise<T> {
      const request: RequestLine = { method: 'GET', path };
      const known = memory?.get(path);
      const answer = await transport.send({ ...request, lastDigest: memory && (known?.digest ?? '') });
      const received = { request, answer, unexpectedFields };
      const { digest } = answer;
      // The platform may report a missing version in this way too.
      if (id === undefined) refuseEmpty(received);
      const isKnown = known !== undefined && digest === known.digest;
      const record = isKnown ? (known.record as T) : readRecord(schema, received);
      if (id !== undefined) refuseOther(record, id, received);
      if (digest !== undefined && !isKnown) memory?.set(path, { digest, record });
      workspaceCheck.admits(record);
      return record;
    },
    async write<T>(schema: z.ZodType<T>, request: RequestLine, body: unknown): Promise<T> {
      return readRecord(schema, { request, answer: await transport.send({ ...request, body }), unexpectedFields });
    },
    list<T extends object>(schema: z.ZodType<T>, path: string, keyOf: (item: T) => string | number) {
      const read = async (cursor?: string) => readPage(schema, await ask(path, { per_page: PER_PAGE, cursor }));
      return own(pages(read, keyOf, heldList));
    },
    /**
     * The API document shows a `meta` without paging for users, so the list may or may not be paged. A full page without a cursor is the
     * whole list if a request without a size returns no more.
     */
    users(path: string) {
      const page = requestSized(path, { per_page: PER_PAGE });
      const read = async (cursor?: string) => {
        const received = await page({ cursor });
        if (cursor === undefined && isOpenPage(received)) {
          const bare = readPage(userRecord(), await ask(path), (count) => count >= PER_PAGE);
          if (bare.next !== undefined || bare.items.length >= PER_PAGE) return bare;
        }
        return readPage(userRecord(), received, (count) => count !== PER_PAGE);
      };
      return own(pages(read, byId, { ...heldList, mayIgnoreCursor: true }));
    },
    /**
     * The filters are in the body. A page whose cursor points to itself shows that the platform ignores the cursor in the body. The list is
     * then read again with the filters in the query as well, from the start, because a cursor may refer to the list without filters. A body
     * that is refused is omitted.
     */
    calls(filter: CallRange) {
      let carriers: 'body' | 'both' | 'query' = 'body';
      const read = async (cursor?: string) => {
        const all = { ...filter, per_page: PER_PAGE, cursor };
        const query = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null)) as Query;
        const inQuery = carriers === 'body' ? {} : query;
        return readPage(
          callRecord(),
          await ask('/api/v1/call-histories', inQuery, carriers === 'query' ? undefined : all),
        );
      };
      const first = async () => {
        try {
          return await read();
        } catch (error) {
          const status = error instanceof PlatformError ? error.status : undefined;
          if (status === undefined || !REFUSES_BODY.has(status)) throw error;
          carriers = 'query';
          // The request fails without the body too, so the body was not the reason.
          return await read().catch((again) => {
            throw again instanceof PlatformError && again.status === status ? error : again;
          });
        }
      };
      const next = async (cursor: string | undefined) => {
        if (cursor === undefined) return first();
        const page = await read(cursor);
        if (page.next !== cursor) return page;
        if (carriers !== 'body') throw ignoredCursor(page);
        carriers = 'both';
        return { ...(await read()), isRestarted: true };
      };
      return own(pages(next, byId, passingList));
    },
    /**
     * The cursor is the id of the last invoice. The platform does not mark the last page and may return short pages, so only an empty page
     * ends the list.
     */
    invoices(path: string) {
      const page = requestSized(path, { limit: PER_PAGE });
      const read = async (cursor?: string) => {
        const received = await page({ starting_after: cursor });
        const items = readItems(invoiceRecord(), received);
        return { items, next: items.at(-1)?.id, path: received.request.path };
      };
      return pages(read, byId, heldList);
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

/** A path segment. Throws `UserError` for a text that would change the path. */
function segment(text: string): string {
  if (/^\.{0,2}$/.test(text)) throw new UserError(`"${text}" is not a valid record id`);
  return encodeURIComponent(text.toWellFormed());
}
