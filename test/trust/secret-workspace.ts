import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { EchoPlatform } from './echo-platform.ts';
import { type CommandResult, command } from './in-process.ts';
import { API_KEY, leakIn, places } from './planted-secrets.ts';

const DATA_FILE = 'data.json';

const MANIFESTS = `apiVersion: voxform/v1
kind: Agent
metadata: { name: a }
spec:
  name: { $join: [Line, { $var: opening }], separator: ": " }
  llm_config:
    model: gpt
    api_key: { $secret: LLM_KEY }
    tools:
      - type: http
        headers: { Authorization: { $join: [Bearer, { $secret: HEADER }], separator: " " } }
        client_key: { $secret: PEM }
  prompt_config:
    prompt: { $join: [{ $file: prompt.md }, { $secret: PROMPT }, { $var: signature }] }
---
apiVersion: voxform/v1
kind: Webhook
metadata: { name: hook }
spec:
  url: { $join: ["https://example.com/hook", { $secret: URL_TOKEN }], separator: / }
  payload: { data: { auth: { $secret: PAYLOAD }, list: [{ $var: signature }] } }
---
apiVersion: voxform/v1
kind: PhoneNumber
metadata: { name: line }
spec: { number: "+4930123456", nickname: { $var: opening }, inbound_agent_id: { $ref: Agent/a } }
---
apiVersion: voxform/v1
kind: WorkspaceUser
metadata: { name: someone }
spec: { email: { $join: [{ $env: MAILBOX, default: someone }, example.com], separator: "@" }, role: member, agent_ids: [{ $ref: Agent/a }] }
`;

/** As many secrets as a failure needs, because each costs a slow hash in every run. */
const FEW = `apiVersion: voxform/v1
kind: Agent
metadata: { name: a }
spec:
  name: a
  llm_config: { api_key: { $secret: LLM_KEY }, tools: [{ authorization: { $secret: HEADER } }] }
  prompt_config: { prompt: { $join: [Be kind., { $secret: PROMPT }] } }
---
apiVersion: voxform/v1
kind: Webhook
metadata: { name: hook }
spec: { url: "https://example.com", payload: { data: { auth: { $secret: PAYLOAD } } } }
`;

/** A project full of secrets, with a platform that repeats everything that it receives. */
export class SecretWorkspace implements AsyncDisposable {
  readonly root = realpathSync(mkdtempSync(path.join(tmpdir(), 'voxform-trust-')));
  readonly platform: EchoPlatform;
  /** The secrets in the environment. The others are in files. */
  readonly env: Record<string, string> = {};

  static async open({ few = false }: { readonly few?: boolean } = {}): Promise<SecretWorkspace> {
    const elsewhere = mkdtempSync(path.join(tmpdir(), 'voxform-platform-'));
    const platform = await EchoPlatform.start(path.join(elsewhere, DATA_FILE));
    const workspace = new SecretWorkspace(platform, elsewhere);
    if (few) workspace.write({ 'manifests/all.yaml': FEW });
    return workspace;
  }

  readonly #elsewhere: string;

  private constructor(platform: EchoPlatform, elsewhere: string) {
    this.platform = platform;
    this.#elsewhere = elsewhere;
    for (const { name, text } of [API_KEY, ...Object.values(places)]) {
      if (name === 'FILED' || name === 'PEM') this.write({ [`secrets/${name}`]: `${text}\n` });
      else this.env[name] = text;
    }
    this.write({
      'voxform.yaml': `version: 1
workspaces:
  test:
    base_url: ${platform.url}
    workspace_id: ${platform.emulator.workspaceId}
    api_key: { $secret: API_KEY }
    secrets_dir: secrets
    vars:
      signature: { $secret: VARIABLE }
      opening: { $secret: FILED }
`,
      'manifests/all.yaml': MANIFESTS,
      'manifests/prompt.md': 'Be kind.\n',
    });
  }

  /** Creates a state without secrets. Without a state, each plan has a new salt and hashes all secrets again. */
  async begin(): Promise<void> {
    this.write({
      'manifests/first.yaml': 'apiVersion: voxform/v1\nkind: Agent\nmetadata: { name: first }\nspec: { name: x }\n',
    });
    const { code, stderr } = await this.run(['apply', '--auto-approve', '--target', 'Agent/first']);
    if (code !== 0) throw new Error(stderr);
  }

  write(files: Readonly<Record<string, string>>): void {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(path.dirname(path.join(this.root, name)), { recursive: true });
      writeFileSync(path.join(this.root, name), text);
    }
  }

  run(
    args: readonly string[],
    options: { readonly now?: () => Date; readonly until?: RegExp | undefined } = {},
  ): Promise<CommandResult> {
    return command(args, { cwd: this.root, env: this.env, ...options });
  }

  /** Returns all files of the project except the secrets, by path. Manifests contain no literal secret either. */
  written(): Map<string, string> {
    return new Map([...contentsOf(this.root)].filter(([name]) => !/^secrets\b/.test(name)));
  }

  /** Returns the world in the platform's file, with everything that it received. */
  async platformKeeps(): Promise<string> {
    await this.platform[Symbol.asyncDispose]();
    return readFileSync(path.join(this.#elsewhere, DATA_FILE), 'utf8');
  }

  /**
   * Stops the platform, and returns the positions of secrets in all written files; in the platform's file, only of
   * provider keys.
   */
  async leaksInFiles(): Promise<string[]> {
    await this.platform[Symbol.asyncDispose]();
    const leaks = [...this.written()].flatMap(([name, text]) => leaksIn(name, leakIn(text)));
    const kept = contentsOf(this.#elsewhere);
    if (!kept.has(DATA_FILE)) throw new Error('the platform wrote no file');
    const hidden = [API_KEY, places.llmKey];
    return [...leaks, ...[...kept].flatMap(([name, text]) => leaksIn(`the platform's ${name}`, leakIn(text, hidden)))];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.platform[Symbol.asyncDispose]();
    rmSync(this.root, { recursive: true, force: true });
    rmSync(this.#elsewhere, { recursive: true, force: true });
  }
}

/** Returns all files of a folder, by path. */
function contentsOf(folder: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const file = path.join(folder, name);
    if (statSync(file).isFile()) found.set(name, readFileSync(file, 'utf8'));
  }
  return found;
}

function leaksIn(where: string, leak: string | undefined): string[] {
  return leak === undefined ? [] : [`${where}: ${leak}`];
}
