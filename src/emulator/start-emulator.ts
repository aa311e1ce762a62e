import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer, type HttpBindings } from '@hono/node-server';
import { UserError } from '../problems/user-error.ts';
import { emulatorApp } from './app.ts';
import type { BehaviourPatch, EmulatorBehaviour } from './behaviour.ts';
import { Dashboard } from './dashboard.ts';
import { DataFile, loadWorldData } from './data-file.ts';
import { Emulated } from './emulated.ts';
import type { ReceivedRequest } from './faults.ts';
import type { Seed } from './ids-and-clock.ts';
import { type RequestHook, requestPipeline } from './request-pipeline.ts';
import { World } from './world.ts';

export const DEFAULT_WORKSPACE_ID = '01JEMV1AT0RW0RKSPACE000001';

export interface EmulatorOptions {
  /** The port. The default is 0, which selects a free port. */
  readonly port?: number | undefined;
  /** The host name or address. The default is 127.0.0.1. */
  readonly host?: string | undefined;
  /** The workspace id. The default is the id in the data file, otherwise `DEFAULT_WORKSPACE_ID`. */
  readonly workspaceId?: string | undefined;
  /** The accepted bearer key. If absent, any key is accepted. */
  readonly apiKey?: string | undefined;
  /** The seed for reproducible ids and times. */
  readonly seed?: Seed | undefined;
  /** The path of the data file, which is loaded at startup if it exists. If absent, all records are kept only in memory. */
  readonly dataFile?: string | undefined;
  readonly behaviour?: BehaviourPatch | undefined;
  readonly onRequest?: RequestHook | undefined;
}

export type Emulator = Readonly<Awaited<ReturnType<typeof startEmulator>>>;

/** Starts the emulator. Throws a UserError if the port is in use or the data file is invalid. */
export async function startEmulator(options: EmulatorOptions = {}) {
  const world = await openWorld(options);
  const file = options.dataFile === undefined ? undefined : await DataFile.open(options.dataFile, world);
  const closing = new AbortController();
  const emulated = new Emulated(world, options.behaviour);
  const dashboard = new Dashboard(emulated);
  const app = emulatorApp(emulated, options.apiKey, dashboard);
  const { onRequest, host = '127.0.0.1' } = options;
  const handleRequest = requestPipeline({ app, emulated, onRequest, closing: closing.signal });
  const server = createAdaptorServer({
    fetch: (request, bindings) => handleRequest(request, bindings as HttpBindings),
    createServer,
    overrideGlobalObjects: false,
  }) as Server;
  const port = await listen(server, host, options.port ?? 0);
  /** Closes open connections and writes the data file. Rejects if the file cannot be written. */
  const close = async (): Promise<void> => {
    closing.abort();
    await stop(server);
    await file?.close();
  };
  return {
    /** The base URL, without a trailing slash. */
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    port,
    workspaceId: world.workspaceId,
    /** The requests to the API so far, oldest first. */
    get requests(): readonly ReceivedRequest[] {
      return emulated.requests;
    },
    world,
    dashboard,
    faults: emulated.faults,
    get behaviour(): EmulatorBehaviour {
      return emulated.behaviour;
    },
    /** Applies a merge patch to the behaviour. Throws a ZodError if the result is invalid. */
    setBehaviour: (patch: BehaviourPatch) => emulated.setBehaviour(patch),
    clearRequests: () => {
      emulated.requests = [];
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

async function openWorld({ dataFile, workspaceId, seed }: EmulatorOptions): Promise<World> {
  const data = dataFile === undefined ? undefined : await loadWorldData(dataFile);
  if (data !== undefined && workspaceId !== undefined && workspaceId !== data.workspace_id) {
    throw new UserError(`${dataFile} belongs to workspace ${data.workspace_id}, not ${workspaceId}`, {
      hint: 'Use another data file, or omit --workspace-id.',
    });
  }
  return new World({ workspaceId: data?.workspace_id ?? workspaceId ?? DEFAULT_WORKSPACE_ID, seed, data });
}

async function listen(server: Server, host: string, port: number): Promise<number> {
  server.listen(port, host);
  await once(server, 'listening').catch((cause: NodeJS.ErrnoException) => {
    const reason = cause.code === 'EADDRINUSE' ? 'already in use' : cause.message;
    const hint = 'Choose another address with --host and --port. --port 0 selects a free port.';
    throw new UserError(`cannot listen on ${host}:${port}: ${reason}`, { hint, cause });
  });
  return (server.address() as AddressInfo).port;
}

async function stop(server: Server): Promise<void> {
  if (!server.listening) return;
  const closed = server[Symbol.asyncDispose]();
  server.closeAllConnections();
  await closed;
}
