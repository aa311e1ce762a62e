import { UserError } from '../../problems/user-error.ts';
import { packageText } from '../../version.ts';
import type { Context } from '../context.ts';

/** The source from which CI jobs install voxform. voxform receives the API keys, so each form pins the contents of the source. */
export type Installation =
  | { readonly from: 'action'; readonly action: string }
  | { readonly from: 'package'; readonly file: string; readonly sha256: string }
  | { readonly from: 'image'; readonly image: string };

const FORMS = [
  ['OWNER/REPOSITORY@COMMIT', 'an action: a copy of voxform on GitHub, at a full commit hash'],
  ['FILE#sha256=HASH', 'a package (.tgz) or the executable, in this repository or at an https address'],
  ['IMAGE@sha256:DIGEST', 'a container image'],
] as const;

type CiHost = 'github' | 'gitlab';

/** Returns the forms that a host supports. GitLab does not support the first one, a GitHub action. */
const formsOf = (host: CiHost) => (host === 'github' ? FORMS : FORMS.slice(1));

export const installationForms = (host: CiHost = 'github'): string =>
  formsOf(host)
    .map(([form]) => form)
    .join(', ');

/** Parses a value of `--install`. Refuses characters that are special in YAML, in a shell or in GitHub expressions. */
export function parseInstallation(text: string): Installation | undefined {
  if (/^[a-z\d][a-z\d-]*\/[\w.-]+(\/[\w.-]+)*@[\da-f]{40}$/i.test(text)) return { from: 'action', action: text };
  if (/^[a-z\d][\w.:/-]*@sha256:[\da-f]{64}$/.test(text)) return { from: 'image', image: text };
  const [, file, sha256] = /^(https:\/\/[\w.~:/?&=%+@-]+|[\w.][\w./@+-]*)#sha256=([\da-f]{64})$/.exec(text) ?? [];
  return file === undefined || sha256 === undefined ? undefined : { from: 'package', file, sha256 };
}

/**
 * Asks for the source from which CI installs voxform. Returns undefined if the user postpones the decision.
 * @throws UserError for an invalid answer.
 */
export async function askForInstallation(
  { terminal, interrupts }: Pick<Context, 'terminal' | 'interrupts'>,
  host: CiHost,
): Promise<Installation | undefined> {
  const width = Math.max(...FORMS.map(([form]) => form.length));
  const forms = formsOf(host)
    .map(([form, meaning]) => terminal.errorStyle.prose(meaning, { indent: 2, lead: `${form.padEnd(width)}  ` }))
    .join('\n');
  terminal.err(`Where does CI install voxform from? voxform receives your API keys.\n${forms}\n`);
  const answer = (await terminal.ask('Source (Enter: choose later): ', interrupts.stop))?.trim() ?? '';
  if (answer === '') return undefined;
  const installation = parseInstallation(answer);
  if (installation !== undefined) return installation;
  throw new UserError('invalid source of voxform; nothing was written', {
    hint: `Expected ${installationForms(host)}.`,
  });
}

/**
 * The workspace that CI uses. A new project has only a workspace of the local emulator, which CI cannot reach. The docs use this name for
 * the first workspace on the platform.
 */
export const CI_WORKSPACE = 'staging';

/** The file of a GitLab repository that includes the templates of all its projects. */
export const GITLAB_FILE = '.gitlab-ci.yml';

interface CiProject {
  /** The source of voxform. If it is undefined, the jobs fail before any step that has an API key. */
  readonly installation: Installation | undefined;
  /** The project folder, relative to the root of the repository. */
  readonly project: string;
}

/** Returns the CI configuration of a project, by path in the repository. The first file contains the source of voxform. */
export function ciFiles(host: CiHost, ci: CiProject): ReadonlyMap<string, string> {
  const suffix = suffixOf(ci);
  if (host === 'github') return new Map([[`.github/workflows/voxform${suffix}.yml`, githubWorkflow(ci)]]);
  const template = `.gitlab/voxform${suffix}.yml`;
  const main = `stages: [test, deploy]\ninclude:\n  - local: ${template}\n`;
  return new Map([
    [template, gitlabTemplate(ci)],
    [GITLAB_FILE, main],
  ]);
}

