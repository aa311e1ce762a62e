import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startEmulator } from '../../src/emulator/start-emulator.ts';
import { type CommandResult, command } from './in-process.ts';

export const MANIFESTS = `apiVersion: voxform/v1
kind: Agent
metadata: { name: a, labels: { team: x }, ignore_drift: [tts_config.speed] }
spec:
  name: &name Support
  llm_config: { model: gpt, temperature: 0.2, tools: [{ type: http, headers: { authorization: { $join: [Bearer, { $secret: TOKEN }] } } }] }
  prompt_config: { prompt: "Be nice.", welcome_message: { $join: [*name, { $env: X, default: y }] } }
  tts_config: { speed: "1", backchannel_words: [yes, ja] }
---
apiVersion: voxform/v1
kind: PhoneNumber
metadata: { name: n }
spec: { number: "+4930123", nickname: Line, inbound_agent_id: { $ref: Agent/a } }
---
apiVersion: voxform/v1
kind: Webhook
metadata: { name: h, replace: allow }
spec: { url: https://example.com/h, payload: { data: { a: [1, { b: null }] } }, retries: 3 }
---
apiVersion: voxform/v1
kind: WorkspaceUser
metadata: { name: u }
spec: { email: ann@example.com, role: member, agent_ids: [{ $ref: Agent/a }] }
`;

/**
 * More requests than any command on this project needs: a read of each record, a page of each list, a write each, and
 * repeated pages.
 */
const MOST_REQUESTS = 100;

const STATE = '.voxform/test.state.json';
const EDITED = MANIFESTS.replace('Be nice.', 'Be nicer.').replace('retries: 3', 'retries: 4');

/** A request without its query, e.g. `GET /api/v1/numbers`. */
export type RequestKey = string;
export type Answerer = (key: RequestKey, recorded: unknown) => { readonly status: number; readonly body: Buffer };

/**
 * A project that was applied once and edited since, and a server that repeats the platform's responses, or the changes
 * that `answerer` makes to them.
 */
export class FuzzGround implements AsyncDisposable {
  readonly root = realpathSync(mkdtempSync(path.join(tmpdir(), 'voxform-fuzz-')));
  answerer: Answerer | undefined;
  /** The number of requests of the last command. */
  requests = 0;
  readonly #recorded = new Map<RequestKey, { readonly status: number; readonly body: unknown }>();
  readonly #files = new Map<string, string>();
  readonly #server: Server;
  #forwardTo: string | undefined;

  static async open(): Promise<FuzzGround> {
    await using emulator = await startEmulator({ seed: 'fuzz' });
    emulator.dashboard.inviteUser({ email: 'ann@example.com' });
    const ground = new FuzzGround(emulator.url);
    await ground.#listen();
    ground.#keep(
      'voxform.yaml',
      `version: 1
manifests: ["manifests/*.yaml"]
default_workspace: test
workspaces:
  test:
    base_url: ${ground.url}
    workspace_id: ${emulator.workspaceId}
    api_key: { $secret: KEY }
    vars: { company: Acme }
    patches: { Agent/a: { llm_config: { temperature: 0.3 } } }
    skip: [Webhook/none*]
defaults: { Agent: { stt_config: { provider: deepgram } } }
limits: { concurrency: 2, timeout_seconds: 30 }
guards: { max_changed_percent: 100, min_resources: 10 }
`,
    );
    ground.#keep('manifests/all.yaml', MANIFESTS);
    await ground.#must(['apply', '--auto-approve']);
    await ground.#must(['plan']);
    ground.#keep('manifests/all.yaml', EDITED);
    await ground.#must(['plan', '--out', 'saved.plan']);
    for (const file of [STATE, 'saved.plan']) ground.#files.set(file, ground.read(file));
    await ground.#must(['apply', '--auto-approve']);
    ground.#forwardTo = undefined;
    return ground;
  }

  private constructor(platform: string) {
    this.#forwardTo = platform;
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch(() => response.destroy());
    });
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Returns a file in its initial version. */
  original(file: 'voxform.yaml' | 'manifests/all.yaml' | 'saved.plan' | 'state'): string {
    return this.#files.get(file === 'state' ? STATE : file) ?? '';
  }

  /** The recorded responses, by request. */
  get answers(): ReadonlyMap<RequestKey, unknown> {
    return new Map([...this.#recorded].map(([key, { body }]) => [key, body]));
  }

  read(file: string): string {
    return readFileSync(path.join(this.root, file), 'utf8');
  }

  /** Runs a command on the project in its initial version, with these files replaced. */
  async run(
    args: readonly string[],
    files: Readonly<Record<string, string | Uint8Array>> = {},
  ): Promise<CommandResult> {
    rmSync(path.join(this.root, '.voxform'), { recursive: true, force: true });
    for (const [file, text] of [...this.#files, ...Object.entries(files)]) {
      const target = path.join(this.root, file === 'state' ? STATE : file === 'journal' ? `${STATE}.journal` : file);
      mkdirSync(path.dirname(target), { recursive: true });
      writeFileSync(target, text);
    }
    return this.#command(args);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
    rmSync(this.root, { recursive: true, force: true });
  }

  #command(args: readonly string[]): Promise<CommandResult> {
    this.requests = 0;
    return command(args, { cwd: this.root, env: { KEY: 'key-of-the-fuzz', TOKEN: 'token-of-the-fuzz' } });
  }

  async #must(args: readonly string[]): Promise<void> {
    const { code, stdout, stderr } = await this.#command(args);
    if (code !== 0) throw new Error(`voxform ${args.join(' ')}: ${stdout}${stderr}`);
  }

  #keep(file: string, text: string): void {
    this.#files.set(file, text);
    mkdirSync(path.dirname(path.join(this.root, file)), { recursive: true });
    writeFileSync(path.join(this.root, file), text);
  }

  #listen(): Promise<void> {
    return new Promise((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { method = 'GET', url = '/' } = request;
    const key = `${method} ${url.split('?', 1)[0]}`;
    const headers = { 'content-type': 'application/json' };
    if (this.#forwardTo !== undefined) {
      const body = Buffer.concat(chunks);
      const init = { method, headers: { ...headers, authorization: 'Bearer x' } };
      const real = await fetch(this.#forwardTo + url, body.length === 0 ? init : { ...init, body });
      const said: unknown = await real.json();
      this.#recorded.set(key, { status: real.status, body: said });
      response.writeHead(real.status, headers).end(JSON.stringify(said));
      return;
    }
    if (++this.requests > MOST_REQUESTS) {
      response.writeHead(400).end('asked too often');
      return;
    }
    const recorded = this.#recorded.get(key);
    const { status, body } = recorded ?? { status: 404, body: { message: 'Not found' } };
    const changed = this.answerer?.(key, body) ?? { status, body: Buffer.from(JSON.stringify(body)) };
    response.writeHead(changed.status, headers).end(changed.body);
  }

  /** Whether the last command sent more requests than any command needs. */
  get askedTooOften(): boolean {
    return this.requests > MOST_REQUESTS;
  }
}
