import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { Created } from './processes.ts';
import { type AgentSpec, agentId, agentSpec, fleetAgent, MANNERS, type Manner, WORKSPACE_ID } from './workload.ts';

/*
 * A minimal platform that sends prepared responses over plain sockets, so that the bench does not measure the server. When it listens, it
 * sends its ports to the parent process, one for each manner. It sends figures on request.
 *   node platform-server.ts AGENTS LATENCY_MILLISECONDS [CAPACITY [refuse|queue [fleet]]]
 * Requests beyond the capacity get a 429, or wait until an earlier request is answered. The agents of a fleet belong to many workspaces.
 * The URLs of a fleet begin with the workspace id, because no other part of a create identifies the workspace.
 */

const API = '/api/v1/';
const AGENT_PATH = `${API}agents/`;
const SLOW_RESPONSE_MS = 5000;
/** The duration of a write in a fleet, long enough that kills hit some writes. */
const FLEET_WRITE_MS = 500;
/** The faults of a failing platform, in turn. */
const FAULTS = ['none', 'error', 'cut', 'cut late'] as const;
const timestamp = '2025-01-01T00:00:00+00:00';
const latency = Number(process.argv[3] ?? 0);
const capacity = Number(process.argv[4] ?? Number.POSITIVE_INFINITY);
const refuses = process.argv[5] === 'refuse';
/** The number of requests after which a client should have adapted to the capacity. */
const WARM_UP_REQUESTS = 3000;
const answers: Buffer[] = [];
let requests = 0;
const byMethod: Record<string, number> = {};
const settled = { requests: 0, refused: 0, maxConcurrency: 0 };
let inFlight = 0;
const waiting: (() => void)[] = [];

const isFleet = process.argv[6] === 'fleet';
const created: { -readonly [Key in keyof Created]: Created[Key] }[] = [];
const createdBy = new WeakMap<Buffer, (typeof created)[number]>();
let failing = 0;
for (let index = 0; index < Number(process.argv[2] ?? 0); index++) {
  const { spec, workspaceId } = isFleet ? fleetAgent(index) : { spec: agentSpec(index), workspaceId: WORKSPACE_ID };
  add(index, spec, workspaceId);
}
const tooMany = answer('429 Too Many Requests', { message: 'too many requests' });
const noAgent = answer('404 Not Found', { message: 'no such agent' });
const failure = answer('500 Internal Server Error', { message: 'internal error' });
const emptyList = answer('200 OK', {
  data: [],
  meta: { per_page: 100, next_cursor: null, prev_cursor: null },
});

const ports: Partial<Record<Manner, number>> = {};
for (const manner of MANNERS) {
  const server = createServer((socket) => serve(socket, manner)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  ports[manner] = (server.address() as AddressInfo).port;
}
process.on('message', (message) => {
  if (message === 'created') process.send?.(created);
  if (message === 'figures') {
    const { user, system } = process.cpuUsage();
    process.send?.({ requests, byMethod, settled, processor: (user + system) / 1e6 });
  }
  if (message === 'reset') {
    requests = 0;
    Object.assign(settled, { requests: 0, refused: 0, maxConcurrency: 0 });
    for (const method of Object.keys(byMethod)) delete byMethod[method];
    process.send?.({ reset: true });
  }
});
process.on('disconnect', () => process.exit(0));
process.send?.({ ports });

function add(index: number, spec: object, workspaceId: string): Buffer {
  const record = {
    id: agentId(index),
    ...spec,
    status: 'draft',
    version: null,
    numbers: [],
    workspace_id: workspaceId,
    created_at: timestamp,
    updated_at: timestamp,
    published_at: null,
  };
  const created = answer('200 OK', { data: record });
  answers[index] = created;
  return created;
}

function answer(status: string, body: object): Buffer {
  const text = JSON.stringify(body);
  return Buffer.from(
    `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  );
}

function serve(socket: Socket, manner: Manner): void {
  let pending: Buffer = Buffer.alloc(0);
  socket.setNoDelay(true);
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk: Buffer) => {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
    for (;;) {
      const end = pending.indexOf('\r\n\r\n');
      if (end < 0) return;
      const head = pending.toString('latin1', 0, end);
      const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
      if (pending.length < end + 4 + length) return;
      const body = pending.subarray(end + 4, end + 4 + length);
      pending = pending.subarray(end + 4 + length);
      const fault = manner === 'failing' ? FAULTS[failing++ % FAULTS.length] : 'none';
      const reply = fault === 'error' ? failure : fault === 'cut' ? undefined : replyTo(head, body);
      if (reply === undefined || fault === 'cut late') {
        socket.destroy();
        return;
      }
      const wait =
        manner === 'slow' ? SLOW_RESPONSE_MS : isFleet && !head.startsWith('GET ') ? FLEET_WRITE_MS : latency;
      if (wait === 0) socket.write(reply);
      else
        answerLater(
          wait,
          () => deliver(socket, reply),
          () => socket.write(tooMany),
        );
    }
  });
}

function deliver(socket: Socket, reply: Buffer): void {
  if (socket.destroyed) return;
  const record = createdBy.get(reply);
  if (record !== undefined) record.isAnswered = true;
  socket.write(reply);
}

function answerLater(wait: number, reply: () => void, refuse: () => void): void {
  const isSettled = requests > WARM_UP_REQUESTS;
  const isRefused = refuses && inFlight >= capacity;
  if (isSettled) settled.requests++;
  if (isSettled && isRefused) settled.refused++;
  if (isRefused) {
    refuse();
    return;
  }
  inFlight++;
  if (isSettled) settled.maxConcurrency = Math.max(settled.maxConcurrency, inFlight);
  const work = (): void => {
    setTimeout(() => {
      inFlight--;
      reply();
      waiting.shift()?.();
    }, wait);
  };
  if (inFlight > capacity) waiting.push(work);
  else work();
}

function replyTo(head: string, body: Buffer): Buffer {
  const space = head.indexOf(' ');
  const method = head.slice(0, space);
  const url = head.slice(space + 1, head.indexOf(' ', space + 1));
  const api = url.indexOf(API);
  const path = url.slice(api);
  requests++;
  byMethod[method] = (byMethod[method] ?? 0) + 1;
  if (method === 'POST') {
    const spec = JSON.parse(body.toString()) as AgentSpec;
    if (isFleet) return createInFleet(spec, url.slice(1, api));
    // The id is derived from the name, so that it does not depend on the order of the creates.
    return add(Number(spec.name.slice('Line '.length)), spec, WORKSPACE_ID);
  }
  if (!path.startsWith(AGENT_PATH)) return emptyList;
  const number = Number(path.slice(AGENT_PATH.length + 8));
  const known = answers[number];
  return known === undefined ? noAgent : method === 'PUT' ? update(number, known, body) : known;
}

function createInFleet(spec: AgentSpec, workspaceId: string): Buffer {
  const number = answers.length;
  const reply = add(number, spec, workspaceId);
  const record = { workspaceId, name: spec.name, id: agentId(number), isAnswered: false };
  created.push(record);
  createdBy.set(reply, record);
  return reply;
}

function update(number: number, known: Buffer, body: Buffer): Buffer {
  const { data } = JSON.parse(known.toString('utf8', known.indexOf('\r\n\r\n') + 4)) as {
    readonly data: AgentSpec & { readonly workspace_id: string };
  };
  return add(number, { ...data, ...(JSON.parse(body.toString()) as object) }, data.workspace_id);
}
