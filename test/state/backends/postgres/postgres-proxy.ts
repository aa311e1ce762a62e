import { EventEmitter, once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { postgresServer } from './postgres-server.ts';

/** What becomes of some bytes on their way: `lost` and `passed` end the connection, before or after them. */
export type Fate = 'lost' | 'passed' | undefined;

/** Stands before the server that is shared, and does with what goes through whatever a test wants. */
export class PostgresProxy implements AsyncDisposable {
  /** Emits `closed` after each connection. */
  readonly events = new EventEmitter();
  /** What is sent on instead. */
  answer: (bytes: Buffer) => Buffer = (bytes) => bytes;
  /** Sees what clients send. */
  sent: (bytes: Buffer) => void = () => undefined;
  /** Asked for each piece, in the order in which they come through. */
  fate: (from: 'client' | 'server') => Fate = () => undefined;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(target: number) {
    this.#server = createServer((client) => this.#pass(client, connect(target, '127.0.0.1')));
  }

  static async start(target?: number): Promise<PostgresProxy> {
    const proxy = new PostgresProxy(target ?? (await postgresServer()).port);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  #pass(client: Socket, server: Socket): void {
    client.setNoDelay(true);
    const end = (): void => {
      client.destroy();
      server.destroy();
    };
    const through = (from: 'client' | 'server', to: Socket, bytes: Buffer): void => {
      const fate = this.fate(from);
      if (fate === 'lost') end();
      else if (fate === 'passed') to.end(bytes, end);
      else to.write(bytes);
    };
    client.on('data', (bytes) => {
      this.sent(bytes);
      through('client', server, bytes);
    });
    server.on('data', (bytes) => through('server', client, this.answer(bytes)));
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
