import { Pool } from 'undici';

/*
 * The floor of reading: undici alone, the same requests at the same concurrency, each answer read and parsed.
 *   node bare-loop.ts BASE_URL COUNT CONCURRENCY
 */

const [baseUrl = '', count = '0', concurrency = '16', protocol = 'h1'] = process.argv.slice(2);
const pool = new Pool(baseUrl, {
  connections: protocol === 'h2' ? 1 : Number(concurrency),
  pipelining: protocol === 'h2' ? Number(concurrency) : 1,
  allowH2: protocol === 'h2',
  connect: { rejectUnauthorized: false },
});
const headers = { authorization: 'Bearer bench', accept: 'application/json' };
let next = 0;

async function reader(): Promise<void> {
  while (next < Number(count)) {
    const path = `/api/v1/agents/01JBENCH${String(next++).padStart(18, '0')}`;
    const { statusCode, body } = await pool.request({ method: 'GET', path, headers });
    const answer: unknown = JSON.parse(await body.text());
    if (statusCode !== 200 || typeof answer !== 'object') throw new Error(`GET ${path}: ${statusCode}`);
  }
}

await Promise.all(Array.from({ length: Number(concurrency) }, reader));
await pool.close();
