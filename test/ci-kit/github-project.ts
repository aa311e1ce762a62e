import { type Emulator, type EmulatorOptions, startEmulator } from '../../src/emulator/start-emulator.ts';
import { agentManifest, projectFile } from '../cli/workspace.ts';
import { GithubHost, REPOSITORY } from './github-host.ts';
import { GithubRunner, type JobEnd, type Trigger } from './github-runner.ts';
import { Repository } from './repository.ts';
import type { Workflow } from './workflow.ts';

export const API_KEY = 'key-of-the-workspace';

export interface Request {
  readonly number: number;
  readonly branch: string;
  readonly title: string;
}

/** Returns the sorted names of the agents that were created there. */
export function createdAt({ requests }: Emulator): string[] {
  return requests
    .filter(({ method }) => method === 'POST')
    .map(({ body }) => String((body as { readonly name?: unknown }).name))
    .sort();
}

/** A project with the state in its repository. */
export function sharedProject(emulator: Emulator): string {
  return projectFile(emulator, 'state: { backend: git }\n');
}

/** A project on GitHub with its platform. */
export class GithubProject implements AsyncDisposable {
  readonly host: GithubHost;
  readonly emulator: Emulator;
  readonly repository: Repository;
  readonly runner: GithubRunner;

  private constructor(host: GithubHost, emulator: Emulator, files: Readonly<Record<string, string>>) {
    this.host = host;
    this.emulator = emulator;
    this.repository = new Repository(files);
    host.repositories = this.repository.folder;
    this.runner = new GithubRunner(host, this.repository, {
      VOXFORM_API_KEY: API_KEY,
      STAGING_API_KEY: API_KEY,
      OPENAI_API_KEY: 'key-of-a-model',
    });
  }

  static async open(
    project: (emulator: Emulator) => string = sharedProject,
    onRequest?: EmulatorOptions['onRequest'],
  ): Promise<GithubProject> {
    const emulator = await startEmulator({ seed: 1, onRequest });
    return new GithubProject(await GithubHost.start(), emulator, {
      'manifests/day.yaml': agentManifest('day'),
      'voxform.yaml': project(emulator),
      '.gitignore': '*.plan\n.voxform/\n',
    });
  }

  /** Returns the number of write requests that the platform received. */
  writes(): number {
    return this.emulator.requests.filter(({ method }) => method !== 'GET').length;
  }

  /** Returns the sorted names of the created agents. */
  created(): string[] {
    return createdAt(this.emulator);
  }

  /** Pushes an edit to the branch of a request, and runs the workflow for it, or only one job. */
  async propose(
    workflow: Workflow,
    request: Request,
    files: Readonly<Record<string, string>>,
    only?: string,
  ): Promise<Readonly<Record<string, JobEnd>>> {
    this.repository.branch(request.branch);
    const head = this.repository.commit(files);
    return this.runner.run(workflow, this.#onRequest(request, head), only);
  }

  #onRequest({ number, branch, title }: Request, head: string): Trigger {
    const ref = `refs/pull/${number}/merge`;
    return {
      event: 'pull_request',
      ref,
      refName: `${number}/merge`,
      sha: this.repository.mergeInto(ref, branch),
      payload: {
        pull_request: {
          number,
          title,
          head: { ref: branch, sha: head, repo: { full_name: REPOSITORY } },
          base: { ref: 'main' },
        },
      },
    };
  }

  /** Merges a request as one commit, and runs the workflow for this push, or only one job. */
  async merge(workflow: Workflow, request: Request, only?: string): Promise<Readonly<Record<string, JobEnd>>> {
    const { repository, host } = this;
    const head = repository.git(['rev-parse', request.branch]);
    repository.git(['fetch', '-q', 'origin']);
    repository.git(['checkout', '-q', '-B', 'main', 'origin/main']);
    repository.git(['merge', '-q', '--squash', request.branch]);
    repository.git(['commit', '-q', '-m', request.title]);
    repository.git(['push', '-q', 'origin', 'main']);
    const sha = repository.git(['rev-parse', 'HEAD']);
    host.pulls.set(sha, [
      // The same commit may belong to a request for another branch too.
      {
        number: 900,
        head: { sha },
        base: { ref: 'release' },
        merged_at: '2026-01-01',
        merge_commit_sha: sha,
      },
      {
        number: request.number,
        head: { sha: head },
        base: { ref: 'main' },
        merged_at: '2026-01-01',
        merge_commit_sha: sha,
      },
    ]);
    return this.#pushed(workflow, sha, only);
  }

  /** Pushes an edit without a review to main, and runs the workflow for it. */
  push(
    workflow: Workflow,
    files: Readonly<Record<string, string>>,
    only?: string,
  ): Promise<Readonly<Record<string, JobEnd>>> {
    const { repository } = this;
    repository.git(['fetch', '-q', 'origin']);
    repository.git(['checkout', '-q', '-B', 'main', 'origin/main']);
    const sha = repository.commit(files);
    repository.git(['push', '-q', 'origin', 'main']);
    return this.#pushed(workflow, sha, only);
  }

  #pushed(workflow: Workflow, sha: string, only: string | undefined): Promise<Readonly<Record<string, JobEnd>>> {
    const trigger = { event: 'push', ref: 'refs/heads/main', refName: 'main', sha, payload: {} } as const;
    return this.runner.run(workflow, trigger, only);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.emulator.close();
    await this.host[Symbol.asyncDispose]();
    this.repository[Symbol.dispose]();
  }
}
