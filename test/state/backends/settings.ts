import { onTestFinished } from 'vitest';
import type { StateBackend } from '../../../src/state/backends/backend.ts';
import { backends } from '../../../src/state/backends/index.ts';
import { azuriteContainer, hasAzurite } from './azure/azurite.ts';
import { newRepository } from './git/git-server.ts';
import { TerraformServer } from './http/terraform-server.ts';
import { freshPlace } from './postgres/postgres-server.ts';
import { S3Server } from './s3/s3-server.ts';

/** Backends that can be tested on this machine. */
export const testableBackends: Readonly<Record<string, StateBackend>> = Object.fromEntries(
  Object.entries(backends).filter(([name]) => name !== 'azure' || hasAzurite),
);

type Given = (root: string) => object | Promise<object>;

/** What a backend needs to open an empty location. The other backends need nothing. */
const given: Readonly<Record<string, Given>> = {
  git: (root) => {
    newRepository(root);
    return {};
  },
  postgres: freshPlace,
  async http() {
    const server = await TerraformServer.start();
    onTestFinished(() => server[Symbol.asyncDispose]());
    return server.settings();
  },
  azure: azuriteContainer,
  async s3() {
    const server = await S3Server.start();
    onTestFinished(() => server[Symbol.asyncDispose]());
    return server.settings();
  },
};

export async function settingsOf(name: string, root: string): Promise<object> {
  return (await given[name]?.(root)) ?? {};
}
