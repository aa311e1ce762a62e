import { createServer, type Socket } from 'node:net';
import { type AgentSpec, agentId, agentSpec, fleetAgent, WORKSPACE_ID } from './workload.ts';

/*
 * A minimal platform, so that the bench does not measure the server: prepared answers over plain sockets. It sends its port to its
 * parent process when it listens, and figures on request.
 *   node platform-server.ts AGENTS LATENCY_MILLISECONDS [CAPACITY [refuse|queue [fleet]]]
 * Requests beyond the capacity are answered with 429 at once, or wait until one before them is answered. The agents of a fleet are
 * of many workspaces.
 */

const AGENT_PATH = '/api/v1/agents/';
const timestamp = '2025-01-01T00:00:00+00:00';
const latency = Number(process.argv[3] ?? 0);
const capacity = Number(process.argv[4] ?? Number.POSITIVE_INFINITY);
const refuses = process.argv[5] === 'refuse';
/** Answers after which a client should know the limits of the server. */
const SETTLING = 3000;
const answers: Buffer[] = [];
let requests = 0;
const byMethod: Record<string, number> = {};
const settled = { requests: 0, refused: 0, mostAtOnce: 0 };
let atOnce = 0;
const waiting: (() => void)[] = [];

const isFleet = process.argv[6] === 'fleet';
for (let index = 0; index < Number(process.argv[2] ?? 0); index++) {
  const { spec, workspaceId } = isFleet ? fleetAgent(index) : { spec: agentSpec(index), workspaceId: WORKSPACE_ID };
  add(index, spec, workspaceId);
}
const tooMany = answer('429 Too Many Requests', { message: 'too many requests' });
const noAgent = answer('404 Not Found', { message: 'no such agent' });
const emptyList = answer('200 OK', {
  data: [],
  meta: { per_page: 100, next_cursor: null, prev_cursor: null },
});

const server = createServer(serve);
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as { port: number }).port }));
process.on('message', (message) => {
  if (message === 'figures') {
    const { user, system } = process.cpuUsage();
    process.send?.({ requests, byMethod, settled, processor: (user + system) / 1e6 });
  }
  if (message === 'reset') {
    requests = 0;
    Object.assign(settled, { requests: 0, refused: 0, mostAtOnce: 0 });
    for (const method of Object.keys(byMethod)) delete byMethod[method];
    process.send?.({ reset: true });
  }
});
process.on('disconnect', () => process.exit(0));

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

function serve(socket: Socket): void {
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
      const reply = replyTo(head, body);
      pending = pending.subarray(end + 4 + length);
      if (latency === 0) socket.write(reply);
      else
        answerLater(
          () => socket.write(reply),
          () => socket.write(tooMany),
        );
    }
  });
}

function answerLater(reply: () => void, refuse: () => void): void {
  const isSettled = requests > SETTLING;
  const isRefused = refuses && atOnce >= capacity;
  if (isSettled) settled.requests++;
  if (isSettled && isRefused) settled.refused++;
  if (isRefused) {
    refuse();
    return;
  }
  atOnce++;
  if (isSettled) settled.mostAtOnce = Math.max(settled.mostAtOnce, atOnce);
  const work = (): void => {
    setTimeout(() => {
      atOnce--;
      reply();
      waiting.shift()?.();
    }, latency);
  };
  if (atOnce > capacity) waiting.push(work);
  else work();
}

function replyTo(head: string, body: Buffer): Buffer {
  const space = head.indexOf(' ');
  const method = head.slice(0, space);
  const path = head.slice(space + 1, head.indexOf(' ', space + 1));
  requests++;
  byMethod[method] = (byMethod[method] ?? 0) + 1;
  if (method === 'POST') {
    // Ids are the numbers in the names, for any order of the creates.
    const spec = JSON.parse(body.toString()) as AgentSpec;
    return add(Number(spec.name.slice('Line '.length)), spec, WORKSPACE_ID);
  }
  if (path.startsWith(AGENT_PATH)) return answers[Number(path.slice(AGENT_PATH.length + 8))] ?? noAgent;
  return emptyList;
}
