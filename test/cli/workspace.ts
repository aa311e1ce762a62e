import { type Emulator, type EmulatorOptions, startEmulator } from '../../src/emulator/start.ts';
import { type Ended, type Folder, type Running, start, temporaryFolder } from './voxform-process.ts';

export const API_KEY = 'key-of-the-test-workspace';

/** A project in a folder, the platform that it is for, and the command run in that folder. */
export interface TestWorkspace extends AsyncDisposable {
  readonly folder: Folder;
  readonly emulator: Emulator;
  run(...args: string[]): Promise<Ended>;
  start(args: readonly string[], options?: { readonly env?: Readonly<Record<string, string>> }): Running;
  /** How often a request that writes has arrived. */
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
  const begin: TestWorkspace['start'] = (args, { env } = {}) =>
    start(args, { cwd: folder.root, env: { VOXFORM_API_KEY: API_KEY, ...env } });
  return {
    folder,
    emulator,
    start: begin,
    run: (...args) => begin(args).ended,
    writes: () => emulator.requests.filter(({ method }) => method !== 'GET').length,
    async [Symbol.asyncDispose]() {
      await emulator.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}

export function projectFile({ url, workspaceId }: Emulator, more = ''): string {
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
