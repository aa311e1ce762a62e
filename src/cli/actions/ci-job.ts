import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { HostKind } from '../../hosting/code-host.ts';
import { commentText, markerOf } from '../../hosting/comment-text.ts';
import { HostClient } from '../../hosting/host-client.ts';
import { hostCredentials } from '../../hosting/host-credentials.ts';
import { isCommit, type JobHost, type WantedPlan } from '../../hosting/host-job.ts';
import { hostKinds } from '../../hosting/index.ts';
import { reasonOf } from '../../manifests/read-file.ts';
import { proxyFor, secretsOf } from '../../platform/proxy.ts';
import { misuse, UserError } from '../../problems/user-error.ts';
import { overrides } from '../../project/select-workspace.ts';
import { Secret } from '../../values/value.ts';
import type { Context } from '../context.ts';

/** The longest time in milliseconds that the host may make a job wait. */
const LONGEST_PAUSE = 300_000;

interface CommentOptions {
  readonly file: string;
  readonly project: string;
}

/** Writes a plan as the one comment of voxform on the request of this job. Does nothing in a job without a request. */
export async function commentPlan(context: Context, { file, project }: CommentOptions): Promise<void> {
  const { cwd, env, log, workspace = overrides(env).workspace ?? '' } = context;
  const kind = kindOfJob(context);
  const number = kind.job.request(env);
  if (number === undefined) return log.info('No comment: this job belongs to no pull or merge request.');
  const text = await readFile(path.resolve(cwd, file), 'utf8').catch((cause: unknown) => {
    throw new UserError(`cannot read ${file}: ${reasonOf(cause)}`, { cause });
  });
  await using host = openHost(context, kind);
  const pulls = kind.pulls(host.client, host.repository);
  const marker = markerOf(project, workspace);
  const { longestComment: limit } = kind;
  const body = commentText({ marker, text: kind.commentSafe(text), footer: footerOf(kind, env), limit });
  const [own] = await pulls.ownComments(number, marker);
  if (own === undefined) await pulls.addComment(number, body);
  else await pulls.changeComment(number, own.id, body);
  log.info(`The comment with the plan is ${own === undefined ? 'created' : 'updated'}.`);
}

interface ReviewedOptions extends WantedPlan {
  readonly out: string;
}

/** Finds the plan that was reviewed. Prints where the host has it, as outputs of a step, or writes it into a file. */
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
  throw misuse('this is not a job of GitHub Actions or GitLab CI', 'The command reads the variables of such a job.');
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
    longestPause: LONGEST_PAUSE,
    redact: redactor.redact,
    onNotice: (message: string) => log.info(message),
    addSecret: (text: string) => redactor.add(text),
    howToSet: (name: string) => `Give the job ${name}. It needs ${rights}.`,
  };
  const credentials = hostCredentials({ token: new Secret(token, env[token] || undefined) }, options);
  const client = new HostClient({ ...options, credentials: { ...credentials, login: kind.job.author(env) } });
  return { client, repository, env, [Symbol.asyncDispose]: () => client.close() };
}

/** The planned commit and the address of the job, from variables of the host, not from text of people. */
function footerOf({ job }: HostKind, env: Context['env']): string {
  const commit = job.commit(env);
  const address = URL.parse(job.address(env) ?? '');
  const parts = [
    ...(isCommit(commit) ? [`Plan of commit ${commit}.`] : []),
    ...(address === null ? [] : [`[The job](${address.href})`]),
  ];
  return `<sub>${parts.join(' ')}</sub>`;
}
