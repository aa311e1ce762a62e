import { parseListen } from '../operator/health/admission.ts';
import type { AccessOptions } from '../page/access/access.ts';
import { TrustedProxy } from '../page/access/trusted-proxy.ts';
import { misuse } from '../problems/user-error.ts';
import type { Context } from './context.ts';
import type { PageFlags } from './flags.ts';

/** The variable with the bearer token of `/status` and `/metrics`. */
export const LISTEN_TOKEN = 'VOXFORM_WATCH_TOKEN';

export type PageAddress = Pick<AccessOptions, 'listen' | 'names' | 'proxy' | 'userHeader'>;

/**
 * The address of the page and its trusted proxies; undefined without a page.
 * @param known public addresses of the page.
 * @throws UserError
 */
export function pageAddress(flags: PageFlags, known: readonly (string | undefined)[] = []): PageAddress | undefined {
  const { listen, listenHost = [], trustProxy = [], trustUserHeader: name, trustedRole: role } = flags;
  if (name !== undefined && trustProxy.length === 0) {
    const hint = 'Everyone could send this header otherwise. Name the network of the proxy, such as 10.0.0.0/8.';
    throw misuse('--trust-user-header needs --trust-proxy', hint);
  }
  const proxy = new TrustedProxy(trustProxy);
  if (listen === undefined) return undefined;
  return {
    listen: parseListen(listen),
    names: [
      ...listenHost.map((each) => each.toLowerCase()),
      ...known.flatMap((each) => (each === undefined ? [] : [new URL(each).hostname])),
    ],
    proxy,
    userHeader: name === undefined ? undefined : { name, role },
  };
}

/** Undefined without an address. */
export function listenToken({ env, redactor }: Pick<Context, 'env' | 'redactor'>): string | undefined {
  const token = env[LISTEN_TOKEN] || undefined;
  if (token !== undefined) redactor.add(token);
  return token;
}
