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
  /** 0, the default, takes any free port. */
  readonly port?: number | undefined;
  /** 127.0.0.1 by default. */
  readonly host?: string | undefined;
  /** `DEFAULT_WORKSPACE_ID`, or that of the data file, by default. */
  readonly workspaceId?: string | undefined;
  /** The accepted bearer key; any if absent. */
  readonly apiKey?: string | undefined;
  /** Makes ids and times reproducible. */
  readonly seed?: Seed | undefined;
  /** File of the world, loaded at the start if it exists. Without it, the world is in memory. */
  readonly dataFile?: string | undefined;
  readonly behaviour?: BehaviourPatch | undefined;
  readonly onRequest?: RequestHook | undefined;
}

export type Emulator = Readonly<Awaited<ReturnType<typeof startEmulator>>>;

/** Starts the emulator. Throws a UserError for a port in use and for an invalid data file. */
export async function startEmulator(options: EmulatorOptions = {}) {
  const world = await openWorld(options);
  const file = options.dataFile === undefined ? undefined : await DataFile.open(options.dataFile, world);
  const closing = new AbortController();
  const emulated = new Emulated(world, options.behaviour);
  const dashboard = new Dashboard(emulated);
  const app = emulatorApp(emulated, { apiKey: options.apiKey, dashboard });
  const { onRequest, host = '127.0.0.1' } = options;
  const enter = requestPipeline({ app, emulated, onRequest, closing: closing.signal });
  const server = createAdaptorServer({
    fetch: (request, bindings) => enter(request, bindings as HttpBindings),
    createServer,
    overrideGlobalObjects: false,
  }) as Server;
  const port = await listen(server, host, options.port ?? 0);
  /** Breaks open connections and writes the data file. Rejects if that fails. */
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
    /** Applies a merge patch to the behaviour. Throws a ZodError for an invalid one. */
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
    throw new UserError(`${dataFile} holds the workspace ${data.workspace_id}, not ${workspaceId}`, {
      hint: 'Use another data file, or omit --workspace-id.',
    });
  }
  return new World({ workspaceId: data?.workspace_id ?? workspaceId ?? DEFAULT_WORKSPACE_ID, seed, data });
}

async function listen(server: Server, host: string, port: number): Promise<number> {
  server.listen(port, host);
  await once(server, 'listening').catch((cause: NodeJS.ErrnoException) => {
    const why = cause.code === 'EADDRINUSE' ? 'already in use' : cause.message;
    const hint = 'Choose another with --port and --host; --port 0 picks a free one.';
    throw new UserError(`cannot listen on ${host}:${port}: ${why}`, { hint, cause });
  });
  return (server.address() as AddressInfo).port;
}

async function stop(server: Server): Promise<void> {
  if (!server.listening) return;
  const closed = server[Symbol.asyncDispose]();
  server.closeAllConnections();
  await closed;
}
