import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type Contexts, filled, isDue } from './expressions.ts';
import { type GithubHost, IDENTITY_REQUEST, type Permissions, REPOSITORY, REPOSITORY_ID } from './github-host.ts';
import type { Repository } from './repository.ts';
import { action, COPY, linesOf, root, type Step, type Workflow, written } from './workflow.ts';

/** The event that starts a run. */
export interface Trigger {
  readonly event: 'pull_request' | 'push' | 'workflow_dispatch' | 'schedule';
  /** For example `main` or `1/merge`. */
  readonly refName: string;
  readonly ref: string;
  readonly sha: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

export interface JobEnd {
  readonly result: 'success' | 'failure' | 'skipped';
  readonly outputs: Readonly<Record<string, string>>;
  /** The output of all steps. */
  readonly log: string;
  readonly summary: string;
  readonly masks: readonly string[];
  readonly workspace: string;
}

type Texts = Readonly<Record<string, string>>;

interface StepResult {
  readonly outcome: 'success' | 'failure' | 'skipped';
  readonly outputs: Texts;
}

interface Scope {
  readonly contexts: Contexts;
  readonly env: Texts;
  readonly steps: readonly Step[];
}

/** The part of the host that a runner uses. */
type JobHost = Pick<GithubHost, 'url' | 'nextId' | 'tokenFor' | 'artifacts'>;

/**
 * Runs workflows like GitHub, as far as the kit uses it: jobs in order, steps as processes,
 * and simple replacements for third-party actions.
 */
export class GithubRunner {
  readonly #host: JobHost;
  readonly #repository: Repository;
  readonly #secrets: Texts;
  /** Receives the output of steps as they print it. */
  onLog: (text: string) => void = () => undefined;
  /** Receives the inputs of an attestation. */
  onAttest: (inputs: Texts) => void = () => undefined;

  constructor(host: JobHost, repository: Repository, secrets: Texts) {
    this.#host = host;
    this.#repository = repository;
    this.#secrets = secrets;
  }

  /** Runs all jobs, or only those in `only`, and returns their results by name. */
  async run(
    workflow: Workflow,
    trigger: Trigger,
    ...only: readonly (string | undefined)[]
  ): Promise<Readonly<Record<string, JobEnd>>> {
    const ends: Record<string, JobEnd> = {};
    const runId = this.#host.nextId();
    for (const [name, job] of Object.entries(workflow.jobs)) {
      if (only.some((each) => each !== undefined) && !only.includes(name)) continue;
      const before = job.needs === undefined ? undefined : ends[job.needs];
      const permissions = job.permissions ?? workflow.permissions ?? {};
      const onLog = (text: string) => this.onLog(text);
      const onAttest = (inputs: Texts) => this.onAttest(inputs);
      const running = new RunningJob(this.#host, this.#repository, { trigger, runId, permissions, onLog, onAttest });
      const contexts = {
        github: running.github,
        secrets: this.#secrets,
        needs: before === undefined ? {} : { [job.needs ?? '']: before },
      };
      // For `success()`, a skipped job counts as a failure.
      const isReady = before === undefined || before.result === 'success';
      if (!isDue(job.if, contexts, { failed: !isReady })) {
        ends[name] = { result: 'skipped', outputs: {}, log: '', summary: '', masks: [], workspace: '' };
        continue;
      }
      const env = { ...workflow.env };
      ends[name] = await running.carryOut({ contexts, env, steps: job.steps }, job.outputs ?? {});
    }
    return ends;
  }
}

interface Start {
  readonly trigger: Trigger;
  readonly runId: number;
  readonly permissions: Permissions;
  readonly onLog: (text: string) => void;
  readonly onAttest: (inputs: Texts) => void;
}

class RunningJob {
  readonly github: Readonly<Record<string, unknown>>;
  readonly #host: JobHost;
  readonly #repository: Repository;
  readonly #trigger: Trigger;
  readonly #runId: number;
  readonly #temp: string;
  readonly #workspace: string;
  readonly #summary: string;
  readonly #onLog: (text: string) => void;
  readonly #onAttest: (inputs: Texts) => void;
  readonly #permissions: Permissions;
  /** Variables that steps set for later steps. */
  readonly #set: Record<string, string> = {};
  /** Folders that steps added to the path, in reverse order. */
  readonly #added: string[] = [];
  #log = '';

