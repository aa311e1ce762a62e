import http from 'node:http';
import net from 'node:net';
import { onTestFinished } from 'vitest';

export interface Listening {
  readonly url: string;
  readonly port: number;
}

export interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
}

export type Answer = (
  request: SeenRequest,
  response: http.ServerResponse,
  /** Counts from 1. */
  count: number,
) => void;

/** Starts an HTTP server on this machine that records requests. It is closed at the end of the test. */
export async function listenHttp(answer: Answer): Promise<Listening & { readonly seen: SeenRequest[] }> {
  const seen: SeenRequest[] = [];
  const server = http.createServer(async (message, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of message) chunks.push(chunk as Buffer);
    const { method = '', url = '', headers } = message;
    const request = { method, url, headers, body: Buffer.concat(chunks).toString() };
    answer(request, response, seen.push(request));
  });
  return { ...(await listening(server)), seen };
}

/** Starts a TCP server on this machine. It and its connections are closed at the end of the test. */
export async function listenTcp(connected: (socket: net.Socket, count: number) => void): Promise<Listening> {
  const sockets = new Set<net.Socket>();
  let count = 0;
  const server = net.createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    connected(socket, ++count);
  });
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  return listening(server);
}

/** Returns a port of this machine without a listener. */
export async function closedPort(): Promise<number> {
  const server = net.createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const port = portOf(server);
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function listening(server: net.Server | http.Server): Promise<Listening> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    if (server instanceof http.Server) server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const port = portOf(server);
  return { url: `http://127.0.0.1:${port}`, port };
}

function portOf(server: net.Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}
