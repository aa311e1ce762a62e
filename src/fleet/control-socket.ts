import { once } from 'node:events';
import { chmod, rm } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { errorCode, errorMessage } from '../problems/error-code.ts';
import { ExitCode, UserError } from '../problems/user-error.ts';
import type { Database, DatabaseRow } from '../state/backends/postgres/database.ts';
import { VERSION } from '../version.ts';
import type { FleetControl } from './control.ts';
import type { FleetStatements } from './database/fleet-database.ts';

/* One request per connection: a line of JSON each way. Everyone who can open the socket has full access. */

/** All of them: a missing one does not compile. */
const methods = Object.keys({
  status: true,
  unusedPatterns: true,
  run: true,
  pause: true,
  resume: true,
  freeze: true,
  unfreeze: true,
  frozen: true,
  approve: true,
  reject: true,
  plan: true,
  pulls: true,
  pullProblems: true,
  project: true,
  claim: true,
  release: true,
  addToken: true,
  tokens: true,
  removeToken: true,
} satisfies Record<keyof FleetControl, true>);

/** Statements on the states. Only the process that has the database open can execute them. */
const QUERY = 'query';

const request = z.object({ method: z.enum([...methods, QUERY]), args: z.array(z.json()) });
const answer = z.union([
  z.object({ result: z.json().optional() }).strict(),
  z.object({
    error: z.object({ message: z.string(), hint: z.string().optional(), exitCode: z.int().optional() }),
  }),
]);

type ControlMethod = (...args: unknown[]) => Promise<unknown>;

/** Lets other processes of this user control the fleet and use its states through a Unix socket. */
export async function listenForControl(
  { ask }: FleetStatements,
  control: FleetControl,
  file: string,
): Promise<AsyncDisposable> {
  const query = (text: string, values: readonly unknown[]) => ask(text, ...values);
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => undefined);
    void respond({ ...control, [QUERY]: query } as Readonly<Record<string, unknown>>, socket);
  });
  // The lock shows that no other process serves this fleet, so the existing socket belongs to a dead process.
  await rm(file, { force: true });
  server.listen(shortest(file));
  await once(server, 'listening');
  await chmod(file, 0o600);
  return server;
}

/** The control of the process that listens there, if any. */
export async function controlThrough(file: string): Promise<FleetControl | undefined> {
  const first = await connected(file);
  if (first === undefined) return undefined;
  first.destroy();
  const entries = methods.map((method) => [method, calling(file, method)]);
  return Object.fromEntries(entries) as unknown as FleetControl;
}

/** The part of the listening process's database that states need. */
export function statesThrough(file: string): Database {
  const ask = calling(file, QUERY);
  const query: Database['query'] = async (text, values) => (await ask(text, values)) as readonly DatabaseRow[];
  // The process has one connection, so statements never overlap. Earlier ones are not rolled back if one fails.
  return { wasReached: true, query, transaction: (work) => work({ query }) };
}

function calling(file: string, method: string): ControlMethod {
  return async (...args) => {
    const socket = await connected(file);
    if (socket === undefined) throw ended();
    socket.end(JSON.stringify({ method, args }));
    const response = await text(socket).catch(() => '');
    if (response === '') throw ended();
    const found = answer.parse(JSON.parse(response));
    if ('error' in found) {
      const { message, hint, exitCode = ExitCode.error } = found.error;
      throw new UserError(message, { ...(hint !== undefined && { hint }), exitCode });
    }
    return found.result;
  };
}

function ended(): UserError {
  return new UserError('voxform fleet serve ended before it answered', {
    hint: 'Start it again, and repeat the command.',
  });
}

async function respond(control: Readonly<Record<string, unknown>>, socket: Socket): Promise<void> {
  let response: object;
  try {
    const asked = request.safeParse(JSON.parse(await text(socket)));
    if (!asked.success)
      throw new UserError(`the process that serves the fleet is voxform ${VERSION}, which cannot do this`, {
        hint: 'Restart voxform fleet serve with the version of the command.',
      });
    const { method, args } = asked.data;
    response = { result: await (control[method] as ControlMethod)(...args) };
  } catch (error) {
    const known = error instanceof UserError ? { hint: error.hint, exitCode: error.exitCode } : {};
    response = { error: { message: errorMessage(error), ...known } };
  }
  socket.end(JSON.stringify(response));
}

function connected(file: string): Promise<Socket | undefined> {
  return new Promise((resolve, reject) => {
    const at = shortest(file);
    const socket = connect({ path: at, allowHalfOpen: true });
    socket.once('connect', () => resolve(socket));
    socket.once('error', (error) => {
      const isAbsent = ['ENOENT', 'ECONNREFUSED'].includes(errorCode(error) ?? '');
      if (isAbsent) resolve(undefined);
      else reject(new UserError(`cannot connect to ${file}: ${error.message}`));
    });
  });
}

/** The maximum length, in bytes, of a socket path on every system. */
const LONGEST = 103;

/** @throws UserError if the system cannot open it from here. */
function shortest(file: string): string {
  const relative = path.relative('.', file);
  const found = relative.length < file.length ? relative : file;
  if (Buffer.byteLength(found) <= LONGEST) return found;
  throw new UserError(`the path of the socket is too long for the system: ${file}`, {
    hint: 'Run voxform in the folder of the fleet instead of naming it with -C, or give it a shorter path.',
  });
}
