import { type Dispatcher, request } from 'undici';
import type { Emulator } from '../../src/emulator/start-emulator.ts';
import { valueAt } from '../../src/values/path.ts';

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  /** The JSON body; undefined if the body is not JSON. */
  readonly body: unknown;
  /** The value at a dotted path of the body. */
  at(path: string): unknown;
}

export interface CallOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent unchanged, in place of a JSON body. */
  readonly raw?: string;
}

/** Sends one request over a real socket, with a key and a JSON body unless `options` override this. */
export async function call(
  emulator: Emulator,
  [method, path, body]: readonly [method: Dispatcher.HttpMethod, path: string, body?: unknown],
  options: CallOptions = {},
): Promise<Answer> {
  const sent = options.raw ?? (body === undefined ? undefined : JSON.stringify(body));
  const response = await request(emulator.url + path, {
    method,
    headers: options.headers ?? { authorization: 'Bearer any', 'content-type': 'application/json' },
    ...(sent === undefined ? {} : { body: sent }),
  });
  const text = await response.body.text();
  const json = parsed(text);
  return {
    status: response.statusCode,
    headers: response.headers,
    text,
    body: json,
    at: (place) => valueAt(json, place),
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Creates an agent and returns its id. */
export async function newAgent(emulator: Emulator, body: unknown = { name: 'Agent' }): Promise<string> {
  return String((await call(emulator, ['POST', '/api/v1/agents', body])).at('data.id'));
}
