import type { Exchange } from '../ci-kit/fake-host.ts';
import type { Artifact, Permissions } from '../ci-kit/github-host.ts';
import type { Files } from './bare-repository.ts';
import { type Call, CodeHostFake, type FakeRequest, REPOSITORY } from './code-host-fake.ts';

const NOWHERE = '0'.repeat(40);
/** GitHub's limit on the text of a pull request. */
const LONGEST = 65_536;

interface RefUpdate {
  readonly name: string;
  readonly beforeOid?: string;
  readonly afterOid: string;
  readonly force?: boolean;
}

/** A server of GitHub Enterprise, as far as pull requests need it: it refuses what GitHub refuses. */
export class FakeGithub extends CodeHostFake {
  /** Of jobs: none is kept here. */
  readonly artifacts: Artifact[] = [];

  static start(files: Files, at?: string): Promise<FakeGithub> {
    return new FakeGithub(files, at).listening();
  }

  /** A token of a job that has only these permissions. */
  tokenFor(permissions: Permissions): string {
    const token = `token-of-job-${this.nextId()}`;
    this.tokens.set(token, permissions.contents === 'write' && permissions['pull-requests'] === 'write');
    return token;
  }

  protected override pathOf({ pathname }: URL): string | undefined {
    return /^(?:\/api(?:\/v3)?)?(\/repos\/.*|\/graphql)$/.exec(pathname)?.[1];
  }

  protected override work({ method, path, body }: Call, { url, send }: Exchange, mayWrite: boolean): unknown {
    if (path === '/graphql') return this.#graphql(body, send, mayWrite);
    const base = `/repos/${REPOSITORY}`;
    if (path !== base && !path.startsWith(`${base}/`)) return send(404, { message: 'Not Found' });
    if (method !== 'GET' && !mayWrite)
      return send(403, { message: 'Resource not accessible by personal access token' });
    const rest = decodeURIComponent(path.slice(base.length));
    const { repository } = this;
    if (rest === '') return send(200, { default_branch: 'main', node_id: 'R_1' });
    const [, branch] = /^\/git\/ref\/heads\/(.+)$/.exec(rest) ?? [];
    if (branch !== undefined) {
      const sha = repository.head(branch);
      return sha === undefined
        ? send(404, { message: 'Not Found' })
        : send(200, { ref: branch, object: { sha } });
    }
    const [, from, to] = /^\/compare\/([0-9a-f]+)\.\.\.([0-9a-f]+)$/.exec(rest) ?? [];
    if (from !== undefined && to !== undefined) return send(200, this.#comparison(from, to));
    if (rest === '/pulls' && method === 'GET') {
      const wanted = url.searchParams.get('head');
      const found = this.requests.filter((each) => `acme:${each.branch}` === wanted);
      return send(
        200,
        found.toReversed().map((each) => this.#shown(each)),
      );
    }
    if (rest === '/pulls') return this.#open(body, send);
    const [, number] = /^\/pulls\/(\d+)$/.exec(rest) ?? [];
    if (number !== undefined && method === 'PATCH')
      return this.#change(this.request(Number(number)), body, send);
    return send(404, { message: 'Not Found' });
  }

  #comparison(from: string, to: string): object {
    const { repository } = this;
    const base = repository.mergeBase(from, to);
    const commits = repository.commits(from, to);
    return {
      merge_base_commit: { sha: base },
      total_commits: commits.length,
      commits: commits.map(({ id, message }) => ({ sha: id, commit: { message } })),
      files: repository.changed(base, to).map((filename) => ({ filename, status: 'modified' })),
    };
  }

  #open({ title, head, base, body }: Record<string, string>, send: Exchange['send']): unknown {
    const { repository } = this;
    const refused = (message: string) =>
      send(422, {
        message: 'Validation Failed',
        errors: [{ resource: 'PullRequest', code: 'custom', message }],
      });
    const [from, to] = [repository.head(base ?? ''), repository.head(head ?? '')];
    if (from === undefined || to === undefined) return refused('base or head is invalid');
    if ((body ?? '').length > LONGEST) return refused('body is too long (maximum is 65536 characters)');
    if (this.requests.some((each) => each.branch === head && each.state === 'open'))
      return refused(`A pull request already exists for acme:${head}.`);
    if (repository.commits(from, to).length === 0) return refused(`No commits between ${base} and ${head}`);
    const made = {
      number: this.nextId(),
      branch: head ?? '',
      base: base ?? '',
      title: title ?? '',
      body: body ?? '',
      state: 'open' as const,
    };
    this.requests.push(made);
    return send(201, this.#shown(made));
  }

  #change(request: FakeRequest, change: Record<string, string>, send: Exchange['send']): unknown {
    const { repository } = this;
    const { branch } = request;
    const refused = (message: string) =>
      send(422, {
        message: 'Validation Failed',
        errors: [{ resource: 'PullRequest', field: 'state', message }],
      });
    if ((change.body ?? '').length > LONGEST)
      return refused('body is too long (maximum is 65536 characters)');
    if (change.base !== undefined && request.state !== 'open')
      return refused('Cannot change the base branch of a closed pull request.');
    if (change.state === 'open' && request.state !== 'open') {
      const head = repository.head(branch);
      if (request.state === 'merged') return refused('state cannot be changed. It is merged.');
      if (head === undefined)
        return refused(`state cannot be changed. The ${branch} branch has been deleted.`);
      const isSame =
        request.closedAt !== undefined && repository.mergeBase(request.closedAt, head) === request.closedAt;
      if (!isSame)
        return refused(`state cannot be changed. The ${branch} branch was force-pushed or recreated.`);
      if (repository.commits(request.base, head).length === 0)
        return refused('state cannot be changed. There are no new commits.');
      request.state = 'open';
    }
    if (change.state === 'closed' && request.state === 'open') this.close(request.number);
    request.body = change.body ?? request.body;
    request.base = change.base ?? request.base;
    return send(200, this.#shown(request));
  }

  // biome-ignore lint/suspicious/noExplicitAny: What a client sends.
  #graphql({ query, variables }: any, send: Exchange['send'], mayWrite: boolean): unknown {
    const { repository } = this;
    const refused = (type: string, message: string) => send(200, { data: null, errors: [{ type, message }] });
    if (query.startsWith('query')) {
      const { owner, name, ...expressions } = variables;
      if (`${owner}/${name}` !== REPOSITORY)
        return refused('NOT_FOUND', 'Could not resolve to a Repository.');
      const found = Object.entries(expressions).map(([key, expression]) => {
        const oid = repository.find(String(expression));
        return [key.replace('e', 'f'), oid === undefined ? null : { oid }];
      });
      return send(200, { data: { repository: Object.fromEntries(found) } });
    }
    if (!mayWrite) return refused('FORBIDDEN', 'Resource not accessible by personal access token');
    if (query.includes('updateRefs(')) return this.#updateRefs(variables.input.refUpdates, send);
    const { branch, expectedHeadOid, message, fileChanges } = variables.input;
    const { branchName, repositoryNameWithOwner } = branch;
    if (repositoryNameWithOwner !== REPOSITORY)
      return refused('NOT_FOUND', 'Could not resolve to a Repository.');
    if (this.protectedBranches.has(branchName))
      return refused('UNPROCESSABLE', 'Protected branch rules not configured for this actor.');
    const head = repository.head(branchName);
    if (head === undefined) return refused('NOT_FOUND', `No ref ${branchName}`);
    if (head !== expectedHeadOid) {
      return refused(
        'STALE_DATA',
        `Expected branch to point to "${expectedHeadOid}" but it did not.  Pull and try again.`,
      );
    }
    const files = fileChanges.additions.map(({ path, contents }: { path: string; contents: string }) => [
      path,
      Buffer.from(contents, 'base64').toString(),
    ]);
    const text = [message.headline, message.body].filter(Boolean).join('\n\n');
    const made = repository.commitOn(head, { files: Object.fromEntries(files), message: text });
    repository.set(branchName, made);
    return send(200, { data: { createCommitOnBranch: { commit: { oid: made } } } });
  }