/** Returns the suffix that distinguishes the CI configuration of several projects in one repository. Nothing in it is special in YAML. */
function suffixOf({ project }: CiProject): string {
  if (project === '.') return '';
  const name = project.replaceAll(/[^\p{L}\p{N}\p{M}_/-]+/gu, '-');
  return `-${name.replaceAll('/', '.')}${name === project ? '' : `-${digestOf(project)}`}`;
}

function digestOf(project: string): string {
  // Load the module only when it is needed.
  return process.getBuiltinModule('node:crypto').hash('sha256', project).slice(0, 8);
}

function gitlabTemplate({ installation, project }: CiProject): string {
  const suffix = suffixOf({ installation, project });
  const text = packageText('ci/gitlab/voxform.gitlab-ci.yml');
  const withWorkspace = text.replace(
    /^variables:\n/m,
    `variables:\n  # The workspace of voxform.yaml that the jobs plan and apply.\n  VOXFORM_WORKSPACE: ${CI_WORKSPACE}\n`,
  );
  const template = withValues(withWorkspace, {
    ...(installation?.from === 'image' && { VOXFORM_IMAGE: installation.image }),
    ...packageOf(installation),
    VOXFORM_PROJECT: project,
  });
  return suffix === '' ? template : withUniqueNames(template, suffix);
}

function packageOf(installation: Installation | undefined) {
  return installation?.from === 'package'
    ? { VOXFORM_PACKAGE: installation.file, VOXFORM_SHA256: installation.sha256 }
    : {};
}

/** Sets variables in a CI configuration. */
function withValues(settings: string, values: Readonly<Record<string, string>>): string {
  return Object.entries(values).reduce(
    (filled, [name, value]) =>
      filled.replace(new RegExp(`^(  ${name}: ).*$`, 'm'), (_, key: string) => key + JSON.stringify(value)),
    settings,
  );
}

/** Makes the job names and variables of a project unique, because GitLab merges all included files. */
function withUniqueNames(template: string, suffix: string): string {
  return template
    .replace(
      /^variables:\n([\s\S]*?)\n\.voxform:\n/m,
      (_, variables: string) => `.voxform:\n  variables:\n${variables.replace(/^(?=.)/gm, '  ')}`,
    )
    .replace(/^(\.voxform|voxform)(?=:)|(?<=extends: |reviewed-plan |resource_group: )\.?voxform/gm, `$&${suffix}`);
}

/** Returns a workflow that plans every pull request and applies every merge. The template installs a package of voxform. */
export function githubWorkflow({ installation, project }: CiProject): string {
  const suffix = suffixOf({ installation, project });
  const template = packageText('ci/github/workflow.yml');
  const workflow = template
    .replace(/^name: voxform|group: voxform-apply/gm, (name) => name + suffix)
    .replace(/^jobs:/m, (jobs) =>
      project === '.' ? jobs : `defaults:\n  run:\n    working-directory: ${JSON.stringify(project)}\n\n${jobs}`,
    );
  if (installation === undefined) return workflow;
  if (installation.from === 'package') {
    const filled = withValues(workflow, packageOf(installation));
    const isExecutable = !/\.tgz(\?|$)/.test(installation.file);
    return isExecutable ? filled.replace(/^ {6}- uses: actions\/setup-node.*\n.*\n/gm, '') : filled;
  }
  const variables = /^ {2}# The package .*\n(?: {2}VOXFORM_(?:PACKAGE|SHA256): .*\n)+/m;
  const steps = /^ {6}- uses: actions\/setup-node[\s\S]*?(?=^ {6}- run: voxform)/gm;
  const withoutPackage = workflow.replace(variables, '');
  return installation.from === 'action'
    ? withoutPackage.replace(steps, `      - uses: ${installation.action}\n        with: { mode: install }\n`)
    : withoutPackage
        .replace(steps, '')
        // GitHub's runners check out the repository as user 1001.
        .replaceAll(
          /^ {4}runs-on: .*\n/gm,
          `$&    container: { image: "${installation.image}", options: --user 1001 }\n`,
        );
}
