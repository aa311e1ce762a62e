import type { IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { type Exchange, FakeHost, page } from './fake-host.ts';

export const TOKEN = 'token-of-the-project';
/** The token of a job, which may only read. */
export const JOB_TOKEN = 'token-of-the-job';
export const PROJECT_ID = '42';
export const PROJECT = 'acme/voices';
const US = { id: 7, username: 'project_42_bot' };

export interface Note {
  readonly id: number;
  body: string;
  readonly author: { readonly id: number; readonly username: string };
  readonly system: boolean;
  readonly created_at: string;
}

export interface MergedRequest {
  readonly iid: number;
  readonly sha: string;
  readonly state: string;
  readonly target_branch: string;
  readonly source_project_id: number;
}

export interface JobRecord {
  readonly id: number;
  readonly name: string;
  readonly pipeline: number;
  readonly request: number;
  readonly sha: string;
  readonly files: ReadonlyMap<string, Uint8Array>;
}

/** The part of GitLab's API that the kit uses, for one project. Lists have two items per page. */
export class GitlabHost extends FakeHost {
  readonly notes: Note[] = [];
  /** Merge requests by their commit on the target branch. */
  readonly merged = new Map<string, MergedRequest[]>();
  readonly jobs: JobRecord[] = [];

  static start(): Promise<GitlabHost> {
    return new GitlabHost().listening();
  }

  protected override rightsOf(token: string): 'none' | 'read' | 'write' {
    return token === TOKEN ? 'write' : token === JOB_TOKEN ? 'read' : 'none';
  }

  protected override async answer({ request, response, url, send }: Exchange): Promise<void> {
    if (request.headers.authorization !== `Bearer ${TOKEN}`) {
      return void send(401, { message: '401 Unauthorized' });
    }
    const path = decodeURIComponent(url.pathname).replace(`/api/v4/projects/${PROJECT}/`, '');
    if (path === '/api/v4/user') return void send(200, US);
    if (request.method !== 'GET') return this.#write(request, path, send);
    const [, job, file] = /^jobs\/(\d+)\/artifacts\/(.+)$/.exec(path) ?? [];
    if (job !== undefined) {
      const content = this.jobs.find(({ id }) => String(id) === job)?.files.get(file ?? '');
      return void (content === undefined ? send(404, { message: '404 Not Found' }) : response.end(content));
    }
    const items = this.#list(path);
    if (items === undefined) return void send(404, { message: '404 Not Found' });
    const { items: shown, next } = page(items, url);
    send(200, shown, next === undefined ? {} : { link: `<${next}>; rel="next"` });
  }

  async #write(
    request: IncomingMessage,
    path: string,
    send: (status: number, body: unknown) => unknown,
  ): Promise<void> {
    const { body } = (await json(request)) as { body: string };
    const [, id] = /^merge_requests\/7\/notes\/(\d+)$/.exec(path) ?? [];
    const found = this.notes.find((note) => String(note.id) === id);
    if (request.method === 'PUT' && found !== undefined) {
      found.body = body;
      send(200, found);
    } else if (request.method === 'POST' && path === 'merge_requests/7/notes') {
      this.notes.push({ id: this.nextId(), body, author: US, system: false, created_at: '2026-01-01T00:00:00Z' });
      send(201, this.notes.at(-1));
    } else send(404, { message: '404 Not Found' });
  }

  #list(path: string): readonly unknown[] | undefined {
    const [, commit] = /^repository\/commits\/([0-9a-f]+)\/merge_requests$/.exec(path) ?? [];
    if (commit !== undefined) return this.merged.get(commit) ?? [];
    const [, request] = /^merge_requests\/(\d+)\/pipelines$/.exec(path) ?? [];
    if (request !== undefined) {
      return this.jobs
        .filter((job) => String(job.request) === request)
        .map(({ pipeline, sha }) => ({ id: pipeline, sha }));
    }
    const [, pipeline] = /^pipelines\/(\d+)\/jobs$/.exec(path) ?? [];
    if (pipeline !== undefined) {
      return this.jobs.filter((job) => String(job.pipeline) === pipeline).map(({ id, name }) => ({ id, name }));
    }
    return path === 'merge_requests/7/notes' ? this.notes : undefined;
  }
}
