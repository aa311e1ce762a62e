import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs, stripVTControlCharacters } from 'node:util';
import { say, WIDTH, write } from './demo-text.ts';

/*
 * Shows what voxform does, on the quickstart example and with the emulator as the platform. Every step is checked: the
 * exit code is 1 where one does not do what it should.
 *   npm run demo -- [--main FILE]
 * The command is run from source unless another script of it is given.
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
  /** Found in what the command prints. */
  readonly says: RegExp;
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
  say(
    'The draft is as the manifests say. One step is left: publish the agent in the dashboard, because the API cannot.',
  );
} catch (error) {
  process.stderr.write(`\nThe demo failed: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
} finally {
  await stopPlatform(platform);
  rmSync(project, { recursive: true, force: true });
}

async function demonstrate(url: string): Promise<void> {
  say('A project is a folder with a voxform.yaml. First, everything that can be checked offline.');
  await voxform(['validate'], { exitCode: 0, says: /Valid/ });

  say('Policies are rules of your team: apply refuses what they deny.');
  write(`\n$ cat policies.yaml\n${POLICIES}`);
  await voxform(['validate', '--policy', 'policies.yaml'], {
    exitCode: 1,
    says: /webhooks\.yaml.*has-a-team/,
  });

  say('What would an apply do? A plan changes nothing.');
  await voxform(['plan'], { exitCode: 0, says: /3 to create/ });

  say('Do it. Without a terminal to ask, --auto-approve says yes.');
  await voxform(['apply', '--auto-approve'], { exitCode: 0, says: /3 created/ });

  say('Plan again: there is nothing to do.');
  await voxform(['plan', '--detailed-exitcode'], { exitCode: 0, says: /No changes/ });

  const agent = await only(url, 'agents');
  say('Now somebody changes the agent behind the back of Git.');
  const edit = { llm_config: { temperature: 0.9 }, prompt_config: { welcome_message: 'Yes?' } };
  await inDashboard(url, { method: 'PATCH', path: `agents/${agent}`, body: edit });

  say('drift tells what changed since the last apply, and exits with 2 because something did.');
  await voxform(['drift'], { exitCode: 2, says: /temperature/ });

  say('The plan puts it right.');
  await voxform(['plan'], { exitCode: 0, says: /1 to update/ });
  await voxform(['apply', '--auto-approve'], { exitCode: 0, says: /1 updated/ });
  await voxform(['plan', '--detailed-exitcode'], { exitCode: 0, says: /No changes/ });
}

/** Runs the command in the project, shows what it prints, and throws where it does not do what the step says. */
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
  if (!step.says.test(stripVTControlCharacters(text))) {
    throw new Error(`voxform ${args[0]} does not say ${step.says}`);
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
  readonly method: 'GET' | 'POST' | 'PATCH';
  readonly path: string;
  readonly body?: unknown;
}

/** Does by HTTP what a person does in the platform's dashboard. */
async function inDashboard(url: string, { method, path: place, body }: DashboardRequest): Promise<unknown> {
  if (method !== 'GET') write(`\n  ${method} /__emulator/${place}\n  ${JSON.stringify(body)}\n`);
  const answer = await fetch(`${url}/__emulator/${place}`, {
    method,
    headers: { 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  if (!answer.ok) throw new Error(`${method} ${place}: ${answer.status} ${await answer.text()}`);
  return ((await answer.json()) as { readonly data: unknown }).data;
}

/** The id of the one record of a collection. */
async function only(url: string, collection: 'agents'): Promise<string> {
  const { records } = (await inDashboard(url, { method: 'GET', path: 'world' })) as {
    readonly records: Readonly<Record<string, readonly { readonly id: string }[]>>;
  };
  const [record, ...others] = records[collection] ?? [];
  if (record === undefined || others.length > 0) throw new Error(`expected one of the ${collection}`);
  return record.id;
}
