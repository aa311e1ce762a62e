import { execFileSync, spawn } from 'node:child_process';
import type { IncomingMessage, ServerResponse } from 'node:http';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';

/** Started without the `git` command, which would be one more process for every request. */
const BACKEND = path.join(execFileSync('git', ['--exec-path'], { encoding: 'utf8' }).trim(), 'git-http-backend');

/**
 * Handles a request of git for a bare repository below the folder, with git's own server program. @returns a function
 * that sends the response.
 */
export async function gitAnswer(request: IncomingMessage, folder: string): Promise<(response: ServerResponse) => void> {
  const { pathname, search } = new URL(request.url ?? '/', 'http://localhost');
  const child = spawn(BACKEND, [], {
    env: {
      ...process.env,
      // As on hosts, maintenance does not run after each push.
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'receive.autogc',
      GIT_CONFIG_VALUE_0: 'false',
      GIT_PROJECT_ROOT: folder,
      GIT_HTTP_EXPORT_ALL: '1',
      // Every client may push.
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
  // A request that breaks off ends the program, as it does behind a web server.
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