  constructor(host: JobHost, repository: Repository, { trigger, runId, permissions, onLog, onAttest }: Start) {
    this.#host = host;
    this.#repository = repository;
    this.#trigger = trigger;
    this.#runId = runId;
    this.#onLog = onLog;
    this.#onAttest = onAttest;
    this.#permissions = permissions;
    this.#temp = mkdtempSync(path.join(repository.folder, 'job-'));
    this.#workspace = path.join(this.#temp, 'work');
    this.#summary = path.join(this.#temp, 'summary');
    mkdirSync(this.#workspace);
    writeFileSync(path.join(this.#temp, 'event.json'), JSON.stringify(trigger.payload));
    this.github = {
      event_name: trigger.event,
      event: trigger.payload,
      repository: REPOSITORY,
      ref_name: trigger.refName,
      sha: trigger.sha,
      run_id: runId,
      run_attempt: 1,
      token: host.tokenFor(permissions),
      action_path: root,
    };
  }

  async carryOut(scope: Scope, outputs: Texts): Promise<JobEnd> {
    const { failed, contexts } = await this.#steps(scope);
    return {
      result: failed ? 'failure' : 'success',
      outputs: mapped(outputs, (text) => filled(text, contexts, { failed })),
      log: this.#log,
      summary: existsSync(this.#summary) ? readFileSync(this.#summary, 'utf8') : '',
      masks: [...this.#log.matchAll(/^::add-mask::(.*)$/gm)].map(([, mask = '']) => mask),
      workspace: this.#workspace,
    };
  }

  async #steps({ contexts, env, steps }: Scope): Promise<{ failed: boolean; contexts: Contexts }> {
    const results: Record<string, StepResult> = {};
    const seen = { ...contexts, steps: results };
    let failed = false;
    for (const step of steps) {
      const due = isDue(step.if, seen, { failed });
      const result: StepResult = due
        ? await this.#step(step, { contexts: seen, env, failed })
        : { outcome: 'skipped', outputs: {} };
      if (step.id !== undefined) results[step.id] = result;
      failed ||= result.outcome === 'failure';
    }
    return { failed, contexts: seen };
  }

  async #step(
    step: Step,
    { contexts, env, failed }: { readonly contexts: Contexts; readonly env: Texts; readonly failed: boolean },
  ): Promise<StepResult> {
    const fill = (text: string) => filled(String(text), contexts, { failed });
    const own = { ...env, ...mapped(step.env ?? {}, fill) };
    const inputs = mapped(step.with ?? {}, fill);
    if (step.run !== undefined) {
      return this.#shell(fill(step.run), own, fill(step['working-directory'] ?? '.'));
    }
    const [name = '', ref = ''] = (step.uses ?? '').split('@');
    if (!/^[a-z\d-]+\/[\w.-]+$/i.test(name) || !/^[\da-f]{40}$/.test(ref)) {
      throw new Error(`GitHub finds no such action, or another one later: ${step.uses}`);
    }
    if (name === COPY.split('@')[0]) return this.#composite(inputs, own);
    const outcome = this.#thirdParty(name, inputs) ? 'success' : 'failure';
    return { outcome, outputs: {} };
  }

  /** Runs the action itself, with an installed voxform. */
  async #composite(given: Texts, env: Texts): Promise<StepResult> {
    const own = { contexts: { github: this.github }, status: { failed: false } };
    const unknown = Object.keys(given).filter((name) => !(name in action.inputs));
    if (unknown.length > 0) throw new Error(`the action has no input ${unknown.join(', ')}`);
    const inputs = {
      ...Object.fromEntries(
        Object.entries(action.inputs).map(([name, { default: text = '' }]) => [
          name,
          filled(text, own.contexts, own.status),
        ]),
      ),
      ...given,
      voxform: 'path',
    };
    const { failed, contexts } = await this.#steps({
      contexts: { github: this.github, inputs },
      env,
      steps: action.runs.steps,
    });
    const outputs = Object.fromEntries(
      Object.entries(action.outputs).map(([name, { value }]) => [name, filled(value, contexts, { failed })]),
    );
    return { outcome: failed ? 'failure' : 'success', outputs };
  }

