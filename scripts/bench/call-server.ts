import { createServer, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { agentId, WORKSPACE_ID } from './workload.ts';

/*
 * A platform with one agent, three versions and this many calls, in a separate process. Each page of calls is generated on request.
 *   node call-server.ts CALLS
 */

const PER_PAGE = 100;
const START = Date.UTC(2026, 0, 1);
const DAY_MS = 86_400_000;
const DAYS = 90;
const count = Number(process.argv[2]);
const id = agentId(0);
const stamps = { workspace_id: WORKSPACE_ID, created_at: at(0), updated_at: at(0) };
const agent = {
  id,
  name: 'Line 0',
  status: 'draft',
  version: 3,
  numbers: [],
  published_at: at(0),
  ...stamps,
};
const versions = [3, 2, 1].map((version) => ({ version, published_at: at((version - 1) * 30 * DAY_MS) }));

const server = createServer(async (request, response) => {
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(await answerTo(request)));
});
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as { port: number }).port }));
process.on('disconnect', () => process.exit(0));

async function answerTo(request: IncomingMessage): Promise<object> {
  const path = request.url ?? '';
  const body = await text(request);
  if (path.includes('/call-histories')) {
    const first = Number((JSON.parse(body) as { cursor?: string }).cursor ?? 0);
    const last = Math.min(count, first + PER_PAGE);
    const data = Array.from({ length: last - first }, (_, index) => call(first + index));
    return { data, meta: meta(last < count ? String(last) : null) };
  }
  if (path.includes('/versions')) return { data: versions, meta: meta(null) };
  return path.includes('/agents') ? { data: agent } : { data: [], meta: meta(null) };
}

function meta(next: string | null) {
  return { per_page: PER_PAGE, next_cursor: next, prev_cursor: null };
}

function at(milliseconds: number): string {
  return `${new Date(START + milliseconds).toISOString().slice(0, 23)}000Z`;
}

/** Generates a call. Most values differ between calls. */
function call(index: number) {
  const start = (index / count) * DAYS * DAY_MS;
  const seconds = (index * 7919) % 7200;
  return {
    id: `01JCALL${String(index).padStart(19, '0')}`,
    start_time: at(start),
    end_time: at(start + seconds * 1000),
    duration: new Date(seconds * 1000).toISOString().slice(11, 19),
    channel_type: 'voice',
    cost: Math.sqrt(index),
    session_id: null,
    end_reason: index % 5 === 0 ? 'transfer' : 'hangup',
    session_status: 'active',
    from: '+4930111111',
    to: '+4930222222',
    direction: 'inbound',
    session_outcome: index % 3 === 0 ? 'escalated' : 'resolved',
    e2e_latency: (index * 104_729) % 30_000,
    agent_id: id,
    ...stamps,
    analysis: null,
  };
}
