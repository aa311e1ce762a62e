import { parseListen } from '../operator/health/admission.ts';
import type { AccessOptions } from '../page/access/access.ts';
import { TrustedProxy } from '../page/access/trusted-proxy.ts';
import { usageError } from '../problems/user-error.ts';
import type { Context } from './context.ts';
import type { PageFlags } from './flags.ts';

/** The environment variable with the bearer token for `/status` and `/metrics`. */
export const TOKEN_VARIABLE = 'VOXFORM_WATCH_TOKEN';

export type PageAddress = Pick<AccessOptions, 'listen' | 'names' | 'proxy' | 'userHeader'>;

/**
 * Returns the address of the page and its trusted proxies; undefined if the flags request no page.
 * @param publicUrls other URLs under which users open the page.
 * @throws UserError
 */
export function pageAddress(
  flags: PageFlags,
  publicUrls: readonly (string | undefined)[] = [],
): PageAddress | undefined {
  const { listen, listenHost = [], trustProxy = [], trustUserHeader: name, trustedRole: role } = flags;
  if (name !== undefined && trustProxy.length === 0) {
    const hint = 'Otherwise, anyone could send this header. Name the network of the proxy, such as 10.0.0.0/8.';
    throw usageError('--trust-user-header needs --trust-proxy', hint);
  }
  const proxy = new TrustedProxy(trustProxy);
  if (listen === undefined) return undefined;
  return {
    listen: parseListen(listen),
    names: [
      ...listenHost.map((each) => each.toLowerCase()),
      ...publicUrls.flatMap((each) => (each === undefined ? [] : [new URL(each).hostname])),
    ],
    proxy,
    userHeader: name === undefined ? undefined : { name, role },
  };
}

/** Returns the bearer token from the environment, if it is set. Adds it to the redactor. */
export function listenToken({ env, redactor }: Pick<Context, 'env' | 'redactor'>): string | undefined {
  const token = env[TOKEN_VARIABLE] || undefined;
  if (token !== undefined) redactor.add(token);
  return token;
}
