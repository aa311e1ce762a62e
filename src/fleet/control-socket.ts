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

/*
 * The protocol: each connection carries one request and one response, both in JSON. Every user who can open the socket has full access.
 */

/** The methods of `FleetControl`. `satisfies` checks that the list is complete. */
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

/** The method that executes the SQL statements of state backends. Only the process that has the database open can execute them. */
const QUERY = 'query';

const requestSchema = z.object({ method: z.enum([...methods, QUERY]), args: z.array(z.json()) });
const responseSchema = z.union([
  z.object({ result: z.json().optional() }).strict(),
  z.object({
    error: z.object({ message: z.string(), hint: z.string().optional(), exitCode: z.int().optional() }),
  }),
]);

type ControlMethod = (...args: unknown[]) => Promise<unknown>;

/** Listens on a Unix socket through which other processes of this user control the fleet and use its states. */
export async function listenForControl(
  statements: FleetStatements,
  control: FleetControl,
  file: string,
): Promise<AsyncDisposable> {
  const query = (text: string, values: readonly unknown[]) => statements.query(text, ...values);
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => undefined);
    void respond({ ...control, [QUERY]: query } as Readonly<Record<string, unknown>>, socket);
  });
  // This process holds the lock of the fleet, so an existing socket belongs to a dead process.
  await rm(file, { force: true });
  server.listen(socketPath(file));
  await once(server, 'listening');
  await chmod(file, 0o600);
  return server;
}

/** Returns the control interface of the process that listens on the socket, if any. */
export async function controlThrough(file: string): Promise<FleetControl | undefined> {
  const probe = await connectTo(file);
  if (probe === undefined) return undefined;
  probe.destroy();
  const entries = methods.map((method) => [method, remoteMethod(file, method)]);
  return Object.fromEntries(entries) as unknown as FleetControl;
}

/** Returns the database of the process that listens on the socket, for state backends. */
export function statesThrough(file: string): Database {
  const remoteQuery = remoteMethod(file, QUERY);
  const query: Database['query'] = async (text, values) => (await remoteQuery(text, values)) as readonly DatabaseRow[];
  // The process has one connection, so statements never overlap. If a statement fails, earlier statements are not rolled back.
  return { wasReached: true, query, transaction: (work) => work({ query }) };
}

function remoteMethod(file: string, method: string): ControlMethod {
  return async (...args) => {
    const socket = await connectTo(file);
    if (socket === undefined) throw endedError();
    socket.end(JSON.stringify({ method, args }));
    const response = await text(socket).catch(() => '');
    if (response === '') throw endedError();
    const parsed = responseSchema.parse(JSON.parse(response));
    if ('error' in parsed) {
      const { message, hint, exitCode = ExitCode.error } = parsed.error;
      throw new UserError(message, { ...(hint !== undefined && { hint }), exitCode });
    }
    return parsed.result;
  };
}

function endedError(): UserError {
  return new UserError('voxform fleet serve ended without a response', {
    hint: 'Start voxform fleet serve again, and repeat the command.',
  });
}

async function respond(control: Readonly<Record<string, unknown>>, socket: Socket): Promise<void> {
  let response: object;
  try {
    const parsed = requestSchema.safeParse(JSON.parse(await text(socket)));
    if (!parsed.success)
      throw new UserError(`voxform fleet serve has version ${VERSION}, which does not support this command`, {
        hint: 'Restart voxform fleet serve with the same version as this command.',
      });
    const { method, args } = parsed.data;
    response = { result: await (control[method] as ControlMethod)(...args) };
  } catch (error) {
    const details = error instanceof UserError ? { hint: error.hint, exitCode: error.exitCode } : {};
    response = { error: { message: errorMessage(error), ...details } };
  }
  socket.end(JSON.stringify(response));
}

/** Opens a connection; undefined if no process listens on the socket. */
function connectTo(file: string): Promise<Socket | undefined> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path: socketPath(file), allowHalfOpen: true });
    socket.once('connect', () => resolve(socket));
    socket.once('error', (error) => {
      const isAbsent = ['ENOENT', 'ECONNREFUSED'].includes(errorCode(error) ?? '');
      if (isAbsent) resolve(undefined);
      else reject(new UserError(`cannot connect to ${file}: ${error.message}`));
    });
  });
}

/** The maximum length in bytes of a socket path that every system supports. */
const MAX_PATH_BYTES = 103;

/** Returns the relative or the absolute path, whichever is shorter. @throws UserError if both paths are too long for the system. */
function socketPath(file: string): string {
  const relative = path.relative('.', file);
  const shorter = relative.length < file.length ? relative : file;
  if (Buffer.byteLength(shorter) <= MAX_PATH_BYTES) return shorter;
  throw new UserError(`the path of the socket is too long for the system: ${file}`, {
    hint: 'Run voxform in the folder of the fleet instead of using -C, or move the fleet to a folder with a shorter path.',
  });
}
