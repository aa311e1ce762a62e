import { type Emulator, type EmulatorOptions, startEmulator } from '../../src/emulator/start-emulator.ts';
import { type CommandResult, command } from '../trust/in-process.ts';
import { type Folder, type Running, type RunOptions, start, temporaryFolder } from './voxform-process.ts';

export const API_KEY = 'key-of-the-test-workspace';

/** A project in a folder, its platform, and the commands that run in that folder. */
export interface TestWorkspace extends AsyncDisposable {
  readonly folder: Folder;
  readonly emulator: Emulator;
  /** Runs the command in this process, which is faster. */
  run(...args: string[]): Promise<CommandResult>;
  /** As `run`, with additional environment variables. */
  runWith(env: Readonly<Record<string, string>>, ...args: string[]): Promise<CommandResult>;
  /** Runs the command in its own process. */
  start(args: readonly string[], options?: Omit<RunOptions, 'cwd'>): Running;
  /** The number of requests that write. */
  writes(): number;
}

export async function testWorkspace(
  files: Readonly<Record<string, string>>,
  options: EmulatorOptions = {},
): Promise<TestWorkspace> {
  const emulator = await startEmulator({ seed: 1, ...options });
  const folder = await temporaryFolder({
    'voxform.yaml': projectFile(emulator),
    ...files,
  });
  const surroundings = (env: Readonly<Record<string, string>> = {}) => ({
    cwd: folder.root,
    env: { VOXFORM_API_KEY: API_KEY, ...env },
  });
  return {
    folder,
    emulator,
    run: (...args) => command(args, surroundings()),
    runWith: (env, ...args) => command(args, surroundings(env)),
    start: (args, { env, ...more } = {}) => start(args, { ...surroundings(env), ...more }),
    writes: () => emulator.requests.filter(({ method }) => method !== 'GET').length,
    async [Symbol.asyncDispose]() {
      await emulator.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}

export function projectFile({ url, workspaceId }: Pick<Emulator, 'url' | 'workspaceId'>, more = ''): string {
  return `version: 1
workspaces:
  test:
    base_url: ${url}
    workspace_id: ${workspaceId}
    api_key: { $secret: VOXFORM_API_KEY }
${more}`;
}

export function agentManifest(name: string, prompt = 'Be kind.'): string {
  return `apiVersion: voxform/v1
kind: Agent
metadata:
  name: ${name}
spec:
  name: ${name}
  prompt_config:
    prompt: ${JSON.stringify(prompt)}
`;
}

export function webhookManifest(name: string, url: string): string {
  return `apiVersion: voxform/v1
kind: Webhook
metadata: { name: ${name} }
spec: { url: "${url}", retries: 3, timeout: 10 }
`;
}
