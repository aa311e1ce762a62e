import { EventEmitter, once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/**
 * What becomes of some bytes on their way: `lost` and `passed` end the connection, before or after them; `held` are sent on once
 * `letGo` is called, also those of a client that is gone by then.
 */
export type Fate = 'lost' | 'passed' | 'held' | undefined;

/** Stands before a server, and does with what goes through whatever a test wants. */
export class TcpProxy implements AsyncDisposable {
  /** Emits `closed` after each connection. */
  readonly events = new EventEmitter();
  /** What is sent on instead. */
  answer: (bytes: Buffer) => Buffer = (bytes) => bytes;
  /** Sees what clients send. */
  sent: (bytes: Buffer) => void = () => undefined;
  /** Asked for each piece, in the order in which they come through. */
  fate: (from: 'client' | 'server') => Fate = () => undefined;
  /** Milliseconds that what clients send is on its way. */
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