  async #shell(script: string, env: Texts, folder: string): Promise<StepResult> {
    const place = mkdtempSync(path.join(this.#temp, 'step-'));
    const file = path.join(place, 'script.sh');
    writeFileSync(file, script);
    const machine = this.#repository.envOf(this.#temp);
    const PATH = [...this.#added, machine.PATH].join(path.delimiter);
    const child = spawn('bash', ['--noprofile', '--norc', '-e', '-o', 'pipefail', file], {
      cwd: path.join(this.#workspace, folder),
      env: { ...machine, PATH, ...this.#variables(place), ...this.#set, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.#log += text;
        this.#onLog(text);
      });
    }
    const code = await new Promise((resolve, reject) => child.once('close', resolve).once('error', reject));
    Object.assign(this.#set, written(path.join(place, 'env')));
    this.#added.unshift(...linesOf(path.join(place, 'path')).reverse());
    return { outcome: code === 0 ? 'success' : 'failure', outputs: written(path.join(place, 'output')) };
  }

  #variables(place: string): Texts {
    return {
      CI: 'true',
      GITHUB_ACTIONS: 'true',
      GITHUB_API_URL: this.#host.url,
      GITHUB_ACTOR: 'dev',
      GITHUB_SERVER_URL: 'https://github.example',
      GITHUB_REPOSITORY: REPOSITORY,
      GITHUB_REF_NAME: this.#trigger.refName,
      GITHUB_SHA: this.#trigger.sha,
      GITHUB_RUN_ID: String(this.#runId),
      GITHUB_EVENT_PATH: path.join(this.#temp, 'event.json'),
      GITHUB_ENV: path.join(place, 'env'),
      GITHUB_OUTPUT: path.join(place, 'output'),
      GITHUB_PATH: path.join(place, 'path'),
      GITHUB_STEP_SUMMARY: this.#summary,
      RUNNER_TEMP: this.#temp,
      ...(this.#permissions['id-token'] === 'write' && {
        ACTIONS_ID_TOKEN_REQUEST_URL: `${this.#host.url}/identity?api-version=2.0`,
        ACTIONS_ID_TOKEN_REQUEST_TOKEN: IDENTITY_REQUEST,
      }),
    };
  }

  /** Simulates third-party actions. Returns false if they would fail. */
  #thirdParty(name: string, inputs: Texts): boolean {
    switch (name) {
      case 'actions/checkout':
        this.#checkout(inputs);
        return true;
      case 'actions/setup-node':
        return true;
      case 'actions/upload-artifact':
        return this.#upload(inputs);
      case 'actions/download-artifact':
        return this.#download(inputs.name ?? '', inputs);
      case 'actions/attest':
        this.#onAttest(inputs);
        return this.#permissions.attestations === 'write' && this.#permissions['id-token'] === 'write';
      default:
        throw new Error(`no such action here: ${name}`);
    }
  }

  /** Checks out the repository, with the token in the same file as the current action. */
  #checkout({ ref = this.#trigger.sha, 'persist-credentials': persist = 'true' }: Texts): void {
    const file = path.join(this.#temp, 'git-credentials.config');
    const { url } = this.#host;
    let settings = `[remote "origin"]\n\turl = ${url}/${REPOSITORY}.git\n`;
    if (persist === 'true') {
      const login = Buffer.from(`x-access-token:${this.github.token}`).toString('base64');
      writeFileSync(file, `[http "${url}/"]\n\textraheader = AUTHORIZATION: basic ${login}\n`);
      settings += `[includeIf "gitdir:${this.#workspace}/.git"]\n\tpath = ${file}\n`;
    }
    this.#repository.checkOut(ref, this.#workspace, settings);
    const { ref: pushed, refName } = this.#trigger;
    if (pushed.startsWith('refs/tags/')) this.#repository.git(['tag', refName], this.#workspace);
  }

  #upload({ name = '', path: place = '', 'if-no-files-found': missing }: Texts): boolean {
    const found = path.join(this.#workspace, place);
    if (!existsSync(found)) return missing === 'ignore';
    const files = statSync(found).isFile() ? [found] : readdirSync(found).map((file) => path.join(found, file));
    const pull = this.#trigger.payload.pull_request as { head: { sha: string } } | undefined;
    this.#host.artifacts.push({
      id: this.#host.nextId(),
      name,
      expired: false,
      files: new Map(files.map((file) => [path.basename(file), readFileSync(file)])),
      workflow_run: {
        id: this.#runId,
        head_sha: pull?.head.sha ?? this.#trigger.sha,
        repository_id: REPOSITORY_ID,
        head_repository_id: REPOSITORY_ID,
      },
    });
    return true;
  }

  #download(name: string, { path: folder = '.', 'run-id': run = String(this.#runId) }: Texts): boolean {
    const found = this.#host.artifacts.find((each) => each.name === name && String(each.workflow_run.id) === run);
    if (found === undefined) return false;
    mkdirSync(path.join(this.#workspace, folder), { recursive: true });
    for (const [file, content] of found.files) {
      writeFileSync(path.join(this.#workspace, folder, file), content);
    }
    return true;
  }
}

function mapped(texts: Texts, change: (text: string) => string): Record<string, string> {
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, change(text)]));
}
