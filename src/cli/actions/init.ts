import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { makeFolders } from '../../files/files.ts';
import { gitEnvironment, runGit } from '../../git/run-git.ts';
import { reasonOf } from '../../manifests/read-file.ts';
import { compareText } from '../../problems/compare-text.ts';
import { ExitCode, UserError } from '../../problems/user-error.ts';
import { PROJECT_FILE, projectFileIn } from '../../project/find-project.ts';
import { packageFiles, packageText } from '../../version.ts';
import type { Context } from '../context.ts';
import { chdirFlag } from '../flags.ts';
import {
  askForInstallation,
  CI_WORKSPACE,
  ciFiles,
  GITLAB_FILE,
  type Installation,
  installationForms,
} from './ci-workflow.ts';
import { cancelled } from './confirm.ts';

interface InitFlags {
  readonly dir: string;
  readonly install?: Installation;
}

/** Writes a new project to a folder. Existing files are unchanged. */
export async function init(context: Context, { dir: folder, install }: InitFlags): Promise<number> {
  const target = path.resolve(context.cwd, folder);
  const existing = projectFileIn(target);
  if (existing !== undefined) {
    throw new UserError(`${path.join(folder, existing)} already exists; nothing was written`, {
      hint: 'Choose another folder: voxform init DIR',
    });
  }
  const repository = await repositoryOf(target, context.env);
  const isShared = repository.origin !== undefined;
  const { root = target } = repository;
  const project = path.relative(root, target).replaceAll(path.sep, '/') || '.';
  const host = /(^|[@/.])gitlab\b/.test(repository.origin ?? '') ? 'gitlab' : 'github';
  const settings = (installation?: Installation) => ciFiles(host, { installation, project });
  const [ciFile = ''] = [...settings()].map(([name]) => path.join(root, name));
  const asks = install === undefined && context.terminal.canAsk && !(await exists(ciFile));
  const installation = asks ? await askForInstallation(context, host) : install;
  if (host === 'gitlab' && installation?.from === 'action') {
    throw new UserError('an action runs only on GitHub, and origin is on GitLab; nothing was written', {
      hint: `Expected ${installationForms(host)}.`,
    });
  }
  if (context.interrupts.stop.aborted) return cancelled(context);
  const files = await projectFiles(isShared);
  const ci = settings(installation);
  const all = [
    ...[...files].map(([name, text]) => [path.join(target, name), text] as const),
    ...[...ci].map(([name, text]) => [path.join(root, name), text] as const),
  ];
  const out = (line: string): void => context.terminal.out(`${line}\n`);
  const shown = (file: string): string => path.join(folder, path.relative(target, file));
  for (const [file, text] of all.sort(([a], [b]) => compareText(a, b)))
    out(`${(await writeNew(file, text)) ? 'created' : 'kept   '}  ${shown(file)}`);
  for (const [file, text] of [
    [path.join(target, '.gitignore'), files.get('.gitignore')],
    [path.join(root, GITLAB_FILE), ci.get(GITLAB_FILE)],
  ] as const) {
    const missing = text === undefined ? [] : await missingLines(file, text);
    if (missing.length === 0) continue;
    out('');
    out(`Add to ${shown(file)}:`);
    for (const line of missing) out(`  ${line}`);
  }
  const here = chdirFlag(folder, context);
  out('');
  out('Try it against the emulator:');
  out('  voxform emulator --port 4010 &');
  out(`  export LOCAL_API_KEY=anything OPENAI_API_KEY=anything`);
  out(`  voxform${here} validate`);
  out(`  voxform${here} plan`);
  const sentence = (text: string): void => out(context.terminal.style.prose(text));
  sentence(
    `Then add your workspace as ${CI_WORKSPACE} to ${path.join(folder, PROJECT_FILE)}: CI plans and applies this workspace.`,
  );
  if (installation === undefined) {
    sentence(`CI fails until you fill in VOXFORM_PACKAGE and VOXFORM_SHA256 in ${shown(ciFile)}.`);
  }
  if (isShared) sentence('States are stored in refs/voxform/ of the remote origin, except the state of the emulator.');
  return ExitCode.ok;
}

/**
 * Returns the files of a new project by path: the quickstart example, its schemas, and the editor and Git settings.
 * @param isShared true if all clones share the state, which is in a ref of the repository.
 */
async function projectFiles(isShared: boolean): Promise<Map<string, string>> {
  const files = new Map<string, string>(await settingsFiles(isShared));
  const example = 'examples/quickstart';
  for (const name of packageFiles(example)) {
    if (path.basename(name) === 'README.md' || name.startsWith('.')) continue;
    files.set(name, withProjectSchemas(packageText(`${example}/${name}`), name));
  }
  const project = files.get(PROJECT_FILE);
  if (isShared && project !== undefined) files.set(PROJECT_FILE, withSharedState(project));
  return files;
}

