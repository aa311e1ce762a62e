import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs, stripVTControlCharacters } from 'node:util';
import { say, WIDTH, write } from './demo-text.ts';

/*
 * Demonstrates voxform with the quickstart example and the emulator. Checks every step: the exit code is 1 if a step fails.
 *   npm run demo -- [--main FILE]
 * Default of --main: the command from source.
 */

const root = path.resolve(import.meta.dirname, '..');
const { values } = parseArgs({ options: { main: { type: 'string' } } });
const { main = path.join(root, 'src', 'main.ts') } = values;
const project = mkdtempSync(path.join(tmpdir(), 'voxform-demo-'));

const POLICIES = `policies:
  - name: has-a-team
    kind: Webhook
    deny: '!has(labels.team)'
    message: Name the team
`;

interface Step {
  readonly exitCode: number;
  /** Matches the output of the command. */
  readonly output: RegExp;
}

interface Platform {
  readonly url: string;
  readonly process: ChildProcess;
}

const emulatorArguments = ['emulator', '--quiet', '--port', '0', '--seed', 'demo'];
let platform: Platform | undefined;

const interrupted = { SIGINT: 130, SIGTERM: 143 } as const;
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    platform?.process.kill('SIGTERM');
    rmSync(project, { recursive: true, force: true });
    process.exit(interrupted[signal]);
  });
}

try {
  cpSync(path.join(root, 'examples', 'quickstart'), project, { recursive: true });
  writeFileSync(path.join(project, 'policies.yaml'), POLICIES);
  platform = await startPlatform();
  await demonstrate(platform.url);
  say('The draft matches the manifests. One step remains: publish the agent in the dashboard, because the API cannot.');
} catch (error) {
  process.stderr.write(`\nThe demo failed: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
} finally {
  await stopPlatform(platform);
  rmSync(project, { recursive: true, force: true });
}

async function demonstrate(url: string): Promise<void> {
  say('A project is a folder with a voxform.yaml. First, everything that can be checked offline.');
  await voxform(['validate'], { exitCode: 0, output: /Valid/ });

  say('Policies are rules of your team. An apply refuses the changes that they deny.');
  write(`\n$ cat policies.yaml\n${POLICIES}`);
  await voxform(['validate', '--policy', 'policies.yaml'], {
    exitCode: 1,
    output: /webhooks\.yaml.*has-a-team/,
  });

  say('What would an apply do? A plan changes nothing.');
  await voxform(['plan'], { exitCode: 0, output: /3 to create/ });

  say('Apply it. --auto-approve skips the confirmation, which needs a terminal.');
  await voxform(['apply', '--auto-approve'], { exitCode: 0, output: /3 created/ });

  say('Plan again: there is nothing to do.');
  await voxform(['plan', '--detailed-exitcode'], { exitCode: 0, output: /No changes/ });

  const agent = await agentId(url);
  say('Now somebody changes the agent in the dashboard.');
  const edit = { llm_config: { temperature: 0.9 }, prompt_config: { welcome_message: 'Yes?' } };
  await inDashboard(url, { method: 'PATCH', path: `agents/${agent}`, body: edit });

  say('drift lists the changes since the last apply, and exits with 2 if there are any.');
  await voxform(['drift'], { exitCode: 2, output: /temperature/ });

  say('The plan reverts the change.');
  await voxform(['plan'], { exitCode: 0, output: /1 to update/ });
  await voxform(['apply', '--auto-approve'], { exitCode: 0, output: /1 updated/ });
  await voxform(['plan', '--detailed-exitcode'], { exitCode: 0, output: /No changes/ });
}

/** Runs a command in the project, and prints its output. Throws if the exit code or the output differs from the step. */
async function voxform(args: readonly string[], step: Step): Promise<void> {
  write(`\n$ voxform ${args.join(' ')}\n`);
  const child = spawn(process.execPath, [main, ...args], {
    cwd: project,
    env: environment(),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (part: string) => {
      text += part;
      write(part);
    });
  }
  const [exitCode] = (await once(child, 'close')) as [number | null];
  if (exitCode !== step.exitCode) {
    throw new Error(`voxform ${args[0]} ended with ${exitCode}, not ${step.exitCode}`);
  }
  if (!step.output.test(stripVTControlCharacters(text))) {
    throw new Error(`voxform ${args[0]} does not print ${step.output}`);
  }
}

function environment(): NodeJS.ProcessEnv {
  const { VOXFORM_WORKSPACE: _workspace, VOXFORM_WORKSPACE_ID: _id, ...env } = process.env;
  return {
    ...env,
    XDG_STATE_HOME: path.join(project, '.state-home'),
    XDG_CACHE_HOME: path.join(project, '.cache-home'),
    VOXFORM_BASE_URL: platform?.url,
    LOCAL_API_KEY: 'key-of-the-demo',
    OPENAI_API_KEY: 'key-of-the-model',
    COLUMNS: String(WIDTH),
    ...(process.stdout.isTTY && { FORCE_COLOR: '1' }),
  };
}

async function startPlatform(): Promise<Platform> {
  write(`$ voxform ${emulatorArguments.join(' ')} &\n`);
  const child = spawn(process.execPath, [main, ...emulatorArguments], {
    cwd: project,
    env: environment(),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /http:\/\/[\w.:]+\d/.exec(line)?.[0];
    if (url === undefined) continue;
    write(`Emulator listening on ${url}.\n`);
    return { url, process: child };
  }
  throw new Error('the emulator did not start');
}

async function stopPlatform(running: Platform | undefined): Promise<void> {
  if (running === undefined || running.process.exitCode !== null) return;
  const closed = once(running.process, 'close');
  running.process.kill('SIGTERM');
  await closed;
}

interface DashboardRequest {
  readonly method: 'GET' | 'PATCH';
  readonly path: string;
  readonly body?: unknown;
}

/** Sends an action of the platform's dashboard to the emulator. */
async function inDashboard(url: string, { method, path: name, body }: DashboardRequest): Promise<unknown> {
  if (method !== 'GET') write(`\n  ${method} /__emulator/${name}\n  ${JSON.stringify(body)}\n`);
  const response = await fetch(`${url}/__emulator/${name}`, {
    method,
    headers: { 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${method} ${name}: ${response.status} ${await response.text()}`);
  return ((await response.json()) as { readonly data: unknown }).data;
}

/** Returns the id of the only agent. */
async function agentId(url: string): Promise<string> {
  const { records } = (await inDashboard(url, { method: 'GET', path: 'world' })) as {
    readonly records: Readonly<Record<string, readonly { readonly id: string }[]>>;
  };
  const [record, ...others] = records.agents ?? [];
  if (record === undefined || others.length > 0) throw new Error('expected exactly one agent');
  return record.id;
}
