import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Emulator, startEmulator } from '../../src/emulator/start-emulator.ts';
import { isObject } from '../../src/values/json.ts';

/** A request as it was received. */
export interface Heard {
  readonly method: string;
  readonly path: string;
  readonly authorization: string;
  readonly body: string;
}

/** Responds in the platform's place, or returns `undefined` to let the platform respond. */
export type Misbehaviour = (heard: Heard, response: ServerResponse) => true | undefined;

/**
 * A platform that repeats secrets: a read of an agent returns the whole `llm_config` that was sent, including the key.
 * While `misbehave` is set, it responds instead.
 */
export class EchoPlatform {
  readonly emulator: Emulator;
  readonly url: string;
  misbehave: Misbehaviour | undefined;
  readonly #close: () => Promise<void>;
  #closed: Promise<void> | undefined;

  static async start(dataFile: string): Promise<EchoPlatform> {
    const emulator = await startEmulator({ seed: 'echo', dataFile });
    const sent = new Map<string, unknown>();
    let platform: EchoPlatform | undefined;
    const server = createServer((request, response) => {
      void answer(request, response, { emulator, sent, misbehave: platform?.misbehave });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    platform = new EchoPlatform(emulator, `http://127.0.0.1:${port}`, async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
      await emulator.close();
    });
    return platform;
  }

  private constructor(emulator: Emulator, url: string, close: () => Promise<void>) {
    this.emulator = emulator;
    this.url = url;
    this.#close = close;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed ??= this.#close();
    await this.#closed;
  }
}

interface Parts {
  readonly emulator: Emulator;
  /** The last `llm_config` sent, by agent id. */
  readonly sent: Map<string, unknown>;
  readonly misbehave: Misbehaviour | undefined;
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { emulator, sent, misbehave }: Parts,
): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks).toString('utf8');
  const [method = 'GET', path = '/'] = [request.method, request.url];
  const authorization = request.headers.authorization ?? '';
  if (misbehave?.({ method, path, authorization, body }, response) === true) return;
  const real = await fetch(emulator.url + path, {
    method,
    headers: { authorization: 'Bearer any', 'content-type': 'application/json' },
    // The filters of a list are in the body of a GET, which fetch cannot send. The whole list is equivalent here.
    ...(body !== '' && method !== 'GET' && { body }),
  });
  const said: unknown = await real.json();
  if (isObject(said) && isObject(said.data) && path.startsWith('/api/v1/agents')) {
    const id = String(said.data.id);
    const asked: unknown = body === '' ? undefined : JSON.parse(body);
    if (isObject(asked) && asked.llm_config !== undefined) sent.set(id, asked.llm_config);
    if (sent.has(id)) Object.assign(said.data, { llm_config: sent.get(id) });
  }
  response.writeHead(real.status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(said));
}
