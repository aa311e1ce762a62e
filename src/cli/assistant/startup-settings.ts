import { kinds, lookups } from '../../kinds/index.ts';
import type { SecretReader } from '../../manifests/secret-reader.ts';
import { attempt } from '../../problems/attempt.ts';
import { UserError } from '../../problems/user-error.ts';
import { variablesIn } from '../../project/load-desired.ts';
import type { ProjectAtStartup } from '../../project/load-project.ts';
import type { ProjectConfig } from '../../project/project.ts';
import { declarationsOnce } from '../../project/read-declarations.ts';
import { selectWorkspace } from '../../project/select-workspace.ts';
import { changedSettings, withoutTrustedSettings } from '../../project/trusted-settings.ts';
import { OpenWorkspace, openProject } from '../../runs/open-workspace.ts';
import { canonicalJson, type Json } from '../../values/json.ts';
import type { Context } from '../context.ts';

const RESTART = 'Ask the user to review this and to restart the server.';

/**
 * The URLs and secrets of the project when a person started the server. An assistant may edit every file of the project, but an edit must
 * not make voxform send an API key elsewhere or run a program. Secret commands therefore run only during startup.
 */
export class StartupSettings implements ProjectAtStartup {
  readonly secrets = new Map<string, SecretReader>();
  variables: ReadonlySet<string> = new Set();
  readonly #read = new Map<string, Promise<unknown>>();
  #document: Json | undefined;
  #certificates = '';
  #problem = 'the folder had no voxform.yaml';
  #isStarted = false;

  /**
   * Reads the settings, and runs the secret commands of the selected workspace. Problems are thrown by later runs.
   * @param env the environment of secret commands.
   */
  static async read(context: Context, env: Context['env']): Promise<StartupSettings> {
    const settings = new StartupSettings();
    try {
      await settings.#readProject({ ...context, startup: settings }, env);
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      settings.#problem = `voxform.yaml was not valid: ${error.message.split('\n')[0]}`;
    }
    settings.#isStarted = true;
    return settings;
  }

  async #readProject(context: Context, env: Context['env']): Promise<void> {
    const project = await openProject(context);
    const selectedName = attempt(() => selectWorkspace(project, { name: context.workspace, env }).name);
    const declarations = declarationsOnce(project, { kinds, lookups });
    const declared = await declarations();
    const values = [
      ...declared.declarations.map(({ home }) => home.value),
      withoutTrustedSettings(this.#document ?? {}),
    ];
    const variables = new Set(values.flatMap(variablesIn));
    this.variables = variables;
    for (const workspace of Object.values(project.workspaces)) {
      const opened = new OpenWorkspace({ ...context, env }, { project, workspace, declarations });
      const { secrets } = workspace;
      this.secrets.set(workspace.name, secrets);
      const failure = secrets.isComplete
        ? undefined
        : await opened
            .declared(workspace.name === selectedName ? 'lenient' : 'offline')
            .then(() => undefined, startupError);
      secrets.freeze({
        unreadReason: 'was not read when this server started: restart the server, with -w for another workspace',
        failure,
        variables,
      });
      await opened.prepareStore().catch(startupError);
    }
  }

  check(document: Json, project: ProjectConfig): void {
    const certificates = canonicalJson(Object.values(project.workspaces).map(({ name, ca = '' }) => [name, ca]));
    if (!this.#isStarted) {
      this.#document = document;
      this.#certificates = certificates;
      return;
    }
    const before = this.#document;
    if (before === undefined) {
      throw new UserError(`the server could not load this project at startup: ${this.#problem}`, {
        hint: RESTART,
      });
    }
    const names = [...Object.keys(project.workspaces), ''];
    const changed = new Set(names.flatMap((each) => changedSettings(before, document, each)));
    if (changed.size === 0 && certificates !== this.#certificates) changed.add('the certificates of ca_file');
    if (changed.size === 0) return;
    throw new UserError(
      `settings that control where API keys are sent have changed since startup: ${[...changed].join(', ')}`,
      { hint: `${RESTART} validate, explain, schema and format still work.` },
    );
  }

  once<T>(name: string, read: () => Promise<T>): Promise<T> {
    const cached = this.#read.get(name);
    if (cached !== undefined) return cached as Promise<T>;
    if (this.#isStarted) {
      return Promise.reject(new UserError(`the ${name} was not known when the server started`, { hint: RESTART }));
    }
    const reading = read();
    this.#read.set(name, reading);
    return reading;
  }
}

/** Wraps a startup error, which every later run throws. Rethrows bugs. */
function startupError(error: unknown): UserError {
  if (!(error instanceof UserError)) throw error;
  return new UserError(`when the server started: ${error.message}`, {
    hint: `${error.hint ?? 'Fix the error above.'} Then restart the server.`,
  });
}
