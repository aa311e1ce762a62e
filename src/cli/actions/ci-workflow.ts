import { readFileSync } from 'node:fs';
import { UserError } from '../../problems/user-error.ts';
import type { Context } from '../context.ts';
import { packagePath } from '../package-files.ts';

/** The voxform that the jobs run. It gets the API keys, so each form identifies contents that cannot be exchanged. */
export type Installation =
  | { readonly from: 'action'; readonly action: string }
  | { readonly from: 'package'; readonly file: string; readonly sha256: string }
  | { readonly from: 'image'; readonly image: string };

const FORMS = [
  ['OWNER/REPOSITORY@COMMIT', 'an action: a copy of voxform on GitHub, at a full commit'],
  ['FILE#sha256=HASH', 'a package file, in this repository or at an https address'],
  ['IMAGE@sha256:DIGEST', 'a container image'],
] as const;

type CiHost = 'github' | 'gitlab';

/** The forms that a host takes. The first one is an action of GitHub. */
const formsOf = (host: CiHost) => (host === 'github' ? FORMS : FORMS.slice(1));

export const installationForms = (host: CiHost = 'github'): string =>
  formsOf(host)
    .map(([form]) => form)
    .join(', ');

/** Parses a value of `--install`. Characters with a meaning in YAML, a shell or GitHub expressions are refused. */
export function parseInstallation(text: string): Installation | undefined {
  if (/^[a-z\d][a-z\d-]*\/[\w.-]+(\/[\w.-]+)*@[\da-f]{40}$/i.test(text))
    return { from: 'action', action: text };
  if (/^[a-z\d][\w.:/-]*@sha256:[\da-f]{64}$/.test(text)) return { from: 'image', image: text };
  const [, file, sha256] =
    /^(https:\/\/[\w.~:/?&=%+@-]+|[\w.][\w./@+-]*)#sha256=([\da-f]{64})$/.exec(text) ?? [];
  return file === undefined || sha256 === undefined ? undefined : { from: 'package', file, sha256 };
}

/**
 * Asks where CI gets voxform from. Undefined if the user decides later.
 * @throws UserError for an invalid answer.
 */
export async function askForInstallation(
  { terminal, interrupts }: Pick<Context, 'terminal' | 'interrupts'>,
  host: CiHost,
): Promise<Installation | undefined> {
  const width = Math.max(...FORMS.map(([form]) => form.length));
  const forms = formsOf(host)
    .map(([form, meaning]) => `  ${form.padEnd(width)}  ${meaning}\n`)
    .join('');
  terminal.err(`Which voxform does CI run? It gets your API keys.\n${forms}`);
  const answer = (await terminal.ask('Source (Enter: choose later): ', interrupts.stop))?.trim() ?? '';
  if (answer === '') return undefined;
  const installation = parseInstallation(answer);
  if (installation !== undefined) return installation;
  throw new UserError('not a source of voxform; nothing was written', {
    hint: `Expected ${installationForms(host)}.`,
  });
}

/** The name of the first workspace on the platform in the docs. A new project has only a local workspace, which CI cannot reach. */
export const CI_WORKSPACE = 'staging';

const SETUP_NODE = `      - uses: actions/setup-node@820762786026740c76f36085b0efc47a31fe5020 # v7.0.0
        with: { node-version: 24 }
`;

const FROM_PACKAGE = `${SETUP_NODE}      - name: Install voxform
        working-directory: \${{ github.workspace }}
        run: |
          case $VOXFORM_PACKAGE in
            '') echo '::error title=voxform::Fill in VOXFORM_PACKAGE and VOXFORM_SHA256 in this workflow'; exit 1 ;;
            https://*) curl --fail --silent --show-error --location --output "$RUNNER_TEMP/voxform.tgz" "$VOXFORM_PACKAGE" ;;
            *) cp "$VOXFORM_PACKAGE" "$RUNNER_TEMP/voxform.tgz" ;;
          esac
          echo "$VOXFORM_SHA256  $RUNNER_TEMP/voxform.tgz" | sha256sum --check
          npm install --global --ignore-scripts --no-audit --no-fund "$RUNNER_TEMP/voxform.tgz"
`;

/** The parts of the workflow that depend on the installation. */
function partsOf(installation: Installation | undefined): { env: string; job: string; steps: string } {
  switch (installation?.from) {
    case 'action':
      return {
        env: '',
        job: '',
        steps: `      - uses: ${installation.action}\n        with: { mode: install }\n`,
      };
    case 'image':
      return {
        env: '',
        // The owner of the checkout on GitHub's runners.
        job: `    container: { image: "${installation.image}", options: --user 1001 }\n`,
        steps: '',
      };
    case 'package':
    case undefined: {
      const { file, sha256 } = installation ?? { file: '', sha256: '' };
      const env = `  # The package of voxform: a file of this repository or an https address, and its SHA-256.
  VOXFORM_PACKAGE: "${file}"
  VOXFORM_SHA256: "${sha256}"
`;
      return { env, job: '', steps: FROM_PACKAGE };
    }
    default:
      return installation satisfies never;
  }
}

