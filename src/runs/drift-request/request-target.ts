import type { ProcessEnvironment } from '../../files/run-process.ts';
import { isRefName, parseGitAddress, remoteServer } from '../../git/git-address.ts';
import { folderEnvironment, runGit, shortError } from '../../git/run-git.ts';
import { type HostedRepository, type HostName, hostKinds, hostNames } from '../../hosting/index.ts';
import { UserError } from '../../problems/user-error.ts';
import type { ProjectConfig } from '../../project/project.ts';

/** The repository that a project was fetched from. */
interface FetchedFrom {
  /** The address without a password. */
  readonly address: string;
  /** Branch, tag or commit. */
  readonly ref: string;
  /** The project folder in the repository, with forward slashes; empty for the root. */
  readonly folder: string;
  /** The host that is set in the fleet file. */
  readonly host?: HostName | undefined;
}

/** A fetched repository, or the absolute path of the project folder in a checkout. */
export type ProjectOrigin = FetchedFrom | { readonly checkout: string };

/** The repository and the branches for the requests of a workspace. */
export interface RequestTarget extends HostedRepository {
  /** Undefined for the default branch of the repository. */
  readonly base: string | undefined;
  readonly branch: string;
  readonly title: string;
  /** The project folder, as in `FetchedFrom`. */
  readonly folder: string;
}

interface TargetInput {
  readonly project: ProjectConfig;
  readonly workspace: string;
  readonly origin: ProjectOrigin;
  readonly env: ProcessEnvironment;
  readonly signal: AbortSignal;
}

/**
 * Determines the repository and the branches for the requests of a workspace. Settings take precedence over the variables of a CI job,
 * which take precedence over the address of the remote.
 * @throws UserError if the host, its API or the repository is unknown, or if the branch name is invalid.
 */
export async function requestTarget(input: TargetInput): Promise<RequestTarget> {
  const { project, workspace, origin, env } = input;
  const settings = project.pullRequests;
  const fetched = 'checkout' in origin ? undefined : origin;
  const { address, folder } = fetched ?? (await checkoutOf(input));
  const remote = address === undefined ? undefined : remoteServer(address);
  const jobs = hostNames.flatMap((name) => {
    const job = fetched === undefined ? hostKinds[name].inJob(env) : undefined;
    return job === undefined ? [] : [{ name, ...job }];
  });
  const host =
    settings.host ?? jobs[0]?.name ?? (remote && hostNames.find((name) => hostKinds[name].isAt(remote.hostname)));
  if (host === undefined) {
    // The address is shown without a password.
    const from =
      address === undefined ? 'there is no remote origin' : `the remote is ${address.replace(/\/\/[^/]*@/, '//')}`;
    throw new UserError(`the host for pull requests is unknown: ${from}`, {
      hint: `Set pull_requests.host to ${hostNames.join(' or ')}, and set pull_requests.api_url and pull_requests.repository if they cannot be derived from the remote.`,
    });
  }
  const kind = hostKinds[host];
  const job = jobs.find(({ name }) => name === host);
  const api = settings.api_url ?? job?.api ?? (remote && kind.apiOf(remote));
  const repository = settings.repository ?? job?.repository ?? remote?.path;
  if (api === undefined) throw settingError('api_url', 'to the address of the API');
  if (repository === undefined || !kind.isRepository(repository))
    throw settingError('repository', 'to its path on the host, such as acme/voices', repository);
  const fill = (text: string): string =>
    text.replaceAll('{workspace}', () => workspace).replaceAll('{project}', () => folder || '.');
  const branch = settings.branch === undefined ? defaultBranch(folder, workspace) : fill(settings.branch);
  if (!isRefName(branch))
    throw new UserError(`${JSON.stringify(branch)} is not a valid branch name`, { hint: 'Set pull_requests.branch.' });
  return {
    host,
    api: api.replace(/\/+$/, ''),
    repository,
    base: settings.base ?? fetched?.ref,
    branch,
    title: fill(settings.title ?? `Accept drift of ${folder === '' ? '' : '{project}:'}{workspace}`),
    folder,
  };
}

function settingError(setting: string, to: string, value?: string): UserError {
  const problem = value === undefined ? 'is unknown' : `is not valid: ${JSON.stringify(value)}`;
  return new UserError(`the ${setting} for pull requests ${problem}`, { hint: `Set pull_requests.${setting} ${to}.` });
}

/** Returns a branch name that is unique for each workspace and never a prefix of another branch name. */
function defaultBranch(folder: string, workspace: string): string {
  const project = folder === '' ? '' : `${folder.replaceAll('/', '+').replace(/[^\p{L}\p{N}_.+-]/gu, '-')}@`;
  return `voxform/drift/${project}${workspace}`;
}

/** @throws UserError if the project is not in a repository. */
async function checkoutOf({ project, origin, env, signal }: TargetInput) {
  const root = 'checkout' in origin ? origin.checkout : project.root;
  const git = (...args: string[]) => runGit(['-C', root, ...args], { env: folderEnvironment(env), signal });
  const [prefix, remote] = await Promise.all([git('rev-parse', '--show-prefix'), git('remote', 'get-url', 'origin')]);
  if (prefix.code !== 0) {
    throw new UserError(`git cannot read the repository of ${root}: ${shortError(prefix.errorOutput)}`, {
      hint: 'Pull requests require a project in a checkout of its repository, or watch --git.',
    });
  }
  const address = remote.code === 0 ? remote.out.toString().trim() : undefined;
  return { folder: prefix.out.toString().trim().replace(/\/$/, ''), address };
}

/** Returns the origin of a project that is fetched from the address in `text`. */
export function originOf(
  text: string,
  { ref, folder, cwd, host }: Omit<FetchedFrom, 'address'> & { readonly cwd: string },
): FetchedFrom {
  const { url: address } = parseGitAddress(text, { cwd, option: 'git' });
  return { address, ref, folder: folder === '.' ? '' : folder, host };
}
