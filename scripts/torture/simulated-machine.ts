import { subscribe } from 'node:diagnostics_channel';
import { readFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';

/*
 * Simulates another machine in a process: `node --import simulated-machine.ts?host=NAME&ahead=SECONDS&clock=FILE&freeze=N …`.
 * Adds the seconds in FILE, which may change while the process is stopped, to all clocks. Stops the process right before it sends its Nth
 * write to the platform.
 */

const { searchParams } = new URL(import.meta.url);
const host = searchParams.get('host');
const aheadMs = Number(searchParams.get('ahead')) * 1000;
const clock = searchParams.get('clock') ?? undefined;
let writesUntilFreeze = Number(searchParams.get('freeze'));

if (host !== null) os.hostname = () => host;
syncBuiltinESMExports();

let passedMs = 0;

function clockOffset(): number {
  if (clock !== undefined) passedMs = Number(readFileSync(clock, 'utf8')) * 1000 || passedMs;
  return passedMs;
}

const { now } = Date;
const monotonic = performance.now.bind(performance);
Date.now = () => now() + aheadMs + clockOffset();
performance.now = () => monotonic() + clockOffset();
globalThis.Date = new Proxy(Date, {
  construct: (date, args, target) => Reflect.construct(date, args.length === 0 ? [Date.now()] : args, target),
});

if (writesUntilFreeze > 0) {
  subscribe('undici:request:create', (message) => {
    const { request } = message as { readonly request: { readonly method: string; readonly path: string } };
    // Requests to a state server use undici too.
    if (request.method === 'GET' || !request.path.includes('/api/v1/')) return;
    writesUntilFreeze -= 1;
    if (writesUntilFreeze === 0) process.kill(process.pid, 'SIGSTOP');
  });
}
