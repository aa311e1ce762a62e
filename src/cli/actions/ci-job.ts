import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { readGivenFile } from '../../files/given-file.ts';
import type { HostKind } from '../../hosting/code-host.ts';
import { commentText, markerOf } from '../../hosting/comment-text.ts';
import { HostClient } from '../../hosting/host-client.ts';
import { hostCredentials } from '../../hosting/host-credentials.ts';
import { isCommit, type JobHost, type WantedPlan } from '../../hosting/host-job.ts';
import { hostKinds } from '../../hosting/index.ts';
import { reasonOf } from '../../manifests/read-file.ts';
import { proxyFor, secretsOf } from '../../platform/proxy.ts';
import { UserError, usageError } from '../../problems/user-error.ts';
import { overrides } from '../../project/select-workspace.ts';
import { Secret } from '../../values/value.ts';
import type { Context } from '../context.ts';

/** The maximum time that the host may delay a job. */
const MAX_PAUSE_MS = 300_000;

interface CommentOptions {
  readonly file: string;
  readonly project: string;
}

/** Creates or updates voxform's comment with the plan on the pull or merge request of this job. Does nothing if there is no request. */
export async function commentPlan(context: Context, { file, project }: CommentOptions): Promise<void> {
  const { cwd, env, log, workspace = overrides(env).workspace ?? '' } = context;
  const kind = kindOfJob(context);
  const number = kind.job.request(env);
  if (number === undefined) return log.info('Skipped the comment: this job has no pull or merge request.');
  const text = await readGivenFile(path.resolve(cwd, file)).catch((cause: unknown) => {
    throw new UserError(`cannot read ${file}: ${reasonOf(cause)}`, { cause });
  });
  await using host = openHost(context, kind);
  const pulls = kind.pulls(host.client, host.repository);
  const marker = markerOf(project, workspace);
  const { maxCommentLength: limit } = kind;
  const body = commentText({ marker, text: kind.commentSafe(text.toString()), footer: footerOf(kind, env), limit });
  const [own] = await pulls.ownComments(number, marker);
  if (own === undefined) await pulls.addComment(number, body);
  else await pulls.changeComment(number, own.id, body);
  log.info(`${own === undefined ? 'Created' : 'Updated'} the comment with the plan.`);
}

interface ReviewedOptions extends WantedPlan {
  readonly out: string;
}

/** Finds the reviewed plan. On GitHub, prints its run and artifact as step outputs. On GitLab, writes the plan to a file. */
export async function fetchReviewedPlan(context: Context, { out, ...wanted }: ReviewedOptions): Promise<void> {
  const { cwd, log, terminal } = context;
  const kind = kindOfJob(context);
  await using host = openHost(context, kind);
  const { commit, content, facts } = await kind.job.reviewedPlan(host, wanted);
  if (content !== undefined) await writeFile(path.resolve(cwd, out), content, { mode: 0o600 });
  const lines = Object.entries(facts).map(([name, value]) => `${name}=${value}\n`);
  terminal.out(lines.join(''));
  log.info(`The plan of commit ${commit} was reviewed.`);
}

function kindOfJob({ env }: Context): HostKind {
  const kind = Object.values<HostKind>(hostKinds).find(({ inJob }) => inJob(env) !== undefined);
  if (kind !== undefined) return kind;
  throw usageError(
    'this command runs only in a job of GitHub Actions or GitLab CI',
    'It reads the variables of the job.',
  );
}

function openHost({ env, redactor, log, interrupts }: Context, kind: HostKind): JobHost & AsyncDisposable {
  const { api = '', repository = '' } = kind.inJob(env) ?? {};
  const { token, rights } = kind.job;
  const url = URL.parse(api);
  if (url === null) throw new UserError(`the address of the API is not valid: ${JSON.stringify(api)}`);
  const proxy = proxyFor(url, env);
  for (const secret of secretsOf(proxy)) redactor.add(secret);
  const options = {
    api: api.replace(/\/+$/, ''),
    shown: `${repository} on ${url.host}`,
    repository,
    settings: { api: 'the variables of the job', repository: 'the variables of the job' },
    kind,
    rights,
    network: { proxy, ca: undefined },
    signal: interrupts.requests,
    maxPauseMs: MAX_PAUSE_MS,
    redact: redactor.redact,
    onNotice: (message: string) => log.info(message),
    addSecret: (text: string) => redactor.add(text),
    howToSet: (name: string) => `Set ${name} in the job. The token needs ${rights}.`,
  };
  const credentials = hostCredentials({ token: new Secret(token, env[token] || undefined) }, options);
  const client = new HostClient({ ...options, credentials: { ...credentials, login: kind.job.author(env) } });
  return { client, repository, env, [Symbol.asyncDispose]: () => client.close() };
}

/** Returns the planned commit and a link to the job. Both are from variables that the host sets, so the Markdown needs no escaping. */
function footerOf({ job }: HostKind, env: Context['env']): string {
  const commit = job.commit(env);
  const jobUrl = URL.parse(job.address(env) ?? '');
  const parts = [
    ...(isCommit(commit) ? [`Plan of commit ${commit}.`] : []),
    ...(jobUrl === null ? [] : [`[View job](${jobUrl.href})`]),
  ];
  return `<sub>${parts.join(' ')}</sub>`;
}
