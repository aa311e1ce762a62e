import http from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import type { SecureContext } from 'node:tls';
import { buildConnector } from 'undici';
import { errorCode } from '../problems/error-code.ts';
import { networkReason, proxyRefusal } from './network-reason.ts';
import { ProxyFailure, type ProxySettings, proxyAuthorization } from './proxy.ts';

interface TunnelOptions {
  readonly proxy: ProxySettings;
  readonly connectMilliseconds: number;
  readonly secureContext: SecureContext | undefined;
}

/** Returns undici's connector for TLS servers behind a proxy. undici owns a connection as soon as its tunnel is open. */
export function tunnelConnector(options: TunnelOptions): buildConnector.connector {
  const { connectMilliseconds: timeout, secureContext } = options;
  const secure = buildConnector({ timeout, allowH2: false, ...(secureContext && { secureContext }) });
  return (target, callback) => {
    openTunnel(`${target.hostname}:${target.port || 443}`, options).then(
      (httpSocket) => secure({ ...target, httpSocket }, callback),
      (error: Error) => callback(error, null),
    );
  };
}

/** @throws ProxyFailure */
function openTunnel(target: string, { proxy, connectMilliseconds, secureContext }: TunnelOptions): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const { request } = proxy.origin.startsWith('https:') ? https : http;
  const connectRequest = request(proxy.origin, {
    method: 'CONNECT',
    path: target,
    headers: { host: target, ...proxyAuthorization(proxy) },
    agent: false,
    timeout: connectMilliseconds,
    ...(secureContext && { secureContext }),
  });
  // The caller has a timeout. A proxy that does not respond must not keep the process alive.
  connectRequest.once('socket', (socket) => socket.unref());
  connectRequest.once('connect', ({ statusCode = 0 }, socket: Socket) => {
    if (statusCode >= 200 && statusCode < 300) {
      socket.setTimeout(0);
      resolve(socket.ref());
      return;
    }
    socket.on('error', () => undefined).destroy();
    const isTemporary = statusCode === 408 || statusCode === 429 || statusCode >= 500;
    const words = proxyRefusal(proxy, { status: statusCode, target });
    reject(new ProxyFailure(isTemporary ? 'PROXY_FAILED' : 'PROXY_REFUSED', words));
  });
  connectRequest.once('timeout', () => connectRequest.destroy(Object.assign(new Error(), { code: 'ETIMEDOUT' })));
  connectRequest.once('error', (error) => {
    const reason = networkReason(errorCode(error)) ?? `failed: ${errorCode(error) ?? error.message}`;
    reject(new ProxyFailure('PROXY_FAILED', `the proxy ${proxy.shown} ${reason}`));
  });
  connectRequest.end();
  return promise;
}
