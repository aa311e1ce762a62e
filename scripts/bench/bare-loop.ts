import { Pool } from 'undici';
import { agentSpec } from './workload.ts';

/*
 * The floor for reads and creates: the same requests with undici alone, at the same concurrency. Reads and parses each response.
 *   node bare-loop.ts BASE_URL COUNT CONCURRENCY [GET|POST]
 */

const [baseUrl = '', count = '0', concurrency = '16', method = 'GET'] = process.argv.slice(2);
const pool = new Pool(baseUrl, { connections: Number(concurrency), pipelining: 1 });
const headers = { authorization: 'Bearer bench', accept: 'application/json' };
const AGENTS = '/api/v1/agents';
let next = 0;

async function loop(): Promise<void> {
  while (next < Number(count)) {
    const index = next++;
    const request =
      method === 'GET'
        ? { method, path: `${AGENTS}/01JBENCH${String(index).padStart(18, '0')}`, headers }
        : {
            method: 'POST' as const,
            path: AGENTS,
            headers: { ...headers, 'content-type': 'application/json' },
            body: JSON.stringify(agentSpec(index)),
          };
    const { statusCode, body } = await pool.request(request);
    const response: unknown = JSON.parse(await body.text());
    if (statusCode !== 200 || typeof response !== 'object') throw new Error(`${request.path}: ${statusCode}`);
  }
}

await Promise.all(Array.from({ length: Number(concurrency) }, loop));
await pool.close();
