import { type Command, Option } from 'commander';
import { parseListen } from '../operator/health/admission.ts';
import { type Role, roles } from '../operator/roles.ts';
import type { AccessOptions } from '../page/access/access.ts';
import { TrustedProxy } from '../page/access/trusted-proxy.ts';
import { ExitCode, UserError } from '../problems/user-error.ts';
import type { Context } from './context.ts';
import { collectText } from './flags.ts';

export interface PageFlags {
  readonly listen?: string;
  readonly listenHost?: readonly string[];
  readonly trustProxy?: readonly string[];
  readonly trustUserHeader?: string;
  readonly trustedRole: Role;
}

/** @param serves what the listener serves besides the page. */
export function withPage(command: Command, serves: string): Command {
  return command
    .option('--listen <address>', `Serve the page, ${serves} on HOST:PORT`)
    .option('--listen-host <name>', 'Additional host name to accept in requests (repeatable)', collectText)
    .option(
      '--trust-proxy <cidr>',
      'Network of proxies whose X-Forwarded headers are trusted (repeatable)',
      collectText,
    )
    .option('--trust-user-header <name>', 'Header in which these proxies name the signed-in user')
    .addOption(
      new Option('--trusted-role <role>', 'What users named by the proxy may do')
        .choices(roles)
        .default('viewer'),
    );
}

/** The variable with the bearer token of `/status` and `/metrics`. */
export const LISTEN_TOKEN = 'VOXFORM_WATCH_TOKEN';

export type PageAddress = Pick<AccessOptions, 'listen' | 'names' | 'proxy' | 'userHeader'>;

/** The address of the page and its trusted proxies; undefined without a page. @throws UserError */
export function pageAddress(flags: PageFlags): PageAddress | undefined {
  const { listen, listenHost = [], trustProxy = [], trustUserHeader: name, trustedRole: role } = flags;
  if (name !== undefined && trustProxy.length === 0) {
    throw new UserError('--trust-user-header needs --trust-proxy', {
      hint: 'Everyone could send this header otherwise. Name the network of the proxy, such as 10.0.0.0/8.',
      exitCode: ExitCode.usage,
    });
  }
  const proxy = new TrustedProxy(trustProxy);
  if (listen === undefined) return undefined;
  return {
    listen: parseListen(listen),
    names: listenHost.map((each) => each.toLowerCase()),
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
