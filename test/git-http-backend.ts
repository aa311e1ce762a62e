import { execFileSync, spawn } from 'node:child_process';
import type { IncomingMessage, ServerResponse } from 'node:http';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';

/** Without `git` in front of it, which is a process more for every request. */
const BACKEND = path.join(execFileSync('git', ['--exec-path'], { encoding: 'utf8' }).trim(), 'git-http-backend');

/** Does what git asks of a bare repository below the folder, with the program that git has for servers. @returns what sends the answer. */
export async function gitAnswer(request: IncomingMessage, folder: string): Promise<(response: ServerResponse) => void> {
  const { pathname, search } = new URL(request.url ?? '/', 'http://localhost');
  const child = spawn(BACKEND, [], {
    env: {
      ...process.env,
      // As hosts tidy up: not after each push.
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'receive.autogc',
      GIT_CONFIG_VALUE_0: 'false',
      GIT_PROJECT_ROOT: folder,
      GIT_HTTP_EXPORT_ALL: '1',
      // Whoever got here may push.
      REMOTE_USER: 'tester',
      REQUEST_METHOD: request.method,
      PATH_INFO: pathname,
      QUERY_STRING: search.slice(1),
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
      GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  // A request that breaks off ends it, as it does behind a server of the web.
  pipeline(request, child.stdin).catch(() => undefined);
  const answer = await buffer(child.stdout);
  const end = answer.indexOf('\r\n\r\n');
  const headers = answer.subarray(0, end).toString().split('\r\n');
  return (response) => {
    let status = 200;
    for (const header of headers) {
      const [key = '', value = ''] = header.split(/: (.*)/s);
      if (key === 'Status') status = Number.parseInt(value, 10);
      else response.setHeader(key, value);
    }
    response.writeHead(status).end(answer.subarray(end + 4));
  };
}
