import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

type Voice = Readonly<Record<string, unknown>>;

export interface VoicePlatform extends AsyncDisposable {
  readonly url: string;
  readonly voices: ReadonlyMap<string, Voice>;
}

/** Serves voices, and forwards all other requests. */
export async function startVoicePlatform(behind: string): Promise<VoicePlatform> {
  const voices = new Map<string, Voice>();
  const server = createServer(async (request, response) => {
    const [, id] = /^\/api\/v1\/voices(?:\/(.+))?$/.exec(request.url?.split('?')[0] ?? '') ?? ['', null];
    const answer =
      id === null
        ? await passedOn(request, behind)
        : Response.json(await answered(voices, { request, id: id ?? `voice-${voices.size + 1}` }));
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    voices,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

interface Asked {
  readonly request: IncomingMessage;
  readonly id: string;
}

async function answered(voices: Map<string, Voice>, { request, id }: Asked): Promise<object> {
  if (request.method === 'GET') return { data: [...voices.values()], meta: { next_cursor: null } };
  const record = { ...voices.get(id), ...((await json(request)) as Voice), id };
  voices.set(id, record);
  return { data: record };
}

function passedOn({ method = '', url, headers }: IncomingMessage, behind: string): Promise<Response> {
  return fetch(`${behind}${url}`, { method, headers: { authorization: headers.authorization ?? '' } });
}