interface Repository {
  /** The root folder; undefined if the project is not in a repository. */
  readonly root?: string | undefined;
  /** The URL of the remote `origin`, which stores the state by default and which every clone in CI has. */
  readonly origin?: string | undefined;
}

async function repositoryOf(folder: string, env: Context['env']): Promise<Repository> {
  let cwd = folder;
  while (!existsSync(cwd)) cwd = path.dirname(cwd);
  const call = { env: gitEnvironment(env), cwd, signal: new AbortController().signal };
  const gitOutput = (...args: string[]) =>
    runGit(args, call).then(
      ({ code, out }) => (code === 0 ? out.toString().trim() : undefined),
      () => undefined,
    );
  const up = await gitOutput('rev-parse', '--show-cdup');
  const root = up === undefined ? undefined : path.resolve(cwd, up);
  return { root, origin: root === undefined ? undefined : await gitOutput('remote', 'get-url', 'origin') };
}

/** Makes a file of the example refer to the project's own copy of the schemas instead of the package's schemas. */
function withProjectSchemas(text: string, name: string): string {
  const up = '../'.repeat(name.split('/').length - 1);
  return text.replace(/(\$schema=)(?:\.\.\/)*schemas\//, `$1${up}schemas/`);
}

/** Writes a file. Returns false if it already exists. */
async function writeNew(file: string, text: string): Promise<boolean> {
  try {
    await makeFolders(path.dirname(file));
    await writeFile(file, text, { flag: 'wx' });
    return true;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EEXIST' && (await exists(file))) return false;
    if (!(cause instanceof Error)) throw cause;
    const lacksFolder = 'code' in cause && cause.code === 'ENOENT';
    const reason = lacksFolder ? 'cannot create a folder there' : reasonOf(cause);
    throw new UserError(`cannot write ${file}: ${reason}`, {
      hint: 'Choose a writable folder: voxform init DIR',
      cause,
    });
  }
}

/** Returns the lines of the text that the file lacks. Ignores comments. */
async function missingLines(file: string, text: string): Promise<string[]> {
  const existing = new Set((await readFile(file, 'utf8')).split(/\r?\n/));
  return text.split('\n').filter((line) => line !== '' && !line.startsWith('#') && !existing.has(line));
}

async function exists(file: string): Promise<boolean> {
  return readFile(file).then(
    () => true,
    () => false,
  );
}

/**
 * Returns the schemas and the editor and Git settings of a project, by path.
 * @param isShared true if all clones share the state, which is in a ref of the repository.
 */
export async function settingsFiles(isShared: boolean): Promise<[path: string, text: string][]> {
  const schemas = ['schemas/manifest.schema.json', 'schemas/project.schema.json'];
  return [
    ['.gitignore', gitIgnore(isShared)],
    ['.vscode/settings.json', editorSettings],
    ...schemas.map((name): [string, string] => [name, packageText(name)]),
  ];
}

function gitIgnore(isShared: boolean): string {
  const state = isShared
    ? `# Files that voxform keeps only on this machine. The state is not among them. The ids of a migration are shared.
.voxform/*
!.voxform/migrations/
`
    : `# The state has the only copy of the record ids, and no secrets: commit it, or keep it in another location
# that is backed up. Do not commit its lock, its backups, its history or the cache.
.voxform/cache/
.voxform/*.lock
.voxform/*.backup-*
.voxform/*.history.jsonl
.voxform/*.lost-*
.voxform/quarantine/
.voxform/rescue/
`;
  return `# Secrets and saved plans.
secrets/
*.plan
.env

${state}`;
}

/** Keeps the state of the example in the repository. The emulator's state stays local, because its records are lost by default. */
function withSharedState(projectFile: string): string {
  return projectFile
    .replace(/^ {4}base_url: .*$/m, '$&\n    state: { backend: local }  # Local, like the emulator.')
    .replace(
      /^#.*\nstate: .*$/m,
      `# The state has the record ids and the values last sent, without secrets. It is in refs/voxform/ of the remote origin, for CI too.
state: { backend: git }`,
    );
}

const editorSettings = `{
  "yaml.schemas": {
    "./schemas/manifest.schema.json": ["manifests/**/*.yaml", "manifests/**/*.yml", "manifests/**/*.json"],
    "./schemas/project.schema.json": ["voxform.yaml", "voxform.yml"]
  }
}
`;
