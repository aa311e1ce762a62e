import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type GitlabHost, JOB_TOKEN, PROJECT, PROJECT_ID, TOKEN } from './gitlab-host.ts';
import type { Repository } from './repository.ts';

export interface GitlabJob {
  readonly extends?: string;
  readonly stage?: string;
  readonly resource_group?: string;
  readonly rules?: readonly { readonly if: string; readonly when?: string }[];
  readonly before_script?: readonly string[];
  readonly script?: readonly string[];
  readonly artifacts?: { readonly paths?: readonly string[] };
}

export type Template = { readonly variables: Texts } & Readonly<Record<`voxform:${string}` | '.voxform', GitlabJob>>;

type Texts = Readonly<Record<string, string>>;

export interface GitlabEnd {
  readonly code: number | null;
  readonly log: string;
  readonly folder: string;
  readonly files: ReadonlyMap<string, Uint8Array>;
}

/** Returns how a job of the template starts for these variables: `never`, `on_success` or `manual`. */
export function startOf({ rules = [] }: GitlabJob, variables: Texts): string {
  const due = rules.find((rule) => rule.if.split('&&').every((part) => holds(part, variables)));
  return due === undefined ? 'never' : (due.when ?? 'on_success');
}

function holds(comparison: string, variables: Texts): boolean {
  const [left, right] = comparison.split('==').map((side) => {
    const [, variable, text] = /^(?:\$(\w+)|"([^"]*)")$/.exec(side.trim()) ?? [];
    if (variable === undefined && text === undefined) throw new Error(`cannot read ${side}`);
    return text ?? variables[variable ?? ''] ?? null;
  });
  return left === right;
}

/** Runs the lines of a job in one shell, in a fresh checkout of a commit, like a runner. */
export async function runGitlabJob(
  job: GitlabJob,
  { repository, host, variables }: { repository: Repository; host: Pick<GitlabHost, 'url'>; variables: Texts },
): Promise<GitlabEnd> {
  const home = mkdtempSync(path.join(repository.folder, 'job-'));
  const folder = path.join(home, 'voices');
  mkdirSync(folder);
  // Current runners store the token of the job in a file that rewrites the address.
  const address = `${host.url}/${PROJECT}.git`;
  const external = path.join(home, 'external.conf');
  const withToken = address.replace('//', `//gitlab-ci-token:${JOB_TOKEN}@`);
  writeFileSync(external, `[url "${withToken}"]\n\tinsteadOf = ${address}\n`);
  const settings = `[remote "origin"]\n\turl = ${address}\n[include]\n\tpath = ${external}\n`;
  repository.checkOut(variables.CI_COMMIT_SHA ?? '', folder, settings);
  const file = path.join(home, 'script.sh');
  writeFileSync(file, [...(job.before_script ?? []), ...(job.script ?? [])].join('\n'));
  const child = spawn('bash', ['-e', '-o', 'pipefail', file], {
    cwd: folder,
    env: {
      ...repository.envOf(home),
      CI: 'true',
      GITLAB_CI: 'true',
      CI_PROJECT_DIR: folder,
      CI_PROJECT_ID: PROJECT_ID,
      CI_PROJECT_PATH: PROJECT,
      CI_SERVER_URL: host.url,
      CI_JOB_TOKEN: JOB_TOKEN,
      CI_API_V4_URL: `${host.url}/api/v4`,
      CI_JOB_URL: 'https://gitlab.example/acme/voices/-/jobs/1',
      VOXFORM_GITLAB_TOKEN: TOKEN,
      ...variables,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let log = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      log += text;
    });
  }
  const code = await new Promise<number | null>((resolve, reject) =>
    child.once('close', resolve).once('error', reject),
  );
  const artifacts = (job.artifacts?.paths ?? [])
    .map((each) => path.posix.normalize(each.replace('$VOXFORM_PROJECT', variables.VOXFORM_PROJECT ?? '')))
    .filter((name) => name.endsWith('.plan') && existsSync(path.join(folder, name)));
  const files = new Map(artifacts.map((name) => [name, readFileSync(path.join(folder, name))]));
  return { code, log, folder, files: code === 0 ? files : new Map() };
}
