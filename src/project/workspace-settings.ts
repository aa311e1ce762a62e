import path from 'node:path';
import type { Problem } from '../manifests/finding.ts';
import { lookupNamesIn } from '../manifests/kind-schema.ts';
import { isForm } from '../manifests/layers.ts';
import { isInside } from '../manifests/read-file.ts';
import { type Environment, EnvironmentSource, SecretReader, type SecretSource } from '../manifests/secret-reader.ts';
import { evaluateForms, type FormsContext, Inputs } from '../manifests/value-forms.ts';
import { normalizedBaseUrl } from '../platform/base-url.ts';
import { isObject, type Json, type JsonObject } from '../values/json.ts';
import { Secret, Unset, type Value } from '../values/value.ts';
import { hasOwnSecretsFolder, type LocalPaths, pathProblem } from './local-paths.ts';
import type { UnsetSetting, WorkspaceConfig } from './project.ts';
import { type SecretSettings, secretsSchema } from './secret-settings.ts';
import { FolderSource, sourcesFrom } from './secret-sources.ts';

/** The settings of a workspace that may be written as value forms, after their evaluation. */
export interface WorkspaceSettings
  extends Pick<WorkspaceConfig, 'baseUrl' | 'workspaceId' | 'apiKey' | 'vars' | 'secrets'> {
  readonly unset: readonly UnsetSetting[];
  /** Problems with paths relative to the workspace. */
  readonly problems: readonly Problem[];
  /** The workspace as written, but with plain values for these settings, as required by the schema. */
  readonly plain: Readonly<Record<string, unknown>>;
  /** The project's `state` with the secrets of this workspace. */
  readonly inherited: Readonly<Record<string, unknown>> | undefined;
}

/** Valid values that replace an invalid or unset setting, so that it does not cause a second problem. */
export const STAND_INS = { base_url: 'https://unset.invalid', workspace_id: 'unset' } as const;

export interface SettingsInput {
  /** The project folder, a real path. */
  readonly root: string;
  /** Real path of the folder in which secret commands run and to which secret files are relative. The default is the root. */
  readonly settingsRoot?: string | undefined;
  /** Limits the folder of `secrets_dir`. If undefined, any folder is allowed, relative to the project folder. */
  readonly local: LocalPaths | undefined;
  readonly env: Environment;
  readonly workspace: string;
  /** The secrets that were already read, by workspace, if any. */
  readonly secrets?: ReadonlyMap<string, SecretReader> | undefined;
  /** The sources of secrets. They override the settings. */
  readonly sources?: readonly SecretSource[] | undefined;
}

/** The first part of a problem's path, if the setting belongs to the project instead of the workspace. */
export const INHERITED = { state: '(state)', secrets: '(secrets)' } as const;

/** The settings of the project for all of its workspaces, as written. */
interface ProjectSettings {
  readonly state?: JsonObject | undefined;
  readonly secrets?: Json | undefined;
}

export function readSettings(raw: JsonObject, options: SettingsInput, shared: ProjectSettings = {}): WorkspaceSettings {
  const { root, env } = options;
  const problems: Problem[] = [];
  const refuse: Refuse = (code, message, path, at = 'value') => {
    problems.push({ code, message, path, at });
  };
  const newSources = () => options.sources ?? secretSources(raw, { ...options, sharedSecrets: shared.secrets, refuse });
  const secrets = options.secrets?.get(options.workspace) ?? new SecretReader(newSources());
  const sources = { root, env, secrets, vars: {}, mustBeSet: false };
  const context: FormsContext = {
    inputs: new Inputs({ ...sources, areSettings: true }),
    folderOf: () => root,
    refKinds: undefined,
    lookupNames: lookupNamesIn(raw),
    mayUseVars: false,
  };
  const plain: Record<string, unknown> = { ...raw };
  const unset: UnsetSetting[] = [];

  const evaluate = (value: Json, at: Problem['path'], inputs = context.inputs): Value => {
    const evaluated = evaluateForms(value, { ...context, inputs });
    for (const problem of evaluated.problems) problems.push({ ...problem, path: [...at, ...problem.path] });
    return evaluated.value;
  };

  const readText = (setting: keyof typeof STAND_INS): string => {
    const written = raw[setting];
    if (!isForm(written)) return typeof written === 'string' ? written : '';
    plain[setting] = STAND_INS[setting];
    if (!Object.hasOwn(written, '$env')) {
      refuse('bad-form', `${setting} must be a string or { $env: NAME }`, [setting]);
      return '';
    }
    const value = evaluate(written, [setting]);
    if (typeof value === 'string' && value !== '') plain[setting] = value;
    const variable = value instanceof Unset ? value.name : value === '' ? String(written.$env) : '';
    if (variable !== '') unset.push({ setting, variable });
    return typeof value === 'string' ? value : '';
  };

  const readSecret = (written: JsonObject, at: Problem['path']): Secret => {
    const value = evaluate(written, at);
    const variable = typeof written.$env === 'string' ? written.$env : '';
    const text = typeof value === 'string' && value !== '' ? value : undefined;
    return value instanceof Secret ? value : new Secret(variable, text);
  };

  /** Replaces the forms in the settings of a state with secrets. */
  const readState = (written: JsonObject, at: readonly string[]): Record<string, unknown> =>
    Object.fromEntries(
      Object.entries(written).map(([setting, value]) => {
        const valuePath = [...at, setting];
        if (isSecretForm(value)) return [setting, readSecret(value, valuePath)];
        return [setting, isObject(value) && !isForm(value) ? readState(value as JsonObject, valuePath) : value];
      }),
    );

  const readApiKey = (): Secret => {
    const written = raw.api_key;
    delete plain.api_key;
    if (written === undefined) return new Secret('VOXFORM_API_KEY', undefined);
    if (!isSecretForm(written)) {
      const message = 'api_key must not be in the project file as plain text; use { $secret: NAME } or { $env: NAME }';
      refuse('plain-secret', message, ['api_key']);
      return new Secret('', undefined);
    }
    return readSecret(written, ['api_key']);
  };

  const readVars = (): Record<string, Value> => {
    const written = raw.vars;
    if (!isObject(written)) return {};
    plain.vars = {};
    const inputs = new Inputs(sources);
    const entries = Object.keys(written).map((name): [string, Value] => {
      if (name.startsWith('$')) {
        refuse('bad-form', `vars holds variables by name; ${name} is a value form`, ['vars', name], 'key');
        return [name, null];
      }
      return [name, evaluate((written as JsonObject)[name] as Json, ['vars', name], inputs)];
    });
    return Object.fromEntries(entries);
  };

  const baseUrl = normalizedBaseUrl(readText('base_url'));
  const workspaceId = readText('workspace_id');
  const apiKey = readApiKey();
  if (isObject(raw.state)) plain.state = readState(raw.state as JsonObject, ['state']);
  const inherited = shared.state && readState(shared.state, [INHERITED.state]);
  return { inherited, baseUrl, workspaceId, apiKey, vars: readVars(), secrets, unset, problems, plain };
}

