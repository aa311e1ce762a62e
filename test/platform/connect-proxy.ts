import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';

export interface ConnectProxy extends AsyncDisposable {
  readonly port: number;
  /** `CONNECT platform.example.com:443`, or the first line of a forwarded request. */
  readonly asked: string[];
  /** `Proxy-Authorization` of each request, in the same order. */
  readonly credentials: (string | undefined)[];
  /** Status of each response from now on. 200 connects or forwards. */
  answer: number;
}

/** Starts a proxy that connects every host to one port of this machine. */
export async function connectProxy(to: number): Promise<ConnectProxy> {
  const sockets = new Set<net.Socket>();
  const note = (line: string, headers: http.IncomingHttpHeaders): void => {
    proxy.asked.push(line);
    proxy.credentials.push(headers['proxy-authorization']);
  };
  const server = http.createServer((request, response) => {
    note(`${request.method} ${request.url}`, request.headers);
    if (proxy.answer !== 200) {
      response.writeHead(proxy.answer).end('<html>Company proxy</html>');
      return;
    }
    const { pathname, search } = new URL(request.url ?? '');
    const onward = http.request(
      { port: to, host: '127.0.0.1', method: request.method, path: pathname + search, headers: request.headers },
      (answer) => {
        response.writeHead(answer.statusCode ?? 0, answer.headers);
        answer.pipe(response);
      },
    );
    request.pipe(onward);
  });
  server.on('connect', (request: http.IncomingMessage, socket: net.Socket) => {
    note(`CONNECT ${request.url}`, request.headers);
    sockets.add(socket.on('error', () => socket.destroy()));
    if (proxy.answer !== 200) {
      socket.end(`HTTP/1.1 ${proxy.answer} No\r\ncontent-length: 5\r\n\r\nsorry`);
      return;
    }
    const onward = net.connect(to, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      socket.pipe(onward).pipe(socket);
    });
    sockets.add(onward.on('error', () => socket.destroy()));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const proxy: ConnectProxy = {
    port: (server.address() as net.AddressInfo).port,
    asked: [],
    credentials: [],
    answer: 200,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return proxy;
}

export interface Identity {
  readonly key: string;
  readonly cert: string;
}

/** Returns a key and a self-signed certificate. */
export function selfSigned(name = 'platform.example.com'): Identity {
  const folder = mkdtempSync(path.join(tmpdir(), 'voxform-tls-'));
  try {
    const [key, cert] = [path.join(folder, 'key.pem'), path.join(folder, 'cert.pem')];
    const made = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', key, '-out', cert];
    const about = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`, '-days', '2'];
    execFileSync('openssl', ['req', '-x509', ...made, ...about], { stdio: 'ignore' });
    return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

export interface SecureServer extends AsyncDisposable {
  readonly port: number;
  connections(): number;
}

export async function secureServer(
  identity: Identity,
  answer: (request: http.IncomingMessage, response: http.ServerResponse) => void,
): Promise<SecureServer> {
  let connections = 0;
  const server = https.createServer(identity, answer).on('secureConnection', () => connections++);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as net.AddressInfo).port,
    connections: () => connections,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
