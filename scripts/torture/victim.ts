import { subscribe } from 'node:diagnostics_channel';
import { readFileSync } from 'node:fs';
import path from 'node:path';

/*
 * Runs the built command, and kills it when it reaches a named point for the nth time:
 *   node victim.ts BUILT STATE POINT NTH ARGS…
 * Points before and after an intent or an outcome are derived from the last line of the journal, so they need `--concurrency 1`.
 */

const [built = '', state = '', killPoint = '', nth = '1', ...args] = process.argv.slice(2);
const { run } = await load<typeof import('../../src/cli/run.ts')>('cli/run.js');
const { Interrupts } = await load<typeof import('../../src/cli/interrupts.ts')>('cli/interrupts.js');
const { Redactor } = await load<typeof import('../../src/values/redactor.ts')>('values/redactor.js');
let remaining = Number(nth);

for (const [channel, name] of [
  ['undici:client:sendHeaders', 'while sending'],
  ['undici:request:bodySent', 'after send'],
  ['undici:request:headers', 'when the answer begins'],
  ['undici:request:trailers', 'after answer'],
] as const) {
  subscribe(channel, (message) => {
    const { request } = message as { readonly request: { readonly method: string } };
    if (request.method !== 'GET') reach(name);
    else if (isIntentOpen()) reach(`${name}, in the read after an update`);
  });
}

const interrupts = new Interrupts((code) => process.exit(code));
process.exitCode = await run({
  args,
  cwd: process.cwd(),
  env: process.env,
  stdin: () => process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  interrupts,
  redactor: new Redactor(),
  now: () => new Date(),
  failPoint(name) {
    reach(name);
    if (name === 'before-append') reach(isIntentOpen() ? 'before outcome' : 'before intent');
    if (name === 'after-append') reach(isIntentOpen() ? 'after intent' : 'after outcome');
  },
});

function reach(point: string): void {
  if (point !== killPoint) return;
  remaining -= 1;
  if (remaining > 0) return;
  process.kill(process.pid, 'SIGKILL');
  // Block until the signal arrives.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}

/** Returns true if the last entry of the journal is an intent. */
function isIntentOpen(): boolean {
  let journal: string;
  try {
    journal = readFileSync(`${state}.journal`, 'utf8');
  } catch {
    return false;
  }
  const last = journal.trimEnd().split('\n').at(-1) ?? '';
  return /"event":\{"type":"(creating|updating)"/.test(last);
}

async function load<Module>(file: string): Promise<Module> {
  return (await import(path.join(built, file))) as Module;
}
