import { EventEmitter, once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/**
 * The fate of some bytes. `lost` and `passed` end the connection before or after them. `held` bytes are sent when
 * `letGo` is called, even if their client is gone.
 */
export type Fate = 'lost' | 'passed' | 'held' | undefined;

/** A proxy in front of a server that delays, drops or replaces data. */
export class TcpProxy implements AsyncDisposable {
  /** Emits `closed` after each connection. */
  readonly events = new EventEmitter();
  /** Returns the bytes to forward. */
  answer: (bytes: Buffer) => Buffer = (bytes) => bytes;
  /** Called with the bytes that clients send. */
  sent: (bytes: Buffer) => void = () => undefined;
  /** Called for each piece of data, in order. */
  fate: (from: 'client' | 'server') => Fate = () => undefined;
  /** The delay in milliseconds of data from clients. */
  latency = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #held: (() => void)[] = [];

  private constructor(target: number) {
    this.#server = createServer((client) => this.#pass(client, connect(target, '127.0.0.1')));
  }

  /** @param target port of the server. */
  static async start(target: number): Promise<TcpProxy> {
    const proxy = new TcpProxy(target);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  letGo(): void {
    for (const send of this.#held.splice(0)) send();
  }

  #pass(client: Socket, server: Socket): void {
    client.setNoDelay(true);
    let holds = false;
    const end = (): void => {
      client.destroy();
      if (!holds) server.destroy();
    };
    const through = (from: 'client' | 'server', { socket, to, bytes }: Piece): void => {
      if (socket.destroyed || to.destroyed) return;
      const fate = this.fate(from);
      if (fate === 'lost') end();
      else if (fate === 'passed') to.end(bytes, end);
      else if (fate === undefined) to.write(bytes);
      else {
        holds = from === 'client';
        socket.pause();
        this.#held.push(() => {
          holds = false;
          to.write(bytes);
          socket.resume();
          if (client.destroyed) server.end();
        });
      }
    };
    client.on('data', (bytes) => {
      this.sent(bytes);
      const arrive = (): void => through('client', { socket: client, to: server, bytes });
      if (this.latency === 0) arrive();
      else setTimeout(arrive, this.latency);
    });
    server.on('data', (bytes) => through('server', { socket: server, to: client, bytes: this.answer(bytes) }));
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      socket.on('error', end).on('close', () => {
        this.#sockets.delete(socket);
        end();
      });
    }
    client.on('close', () => this.events.emit('closed'));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

interface Piece {
  readonly socket: Socket;
  readonly to: Socket;
  readonly bytes: Buffer;
}
