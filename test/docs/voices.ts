import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect } from 'vitest';
import type { BehaviourPatch } from '../../src/emulator/behaviour.ts';
import { type Emulator, startEmulator } from '../../src/emulator/start-emulator.ts';
import { type Folder, temporaryFolder } from '../cli/voxform-process.ts';
import { type CommandResult, command } from '../trust/in-process.ts';
import { openPage, type Page } from './page.ts';

interface VoicesOptions {
  readonly seed?: string;
  readonly behaviour?: BehaviourPatch;
  readonly isApplied?: boolean;
  /** The name of its workspace, if not `local`. */
  readonly workspace?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Further strings of the page and their replacements. */
  readonly stands?: Readonly<Record<string, string>>;
}

const KEYS = { LOCAL_API_KEY: 'anything', OPENAI_API_KEY: 'anything' };

/** The project that `voxform init voices` writes, on which the pages are based, and its emulator. */
export class Voices implements AsyncDisposable {
  readonly emulator: Emulator;
  readonly folder: Folder;
  readonly env: Readonly<Record<string, string>>;
  readonly #stands: Readonly<Record<string, string>>;

  static async open({
    seed = '1',
    behaviour,
    isApplied = true,
    workspace = 'local',
    stands = {},
    env = {},
  }: VoicesOptions = {}): Promise<Voices> {
    const emulator = await startEmulator({ seed, behaviour });
    const voices = new Voices(emulator, await temporaryFolder(), { env, stands });
    await voices.run('init', '.');
    await voices.edit('voxform.yaml', 'http://127.0.0.1:4010', emulator.url);
    await voices.edit('voxform.yaml', 'default_workspace: local', `default_workspace: ${workspace}`);
    await voices.edit('voxform.yaml', '  local:', `  ${workspace}:`);
    if (isApplied) await voices.run('apply', '--auto-approve');
    return voices;
  }

  private constructor(
    emulator: Emulator,
    folder: Folder,
    { env, stands }: Required<Pick<VoicesOptions, 'env' | 'stands'>>,
  ) {
    this.emulator = emulator;
    this.folder = folder;
    this.env = { ...KEYS, PATH: process.env.PATH ?? '', HOME: folder.root, ...env };
    this.#stands = { 'http://127.0.0.1:4010': emulator.url, ...stands };
  }

  /** Returns the id of its only agent. */
  get agent(): string {
    return [...this.emulator.world.agents.keys()][0] ?? '';
  }

  page(name: `docs/${string}.md`, section?: string): Page {
    const { folder, env } = this;
    return openPage(name, {
      folder,
      env,
      stands: this.#stands,
      ...(section === undefined ? {} : { section }),
    });
  }

  async run(...args: readonly string[]): Promise<CommandResult> {
    const result = await command(args, { cwd: this.folder.root, env: this.env });
    expect(result, `${args.join(' ')}\n${result.stdout}${result.stderr}`).toMatchObject({ code: 0 });
    return result;
  }

  async fails(...args: readonly string[]): Promise<void> {
    expect(await command(args, { cwd: this.folder.root, env: this.env })).toMatchObject({ code: 1 });
  }

  async edit(name: string, from: string, to: string): Promise<void> {
    const text = await this.read(name);
    expect(text).toContain(from);
    await this.folder.write(name, text.replace(from, to));
  }

  read(name: string): Promise<string> {
    return readFile(path.join(this.folder.root, name), 'utf8');
  }

  /** Changes the agent in the dashboard. */
  drift(temperature: number): void {
    this.emulator.dashboard.edit('agents', this.agent, { llm_config: { temperature } });
  }

  publish(): void {
    this.emulator.dashboard.publishAgent(this.agent);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.emulator.close();
    await this.folder[Symbol.asyncDispose]();
  }
}
