import { type Command, Option } from 'commander';
import { type Role, roles } from '../operator/roles.ts';
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
      new Option('--trusted-role <role>', 'What users named by the proxy may do').choices(roles).default('viewer'),
    );
}
