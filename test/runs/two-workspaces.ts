import { type Emulator, startEmulator } from '../../src/emulator/start-emulator.ts';
import { type Folder, temporaryFolder } from '../cli/voxform-process.ts';
import { type CommandResult, command } from '../trust/in-process.ts';

export interface WorkspaceText {
  /** Additional lines of the workspace in the project file, each indented by four spaces. */
  readonly staging?: string;
  readonly production?: string;
  /** Additional lines of the project file. */
  readonly project?: string;
}

/** A project with a staging and a production workspace, each with its own platform. */
export interface TwoWorkspaces extends AsyncDisposable {
  readonly folder: Folder;
  readonly staging: Emulator;
  readonly production: Emulator;
  run(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<CommandResult>;
  /** Returns the requests to both platforms since the last call. */
  asked(): string[];
}

export const ENV = { STAGING_KEY: 'key-of-staging', PRODUCTION_KEY: 'key-of-production' } as const;

export async function twoWorkspaces(
  manifests: string,
  { staging: first = '', production: second = '', project = '' }: WorkspaceText = {},
): Promise<TwoWorkspaces> {
  const staging = await startEmulator({
    seed: 1,
    workspaceId: '01JEMV1AT0RW0RKSPACE00000A',
    apiKey: ENV.STAGING_KEY,
  });
  const production = await startEmulator({
    seed: 2,
    workspaceId: '01JEMV1AT0RW0RKSPACE00000B',
    apiKey: ENV.PRODUCTION_KEY,
  });
  const place = ({ url, workspaceId }: Emulator, key: string) =>
    `    base_url: ${url}\n    workspace_id: ${workspaceId}\n    api_key: { $secret: ${key} }\n`;
  const folder = await temporaryFolder({
    'voxform.yaml': `version: 1
workspaces:
  staging:
${place(staging, 'STAGING_KEY')}${first}
  production:
${place(production, 'PRODUCTION_KEY')}${second}
${project}`,
    'manifests/all.yaml': manifests,
  });
  return {
    folder,
    staging,
    production,
    run: (args, env = {}) => command(args, { cwd: folder.root, env: { ...ENV, ...env } }),
    asked() {
      const all = [staging, production].flatMap(({ requests }) =>
        requests.map(({ method, path }) => `${method} ${path}`),
      );
      staging.clearRequests();
      production.clearRequests();
      return all;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([staging.close(), production.close()]);
      await folder[Symbol.asyncDispose]();
    },
  };
}
