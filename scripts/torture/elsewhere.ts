import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';

/* Makes a process believe that it is on another machine: `node --import elsewhere.ts?host=NAME&ahead=SECONDS …`. */

const { searchParams } = new URL(import.meta.url);
const host = searchParams.get('host') ?? '';
const ahead = Number(searchParams.get('ahead')) * 1000;

os.hostname = () => host;
syncBuiltinESMExports();

const { now } = Date;
Date.now = () => now() + ahead;
globalThis.Date = new Proxy(Date, {
  construct: (date, args, target) => Reflect.construct(date, args.length === 0 ? [Date.now()] : args, target),
});