/** The file that includes the templates of all projects of a repository on GitLab. */
export const GITLAB_FILE = '.gitlab-ci.yml';

interface CiProject {
  /** The voxform to run. Without one, the jobs fail before a step that has a key. */
  readonly installation: Installation | undefined;
  /** The project folder, relative to the root of the repository. */
  readonly project: string;
}

/** The settings of the CI that runs a project, by path in the repository. The first one names the package of voxform. */
export async function ciFiles(host: CiHost, ci: CiProject): Promise<ReadonlyMap<string, string>> {
  const suffix = suffixOf(ci);
  if (host === 'github') return new Map([[`.github/workflows/voxform${suffix}.yml`, githubWorkflow(ci)]]);
  const template = `.gitlab/voxform${suffix}.yml`;
  const main = `stages: [test, deploy]\ninclude:\n  - local: ${template}\n`;
  return new Map([
    [template, await gitlabTemplate(ci)],
    [GITLAB_FILE, main],
  ]);
}

/** Distinguishes the settings of several projects in one repository. */
function suffixOf({ project }: CiProject): string {
  return project === '.' ? '' : `-${project.replaceAll('/', '-')}`;
}

async function gitlabTemplate({ installation, project }: CiProject): Promise<string> {
  const suffix = suffixOf({ installation, project });
  const text = readFileSync(packagePath('ci/gitlab/voxform.gitlab-ci.yml'), 'utf8');
  const values: Readonly<Record<string, string>> = {
    ...(installation?.from === 'image' && { VOXFORM_IMAGE: installation.image }),
    ...(installation?.from === 'package' && {
      VOXFORM_PACKAGE: installation.file,
      VOXFORM_SHA256: installation.sha256,
    }),
    VOXFORM_PROJECT: project,
  };
  const selecting = text.replace(
    /^variables:\n/m,
    `variables:\n  # The workspace of voxform.yaml that the jobs plan and apply.\n  VOXFORM_WORKSPACE: ${CI_WORKSPACE}\n`,
  );
  const template = Object.entries(values).reduce(
    (filled, [name, value]) =>
      filled.replace(new RegExp(`^(  ${name}: ).*$`, 'm'), (_, key: string) => key + JSON.stringify(value)),
    selecting,
  );
  return suffix === '' ? template : asOneOfSeveral(template, suffix);
}

/** GitLab merges all included files, so the jobs get names of their own, and keep their variables to themselves. */
function asOneOfSeveral(template: string, suffix: string): string {
  return template
    .replace(
      /^variables:\n([\s\S]*?)\n\.voxform:\n/m,
      (_, variables: string) => `.voxform:\n  variables:\n${variables.replace(/^(?=.)/gm, '  ')}`,
    )
    .replace(/^(\.voxform|voxform)(?=:)|(?<=extends: |--job |resource_group: )\.?voxform/gm, `$&${suffix}`);
}

export function githubWorkflow({ installation, project }: CiProject): string {
  const { env, job, steps } = partsOf(installation);
  const suffix = suffixOf({ installation, project });
  const folder =
    project === '.' ? '' : `\ndefaults:\n  run:\n    working-directory: ${JSON.stringify(project)}\n`;
  return `# Plans every pull request, and applies every merge.
name: voxform${suffix}
on:
  pull_request:
  push:
    branches: [main]

permissions:
  contents: read

env:
  # The workspace of voxform.yaml that the jobs plan and apply, with the key that it names in both steps below.
  VOXFORM_WORKSPACE: ${CI_WORKSPACE}
${env}${folder}
jobs:
  plan:
    if: github.event_name == 'pull_request'
    runs-on: ubuntu-latest
${job}    steps:
      # Keeps the token of the job: git reads the state with it. The whole history tells whether a commit is older than the last apply.
      - uses: actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1
        with: { fetch-depth: 0 }
${steps}      - run: voxform validate --output github
      - name: Plan
        # A pull request from a fork gets no secrets.
        if: github.event.pull_request.head.repo.full_name == github.repository
        run: voxform plan --output markdown >> "$GITHUB_STEP_SUMMARY"
        env:
          STAGING_API_KEY: \${{ secrets.STAGING_API_KEY }}
          OPENAI_API_KEY: \${{ secrets.OPENAI_API_KEY }}

  apply:
    if: github.event_name == 'push'
    runs-on: ubuntu-latest
${job}    permissions:
      contents: write # to push the state
    # In turn: one that waited for the lock of the state would apply an older commit.
    concurrency: { group: voxform-apply${suffix}, cancel-in-progress: false }
    steps:
      - uses: actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1
        # Check out the branch, not the pushed commit: a late job must not revert later merges.
        with: { ref: main, fetch-depth: 0 }
${steps}      - run: voxform apply --auto-approve --lock-timeout 15m
        env:
          STAGING_API_KEY: \${{ secrets.STAGING_API_KEY }}
          OPENAI_API_KEY: \${{ secrets.OPENAI_API_KEY }}
`;
}
