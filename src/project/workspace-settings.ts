import path from 'node:path';
import type { Problem } from '../manifests/finding.ts';
import { Inputs } from '../manifests/inputs.ts';
import { isForm } from '../manifests/layers.ts';
import { lookupNamesIn } from '../manifests/lookup-names.ts';
import type { Environment } from '../manifests/secret-reader.ts';
import { SecretReader } from '../manifests/secret-reader.ts';
import { evaluateForms, type FormsContext } from '../manifests/value-forms.ts';
import { normalizedBaseUrl } from '../platform/base-url.ts';
import { isObject, type Json, type JsonObject } from '../values/json.ts';
import { Secret, Unset, type Value } from '../values/value.ts';
import { areSecretsOwn, type LocalPaths, pathProblem } from './local-paths.ts';
import type { UnsetSetting } from './project.ts';

/** The settings of a workspace that may be value forms, evaluated. */
export interface WorkspaceSettings {
  /** Normalized base URL. */
  readonly baseUrl: string;
  readonly workspaceId: string;
  readonly apiKey: Secret;
  readonly vars: Readonly<Record<string, Value>>;
  readonly secrets: SecretReader;
  readonly unset: readonly UnsetSetting[];
  /** Paths are relative to the workspace. */
  readonly problems: readonly Problem[];
  /** The workspace as written, with plain values for these settings, for the schema. */
  readonly plain: Readonly<Record<string, unknown>>;
  /** The project's `state`, with the secrets of this workspace. */
  readonly inherited: Readonly<Record<string, unknown>> | undefined;
}

/** Valid values, so that an invalid or unset setting causes no second problem. */
export const STAND_INS = { base_url: 'https://unset.invalid', workspace_id: 'unset' } as const;

interface SettingsPlace {
  /** The project folder, a real path. */
  readonly root: string;
  /** Limits the folder of `secrets_dir`. Without it, the folder may be anywhere, and is relative to the project folder. */
  readonly local: LocalPaths | undefined;
  readonly env: Environment;
}

/** The path of a problem in the project's `state`, in place of a workspace's setting. */
export const INHERITED = '(state)';

/** @param everyState the project's `state`, as written. */
export function readSettings(
  raw: JsonObject,
  { root, local, env }: SettingsPlace,
  everyState?: JsonObject,
): WorkspaceSettings {
  const problems: Problem[] = [];
  const base = local?.secrets?.folder ?? local?.root ?? root;
  const usual = local?.secrets?.isDefault ? base : undefined;
  const folder = typeof raw.secrets_dir === 'string' ? path.resolve(base, raw.secrets_dir) : usual;
  const misplaced =
    folder && local && (pathProblem('secrets_dir', folder, local) ?? local.secretsProblem?.(folder));
  if (misplaced !== undefined)
    problems.push({ code: 'outside-folder', message: misplaced, path: ['secrets_dir'], at: 'value' });
  const secretsDir = misplaced === undefined ? folder : undefined;
  const secretsStay = local && areSecretsOwn(local);
  const secrets = new SecretReader({ env, secretsDir, secretsStay });
  const inputs = new Inputs({ root, env, secrets, vars: {}, mustBeSet: false });
  const context: FormsContext = {
    inputs,
    folderOf: () => root,
    refKinds: undefined,
    lookupNames: lookupNamesIn(raw),
    mayUseVars: false,
  };
  const plain: Record<string, unknown> = { ...raw };
  const unset: UnsetSetting[] = [];

  const evaluate = (value: Json, at: Problem['path']): Value => {
    const evaluated = evaluateForms(value, context);
    for (const problem of evaluated.problems) problems.push({ ...problem, path: [...at, ...problem.path] });
    return evaluated.value;
  };

  const text = (setting: keyof typeof STAND_INS): string => {
    const written = raw[setting];
    if (!isForm(written)) return typeof written === 'string' ? written : '';
    plain[setting] = STAND_INS[setting];
    if (!Object.hasOwn(written, '$env')) {
      const message = `${setting} must be text or { $env: NAME }`;
      problems.push({ code: 'bad-form', message, path: [setting], at: 'value' });
      return '';
    }
    const value = evaluate(written, [setting]);
    if (typeof value === 'string' && value !== '') plain[setting] = value;
    const variable = value instanceof Unset ? value.name : value === '' ? String(written.$env) : '';
    if (variable !== '') unset.push({ setting, variable });
    return typeof value === 'string' ? value : '';
  };

  const hidden = (written: JsonObject, at: Problem['path']): Secret => {
    const value = evaluate(written, at);
    const named = typeof written.$env === 'string' ? written.$env : '';
    const text = typeof value === 'string' && value !== '' ? value : undefined;
    return value instanceof Secret ? value : new Secret(named, text);
  };

  /** The settings of a state, with secrets in place of forms. */
  const state = (written: JsonObject, at: readonly string[]): Record<string, unknown> =>
    Object.fromEntries(
      Object.entries(written).map(([setting, value]) => {
        const place = [...at, setting];
        if (isHidden(value)) return [setting, hidden(value, place)];
        return [setting, isObject(value) && !isForm(value) ? state(value as JsonObject, place) : value];
      }),
    );

  const key = (): Secret => {
    const written = raw.api_key;
    delete plain.api_key;
    if (written === undefined) return new Secret('VOXFORM_API_KEY', undefined);
    if (!isHidden(written)) {
      const message =
        'api_key must not be in the project file as text; use { $secret: NAME } or { $env: NAME }';
      problems.push({ code: 'plain-secret', message, path: ['api_key'], at: 'value' });
      return new Secret('', undefined);
    }
    return hidden(written, ['api_key']);
  };

  const variables = (): Record<string, Value> => {
    const written = raw.vars;
    if (!isObject(written)) return {};
    plain.vars = {};
    const entries = Object.keys(written).map((name): [string, Value] => {
      if (name.startsWith('$')) {
        const message = `vars holds variables by name; ${name} is a value form`;
        problems.push({ code: 'bad-form', message, path: ['vars', name], at: 'key' });
        return [name, null];
      }
      return [name, evaluate((written as JsonObject)[name] as Json, ['vars', name])];
    });
    return Object.fromEntries(entries);
  };

  const baseUrl = normalizedBaseUrl(text('base_url'));
  const workspaceId = text('workspace_id');
  const apiKey = key();
  if (isObject(raw.state)) plain.state = state(raw.state as JsonObject, ['state']);
  const inherited = everyState && state(everyState, [INHERITED]);
  return { inherited, baseUrl, workspaceId, apiKey, vars: variables(), secrets, unset, problems, plain };
}

/** True for `{ $secret: NAME }` and `{ $env: NAME }`, which keep a secret out of the file. */
function isHidden(written: unknown): written is JsonObject {
  const isNamed = isForm(written) && (Object.hasOwn(written, '$secret') || Object.hasOwn(written, '$env'));
  return isNamed && !Object.hasOwn(written, 'default');
}