  #updateRefs(updates: readonly RefUpdate[], send: Exchange['send']): unknown {
    const { repository } = this;
    const refused = (type: string, message: string) => send(200, { data: null, errors: [{ type, message }] });
    for (const { name, beforeOid, afterOid, force } of updates) {
      const now = repository.find(name);
      if (beforeOid !== undefined && beforeOid !== (now ?? NOWHERE))
        return refused('UNPROCESSABLE', `${name} is not at ${beforeOid}`);
      if (this.protectedBranches.has(name.replace('refs/heads/', '')))
        return refused('UNPROCESSABLE', 'Protected branch update failed');
      const isForward =
        now === undefined || afterOid === NOWHERE || repository.mergeBase(now, afterOid) === now;
      if (!isForward && force !== true) return refused('UNPROCESSABLE', 'Update is not a fast forward');
    }
    for (const { name, afterOid } of updates)
      repository.set(name.replace('refs/heads/', ''), afterOid === NOWHERE ? undefined : afterOid);
    this.#closeEmpty();
    return send(200, { data: { updateRefs: { clientMutationId: null } } });
  }

  /** A request whose branch is gone, or has nothing that its base has not, is closed by the host. */
  #closeEmpty(): void {
    const { repository } = this;
    for (const request of this.requests.filter(({ state }) => state === 'open')) {
      const head = repository.head(request.branch);
      if (head === undefined) this.close(request.number);
      else if (repository.commits(request.base, head).length === 0) request.state = 'merged';
    }
  }

  #shown({ number, branch, base, body, state }: FakeRequest): object {
    return {
      number,
      html_url: `${this.url}/${REPOSITORY}/pull/${number}`,
      state: state === 'open' ? 'open' : 'closed',
      merged_at: state === 'merged' ? '2026-01-31T09:30:00Z' : null,
      body,
      head: { ref: branch, repo: { full_name: REPOSITORY } },
      base: { ref: base },
    };
  }
}
