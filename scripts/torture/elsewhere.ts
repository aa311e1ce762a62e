import { subscribe } from 'node:diagnostics_channel';
import { readFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';

/*
 * Makes a process believe that it is on another machine: `node --import elsewhere.ts?host=NAME&ahead=SECONDS&clock=FILE&freeze=N …`.
 * All its clocks are ahead by the seconds in FILE, which may change while it is frozen. It freezes right before it sends its Nth write to the
 * platform.
 */

const { searchParams } = new URL(import.meta.url);
const host = searchParams.get('host');
const ahead = Number(searchParams.get('ahead')) * 1000;
const clock = searchParams.get('clock') ?? undefined;
let writes = Number(searchParams.get('freeze'));

if (host !== null) os.hostname = () => host;
syncBuiltinESMExports();

let passed = 0;

function millisecondsPassed(): number {
  if (clock !== undefined) passed = Number(readFileSync(clock, 'utf8')) * 1000 || passed;
  return passed;
}

const { now } = Date;
const monotonic = performance.now.bind(performance);
Date.now = () => now() + ahead + millisecondsPassed();
performance.now = () => monotonic() + millisecondsPassed();
globalThis.Date = new Proxy(Date, {
  construct: (date, args, target) => Reflect.construct(date, args.length === 0 ? [Date.now()] : args, target),
});

if (writes > 0) {
  subscribe('undici:request:create', (message) => {
    const { request } = message as { readonly request: { readonly method: string; readonly path: string } };
    // A state server is reached in the same way.
    if (request.method === 'GET' || !request.path.includes('/api/v1/')) return;
    writes -= 1;
    if (writes === 0) process.kill(process.pid, 'SIGSTOP');
  });
}
