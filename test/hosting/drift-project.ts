import { execFileSync } from 'node:child_process';
import { mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { type Emulator, startEmulator } from '../../src/emulator/start-emulator.ts';
import type { Json } from '../../src/values/json.ts';
import { type Folder, temporaryFolder } from '../cli/voxform-process.ts';
import { API_KEY, projectFile } from '../cli/workspace.ts';
import { type CommandResult, command } from '../trust/in-process.ts';
import { type CodeHostFake, TOKEN } from './code-host-fake.ts';
import { FakeGithub } from './fake-github.ts';
import { FakeGitlab } from './fake-gitlab.ts';

export const hosts = { github: FakeGithub, gitlab: FakeGitlab };

export type HostName = keyof typeof hosts;

export const hostNames = Object.keys(hosts) as HostName[];

export const AGENTS = `# Our agents
apiVersion: voxform/v1
kind: Agent
metadata: { name: day }
spec:
  name: Day   # shown in the dashboard
  llm_config:
    temperature: 0.5 # not too warm
    api_key: { $secret: LLM_KEY }
  prompt_config:
    prompt: { $file: ../prompts/day.md }
---
apiVersion: voxform/v1
kind: Agent
metadata: { name: night }
spec:
  name: { $var: company }
  prompt_config: { prompt: Be quiet. }
`;

interface DriftOptions {
  /** The folder of the project in the repository. */
  readonly folder?: string;
  /** Additional `pull_requests` settings in the project file. */
  readonly settings?: string;
  readonly files?: Readonly<Record<string, string>>;
  /** False if the platform is empty. */
  readonly isApplied?: boolean;
}

export const SECRETS = {
  VOXFORM_API_KEY: API_KEY,
  LLM_KEY: 'a-long-secret-key',
  GITHUB_TOKEN: TOKEN,
  GITLAB_TOKEN: TOKEN,
};

/** A project in a repository on a host, applied to its platform, and a person's clone of it. */
export class DriftProject implements AsyncDisposable {
  readonly host: CodeHostFake;
  readonly emulator: Emulator;
  readonly home: Folder;
  readonly #folder: string;

  static async open(
    name: HostName,
    { folder = '', settings = '', files = {}, isApplied = true }: DriftOptions = {},
  ): Promise<DriftProject> {
    const emulator = await startEmulator({ seed: 1 });
    const project = {
      'voxform.yaml': `${projectFile(emulator, '    vars: { company: Acme }\n')}pull_requests: { host: ${name}${settings} }\n`,
      'manifests/agents.yaml': AGENTS,
      'prompts/day.md': 'Be kind.\n',
      ...files,
    };
    const placed = Object.entries(project).map(([file, text]) => [path.posix.join(folder, file), text]);
    const host = await hosts[name].start({ '.gitignore': '.voxform/\n', ...Object.fromEntries(placed) });
    const home = await temporaryFolder();
    const opened = new DriftProject({ host, emulator, home, folder });
    host.repository.cloneTo(opened.clone, host.remote.replace('//', `//ci:${TOKEN}@`));
    if (isApplied) await opened.sure('apply', '--auto-approve');
    return opened;
  }

  private constructor(of: { host: CodeHostFake; emulator: Emulator; home: Folder; folder: string }) {
    this.host = of.host;
    this.emulator = of.emulator;
    this.home = of.home;
    this.#folder = of.folder;
  }

  get clone(): string {
    return path.join(this.home.root, 'clone');
  }

  /** The folder of the project. */
  get root(): string {
    return path.join(this.clone, this.#folder);
  }

  git(...args: string[]): string {
    return execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();
  }

  /** Updates the clone to the merged commits. */
  pull(): void {
    this.host.repository.pullInto(this.clone);
  }

  run(...args: string[]): Promise<CommandResult> {
    return this.runWith({}, ...args);
  }

  runWith(env: Readonly<Record<string, string>>, ...args: string[]): Promise<CommandResult> {
    const { PATH = '' } = process.env;
    return command(args, { cwd: this.root, env: { PATH, ...SECRETS, ...env } });
  }

  async sure(...args: string[]): Promise<CommandResult> {
    const result = await this.run(...args);
    if (result.code !== 0)
      throw new Error(`voxform ${args.join(' ')}: ${result.code}\n${result.stdout}${result.stderr}`);
    return result;
  }

  /** Updates the drift request of the workspace. */
  accept(...flags: string[]): Promise<CommandResult> {
    return this.run('accept', '--pull-request', '--auto-approve', ...flags);
  }

  /** Edits a record as a user of the dashboard. */
  edit(name: 'day' | 'night', patch: { readonly [field: string]: Json }): void {
    const id = [...this.emulator.world.agents.values()].find((agent) =>
      [name, NAMES[name]].some((each) => agent.name.startsWith(each)),
    )?.id;
    this.emulator.dashboard.edit('agents', id ?? '', patch);
  }

  /** Returns a file of the project on a branch. */
  text(branch: string, file: string): string | undefined {
    return this.host.repository.text(`refs/heads/${branch}`, path.posix.join(this.#folder, file));
  }

  read(file: string): Promise<string> {
    return readFile(path.join(this.root, file), 'utf8');
  }

  async folder(name: string): Promise<string> {
    const folder = path.join(this.home.root, name);
    await mkdir(folder, { recursive: true });
    return folder;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.emulator.close();
    await this.host[Symbol.asyncDispose]();
    await this.home[Symbol.asyncDispose]();
  }
}

const NAMES = { day: 'Day', night: 'Acme' };
