import { createHash } from 'node:crypto';
import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { type CallToolResult, Client, type ClientOptions } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { inject } from 'vitest';
import { isObject } from '../../../src/values/json.ts';
import { API_KEY, type TestWorkspace } from '../workspace.ts';

interface Starting {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly options?: ClientOptions;
}

type CallOptions = NonNullable<Parameters<Client['callTool']>[1]>;

/** Runs the built command with the client of the SDK. */
export class TestAssistant implements AsyncDisposable {
  readonly client: Client;
  readonly transport: StdioClientTransport;
  stderr = '';

  private constructor(root: string, { args = [], env, options }: Starting) {
    this.client = new Client({ name: 'test', version: '1' }, options);
    this.transport = new StdioClientTransport({
      command: process.execPath,
      args: [path.join(inject('built'), 'main.js'), 'mcp', ...args],
      cwd: root,
      env: { PATH: process.env.PATH ?? '', HOME: root, VOXFORM_API_KEY: API_KEY, ...CACHES, ...env },
      stderr: 'pipe',
    });
    this.transport.stderr?.on('data', (text: Buffer) => {
      this.stderr += text.toString();
    });
  }

  static async open({ folder }: Pick<TestWorkspace, 'folder'>, starting: Starting = {}): Promise<TestAssistant> {
    const assistant = new TestAssistant(folder.root, starting);
    await assistant.client.connect(assistant.transport);
    return assistant;
  }

  async call(
    name: string,
    args: Readonly<Record<string, unknown>> = {},
    options: CallOptions = {},
  ): Promise<CallToolResult> {
    return this.client.callTool({ name, arguments: { ...args } }, options);
  }

  /** Calls a tool that must succeed and returns its result. */
  async result(name: string, args: Readonly<Record<string, unknown>> = {}, options: CallOptions = {}) {
    const { isError, content, structuredContent } = await this.call(name, args, options);
    if (isError || !isObject(structuredContent)) throw new Error(`${name}: ${JSON.stringify(content)}`);
    return structuredContent as { readonly result: never; readonly [part: string]: unknown };
  }

  /** Calls a tool that must fail and returns its error. */
  async error(name: string, args: Readonly<Record<string, unknown>> = {}) {
    const answer = await this.call(name, args);
    if (!answer.isError) throw new Error(`${name} did not fail: ${textIn(answer)}`);
    return JSON.parse(textIn(answer)).error as Readonly<Record<string, unknown>>;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.close();
  }
}

const CACHES = {
  XDG_CACHE_HOME: path.join(inject('built'), 'caches'),
  XDG_STATE_HOME: path.join(inject('built'), 'states'),
};

export function textIn({ content }: CallToolResult): string {
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

/** Returns every file of a folder with its modification time and a hash of its content. */
export function filesIn(root: string): Readonly<Record<string, string>> {
  const files = globSync('**/{.*,*}', { cwd: root }).filter((file) => existsSync(path.join(root, file)));
  return Object.fromEntries(
    files.map((file) => {
      const status = statSync(path.join(root, file));
      const content = status.isFile() ? readFileSync(path.join(root, file)) : '';
      return [file, `${status.mtimeMs} ${createHash('sha256').update(content).digest('hex')}`];
    }),
  );
}
