import { subscribe } from 'node:diagnostics_channel';
import { readFileSync } from 'node:fs';
import path from 'node:path';

/*
 * Runs the built command and kills it at the nth passage of a named place:
 *   node victim.ts BUILT STATE PLACE NTH ARGS…
 * Whether an append is of an intent or of an outcome is told from the journal, so those places need `--concurrency 1`.
 */

const [built = '', state = '', place = '', nth = '1', ...args] = process.argv.slice(2);
const { run } = await load<typeof import('../../src/cli/run.ts')>('cli/run.js');
const { Interrupts } = await load<typeof import('../../src/cli/interrupts.ts')>('cli/interrupts.js');
const { Redactor } = await load<typeof import('../../src/values/redactor.ts')>('values/redactor.js');
let left = Number(nth);

for (const [channel, name] of [
  ['undici:client:sendHeaders', 'while sending'],
  ['undici:request:bodySent', 'after send'],
  ['undici:request:headers', 'when the answer begins'],
  ['undici:request:trailers', 'after answer'],
] as const) {
  subscribe(channel, (message) => {
    const { request } = message as { readonly request: { readonly method: string } };
    if (request.method !== 'GET') pass(name);
    else if (isIntentOpen()) pass(`${name}, a read of what became of it`);
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
    pass(name);
    if (name === 'before-append') pass(isIntentOpen() ? 'before outcome' : 'before intent');
    if (name === 'after-append') pass(isIntentOpen() ? 'after intent' : 'after outcome');
  },
});

function pass(passed: string): void {
  if (passed !== place) return;
  left -= 1;
  if (left > 0) return;
  process.kill(process.pid, 'SIGKILL');
  // Nothing more may happen, should the signal take its time.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}

/** Whether the journal's last entry is an intent. */
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