/** Returns true for `{ $secret: NAME }` and `{ $env: NAME }`, which keep a secret out of the file. */
function isSecretForm(written: unknown): written is JsonObject {
  const isNamed = isForm(written) && (Object.hasOwn(written, '$secret') || Object.hasOwn(written, '$env'));
  return isNamed && !Object.hasOwn(written, 'default');
}

/** Reports a problem at a path of the workspace. */
type Refuse = (code: string, message: string, path: Problem['path'], at?: Problem['at']) => void;

interface SecretsInput extends SettingsInput {
  /** The project's `secrets`, as written. */
  readonly sharedSecrets: Json | undefined;
  readonly refuse: Refuse;
}

/** Returns the sources of secrets: the list of the workspace, the project or the fleet, or else the environment and `secrets_dir`. */
function secretSources(raw: JsonObject, options: SecretsInput): SecretSource[] {
  const { env, local, workspace, sharedSecrets, refuse } = options;
  const root = options.settingsRoot ?? options.root;
  const base = local?.secrets?.folder ?? local?.root ?? root;
  const problemOf = (setting: string, folder: string): string | undefined =>
    local && (pathProblem(setting, folder, local) ?? local.secretsProblem?.(folder));
  const staysInside = local && hasOwnSecretsFolder(local);
  const context = { env, base, root, workspace, project: path.basename(local?.root ?? root), staysInside };

  const own = raw.secrets ?? sharedSecrets;
  const parsed = own === undefined ? undefined : secretsSchema().safeParse(own).data;
  if (own !== undefined) {
    const at = raw.secrets === undefined ? [INHERITED.secrets] : ['secrets'];
    if (raw.secrets_dir !== undefined)
      refuse(
        'unused-setting',
        'secrets_dir is not used, because there is a list of secrets; add { folder: … } to that list',
        ['secrets_dir'],
      );
    const isUsable = (each: SecretSettings[number], index: number): boolean => {
      if (each === 'environment') return true;
      if (typeof each === 'object' && 'folder' in each) {
        const problem = problemOf('secrets', path.resolve(base, each.folder));
        if (problem !== undefined) refuse('outside-folder', problem, [...at, index, 'folder']);
        return problem === undefined;
      }
      if (typeof each === 'object' && 'env_file' in each) {
        const isOutside = local !== undefined && !isInside(path.resolve(root, each.env_file), root);
        if (isOutside) {
          const message = `secrets: ${each.env_file} is outside the project folder`;
          refuse('outside-folder', message, [...at, index, 'env_file']);
        }
        return !isOutside;
      }
      const isForbidden = local !== undefined && local.mayRunCommands !== true;
      if (isForbidden) refuse('forbidden-command', COMMANDS_FORBIDDEN, [...at, index]);
      return !isForbidden;
    };
    const usable = (parsed ?? []).filter(isUsable);
    return sourcesFrom(usable, { ...context, inside: local && root });
  }

  const defaultFolder = local?.secrets?.isDefault ? base : undefined;
  const folder = typeof raw.secrets_dir === 'string' ? path.resolve(base, raw.secrets_dir) : defaultFolder;
  const folderProblem = folder && problemOf('secrets_dir', folder);
  if (folderProblem !== undefined) refuse('outside-folder', folderProblem, ['secrets_dir']);
  const secretsDir = folderProblem === undefined ? folder : undefined;
  const folderSource = secretsDir === undefined ? [] : [new FolderSource(secretsDir, staysInside)];
  const { secretSources: fleet } = local ?? {};
  if (fleet === undefined) return [new EnvironmentSource(env), ...folderSource];
  const { settings, folder: fleetFolder } = fleet;
  return sourcesFrom(settings, { ...context, base: fleetFolder, root: fleetFolder }).flatMap((each): SecretSource[] =>
    each instanceof FolderSource ? folderSource : [each],
  );
}

const COMMANDS_FORBIDDEN =
  "a project from Git must not run commands or use this machine's key store; a fleet allows it with allow_commands: true for its source";
