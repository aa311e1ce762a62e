import path from 'node:path';
import type { z } from 'zod';
import { parseGitAddress } from '../git/git-address.ts';
import { type HostName, hostNames, repositoryOnHost } from '../hosting/index.ts';
import type { Problem } from '../manifests/finding.ts';
import { problemsIn } from '../manifests/issue-messages.ts';
import { isForm } from '../manifests/layers.ts';
import { onlyDocument } from '../manifests/parse-documents.ts';
import { locate } from '../manifests/positions.ts';
import { readTextFile } from '../manifests/read-file.ts';
import { type Environment, EnvironmentSource, SecretReader } from '../manifests/secret-reader.ts';
import { evaluateForms, Inputs } from '../manifests/value-forms.ts';
import type { Role } from '../operator/roles.ts';
import type { PolicySource } from '../policies/rule.ts';
import { didYouMean } from '../problems/suggest.ts';
import { UserError } from '../problems/user-error.ts';
import { durationSeconds } from '../project/duration.ts';
import { InvalidProject } from '../project/invalid-project.ts';
import type { SecretSettings } from '../project/secret-settings.ts';
import { isObject, type Json, type JsonObject } from '../values/json.ts';
import { Secret } from '../values/value.ts';
import { type FleetRule, matchesAddress, ruleFor, sourceIn } from './addresses.ts';
import { fleetSchema, plainPattern } from './fleet-schema.ts';

export const FLEET_FILE = 'fleet.yaml';

interface AnySource {
  readonly name: string;
  /** Globs of project folders; `.` is the root, and a leading `!` excludes folders. */
  readonly projects: readonly string[];
  /** Milliseconds between two fetches. */
  readonly interval: number;
  /** The absolute path of the folder with secrets. It may contain the placeholders `{source}` and `{project}`. */
  readonly secrets: string | undefined;
  /** The sources of secrets, if the fleet file has a list of them instead of a folder. */
  readonly secretSources: SecretSettings | undefined;
  /** True if projects may get secrets from commands. */
  readonly allowsCommands: boolean;
}

export interface GitSourceSettings extends AnySource {
  readonly git: Secret | string;
  readonly ref: string;
  /** The secret with which the code host signs its events. */
  readonly webhook: Secret | undefined;
  readonly pullRequests: PullRequestSettings | undefined;
}

/** The settings for the API of a code host. */
export interface PullRequestSettings {
  readonly credentials:
    | { readonly token: Secret }
    | { readonly app: { readonly id: number; readonly privateKey: Secret } };
  readonly host: HostName | undefined;
  /** The address of the API, without a trailing slash. */
  readonly api: string | undefined;
  /** True if pull requests from forks are planned too, with the secrets of the workspace. */
  readonly forks: boolean;
}

interface FolderSourceSettings extends AnySource {
  /** The absolute path of the folder. */
  readonly path: string;
}

export type SourceSettings = GitSourceSettings | FolderSourceSettings;

/** A validated `fleet.yaml`. All durations are milliseconds. */
export interface FleetFile {
  /** The absolute path of the file's folder, which contains `.voxform/fleet`. */
  readonly folder: string;
  readonly database: Secret | string | undefined;
  readonly sources: readonly SourceSettings[];
  readonly rules: readonly FleetRule[];
  readonly limits: Readonly<Record<'concurrency' | 'runs' | 'values' | 'characters', number>>;
  /** Policies that apply to every project. A project can only add further policies. */
  readonly policies: PolicySource;
  readonly timeout: number;
  readonly retention: number;
  /** The public address of the page, without a trailing slash. */
  readonly address: string | undefined;
  /** The addresses of webhooks that are notified of freezes. */
  readonly notify: readonly (Secret | string)[];
  /** Single sign-on for the page. */
  readonly signIn: SignInSettings | undefined;
}

/** The setting `sign_in` of the fleet file. */
export interface SignInSettings {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: Secret | undefined;
  /** The public address of the page, without a trailing slash. */
  readonly address: string;
  readonly nameClaim: string;
  readonly groupsClaim: string;
  /** Groups by role; `*` stands for everyone. */
  readonly roles: { readonly [R in Role]?: readonly string[] | undefined };
  /** The duration of a session in milliseconds. */
  readonly session: number;
}

/** The settings of workspaces without a matching rule. */
const DEFAULT_RULE = { mode: 'report', interval: 300_000, onDrift: undefined, reviews: undefined } as const;

/** Returns the settings of a workspace. */
export function ruleOf(rules: readonly FleetRule[], address: string): Omit<FleetRule, 'pattern'> {
  return ruleFor(rules, address) ?? DEFAULT_RULE;
}

/**
 * Loads the fleet file at an absolute path.
 * @throws InvalidProject with all problems of the file; UserError if the file cannot be read.
 */
export function loadFleetFile(fleetFile: string, env: Environment): FleetFile {
  const [folder, file] = [path.dirname(fleetFile), path.basename(fleetFile)];
  const read = readTextFile(fleetFile);
  if ('problem' in read) {
    if (read.problem.code !== 'unreadable-file')
      throw new InvalidProject([{ severity: 'error', file, ...read.problem }]);
    throw new UserError(`${fleetFile}: ${read.problem.message}`, {
      hint: `Run the command in the folder with ${FLEET_FILE}, or pass --file FILE.`,
    });
  }
  const { value, findings } = onlyDocument(read.text, { file, name: 'the fleet file' });
  const checked = value === undefined ? { problems: [] } : check(value, { folder, file, env });
  const problems = checked.problems.map(({ code, message, path: keys, at }) => {
    return { severity: 'error', code, message, file, place: { document: 0, path: keys, at } } as const;
  });
  const all = [...findings, ...problems];
  if (all.length === 0 && checked.fleet !== undefined) return checked.fleet;
  throw new InvalidProject(locate(all, (each) => path.join(folder, each)));
}

function check(
  raw: Json,
  { folder, file, env }: { readonly folder: string; readonly file: string; readonly env: Environment },
): { readonly fleet?: FleetFile; readonly problems: readonly Problem[] } {
  const problems: Problem[] = [];
  const document = withSecrets(raw, env, problems);
  const settings = isObject(document) ? document : {};
  if (isObject(settings.sources) && isObject(settings.workspaces))
    problems.push(...ruleProblems(Object.keys(settings.workspaces), Object.keys(settings.sources)));
  const parsed = fleetSchema.safeParse(document);
  if (!parsed.success) {
    problems.push(...problemsIn(parsed.error, { schema: fleetSchema, value: document, name: 'the fleet file' }));
    return { problems };
  }
  const {
    database,
    sources: namedSources,
    workspaces = {},
    limits = {},
    policies = [],
    timeout,
    retention,
    address,
    notify = [],
    sign_in: signIn,
  } = parsed.data;
  const rules = Object.entries(workspaces).map(([pattern, rule]): FleetRule => {
    return {
      pattern,
      mode: rule.mode ?? DEFAULT_RULE.mode,
      interval: milliseconds(rule.interval, DEFAULT_RULE.interval),
      onDrift: rule.on_drift,
      reviews: rule.approved_by && (rule.reviews ?? 1),
    };
  });
  const sources = Object.entries(namedSources).map(([name, source]): SourceSettings => {
    const {
      git,
      ref = 'main',
      path: sourceFolder = '',
      projects = ['.'],
      interval,
      secrets,
      allow_commands,
      webhook,
      pull_requests,
    } = source;
    const secretSources = typeof secrets === 'string' ? undefined : secrets;
    const secretsFolder = typeof secrets === 'string' ? secrets : secrets?.flatMap((each) => folderIn(each) ?? [])[0];
    const common = {
      name,
      projects: projects.map((each) => (each.startsWith('!') ? `!${plainPattern(each.slice(1))}` : plainPattern(each))),
      secrets: secretsFolder === undefined ? undefined : path.resolve(folder, secretsFolder),
      secretSources,
      allowsCommands: allow_commands ?? false,
    };
    return git === undefined
      ? { ...common, path: path.resolve(folder, sourceFolder), interval: milliseconds(interval, 2000) }
      : {
          ...common,
          git,
          ref,
          webhook,
          pullRequests: pull_requests && pullRequestSettings(pull_requests),
          interval: milliseconds(interval, 30_000),
        };
  });
  for (const source of sources) problems.push(...sourceProblems(source, folder));
  problems.push(...reviewProblems(rules, sources));
  problems.push(...duplicateSources(sources));
  const fleet: FleetFile = {
    folder,
    database,
    sources,
    rules,
    limits: {
      concurrency: limits.concurrency ?? 64,
      runs: limits.runs ?? 8,
      values: limits.values ?? 1_000_000,
      characters: limits.characters ?? 16_000_000,
    },
    policies: { of: 'fleet', file, path: path.join(folder, file), policies },
    timeout: milliseconds(timeout, 600_000),
    retention: milliseconds(retention, 90 * 86_400_000),
    address: address?.replace(/\/+$/, ''),
    notify: notify.map(({ url }) => url),
    signIn: signIn && signInSettings(signIn, address),
  };
  return { fleet, problems };
}

type PullRequestsInFile = NonNullable<z.infer<typeof fleetSchema>['sources'][string]['pull_requests']>;

function pullRequestSettings({ token, app, host, api, forks = false }: PullRequestsInFile): PullRequestSettings {
  // The schema requires exactly one of app and token.
  const credentials =
    app === undefined ? { token: token as Secret } : { app: { id: app.id, privateKey: app.private_key } };
  return { credentials, host, api: api?.replace(/\/+$/, ''), forks };
}

type SignInInFile = NonNullable<z.infer<typeof fleetSchema>['sign_in']>;

/** @param address the top-level address in the fleet file. The schema requires it or `sign_in.address`. */
function signInSettings(signIn: SignInInFile, address = ''): SignInSettings {
  return {
    issuer: signIn.issuer,
    clientId: signIn.client_id,
    clientSecret: signIn.client_secret,
    address: (signIn.address ?? address).replace(/\/+$/, ''),
    nameClaim: signIn.name_claim ?? 'email',
    groupsClaim: signIn.groups_claim ?? 'groups',
    roles: signIn.roles,
    session: milliseconds(signIn.session, 8 * 3_600_000),
  };
}

/** Returns the secrets of the fleet file itself. No project may use them. */
export function secretsOfFleet({ database, sources, notify, signIn }: FleetFile): Secret[] {
  const all = [
    database,
    signIn?.clientSecret,
    ...notify,
    ...sources.flatMap((source) => ('git' in source ? secretsOfSource(source) : [])),
  ];
  return all.filter((each) => each instanceof Secret);
}

function secretsOfSource({ git, webhook, pullRequests }: GitSourceSettings) {
  const credentials = pullRequests?.credentials;
  if (credentials === undefined) return [git, webhook];
  return [git, webhook, 'token' in credentials ? credentials.token : credentials.app.privateKey];
}

function folderIn(source: SecretSettings[number]): string | undefined {
  return typeof source === 'object' && 'folder' in source ? source.folder : undefined;
}

function milliseconds(duration: string | undefined, defaultMs: number): number {
  return duration === undefined ? defaultMs : durationSeconds(duration) * 1000;
}

/** Returns the document with each `$secret` or `$env` form replaced by a `Secret`. */
function withSecrets(raw: Json, env: Environment, problems: Problem[]): unknown {
  if (!isObject(raw)) return raw;
  const inputs = new Inputs({
    root: '',
    env,
    secrets: new SecretReader([new EnvironmentSource(env)]),
    vars: {},
    mustBeSet: false,
  });
  const toSecret = (written: Json, at: Problem['path']): unknown => {
    if (!isForm(written)) return written;
    const { $secret, $env } = written as JsonObject;
    if (typeof ($secret ?? $env) !== 'string') return written;
    const { value, problems: found } = evaluateForms(written, {
      inputs,
      folderOf: () => '',
      refKinds: undefined,
      mayUseVars: false,
    });
    for (const problem of found) problems.push({ ...problem, path: [...at, ...problem.path] });
    const text = typeof value === 'string' && value !== '' ? value : undefined;
    return value instanceof Secret ? value : new Secret(String($env), text);
  };
  const document = raw as JsonObject;
  const sources = isObject(document.sources)
    ? Object.fromEntries(
        Object.entries(document.sources as JsonObject).map(([name, source]) => {
          return [
            name,
            withSecretsAt(source as JsonObject, SOURCE_SECRETS, (value, at) =>
              toSecret(value, ['sources', name, ...at]),
            ),
          ];
        }),
      )
    : document.sources;
  return {
    ...document,
    ...(document.database !== undefined && { database: toSecret(document.database, ['database']) }),
    ...(sources !== undefined && { sources }),
    ...(Array.isArray(document.notify) && {
      notify: document.notify.map((each: Json, index) =>
        withSecretsAt(each, [['url']], (value, at) => toSecret(value, ['notify', index, ...at])),
      ),
    }),
    ...(document.sign_in !== undefined && {
      sign_in: withSecretsAt(document.sign_in, [['client_secret']], (value, at) => toSecret(value, ['sign_in', ...at])),
    }),
  };
}

/** The paths of the secret settings of a source. */
const SOURCE_SECRETS = [['git'], ['webhook'], ['pull_requests', 'token'], ['pull_requests', 'app', 'private_key']];

function withSecretsAt(
  value: Json,
  paths: readonly (readonly string[])[],
  toSecret: (value: Json, at: readonly string[]) => unknown,
  at: readonly string[] = [],
): unknown {
  if (paths.some((path) => path.length === 0)) return toSecret(value, at);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value as JsonObject).map(([key, inner]) => {
      const inside = paths.filter(([first]) => first === key).map(([, ...rest]) => rest);
      return [key, inside.length === 0 ? inner : withSecretsAt(inner, inside, toSecret, [...at, key])];
    }),
  );
}

function sourceProblems(source: SourceSettings, folder: string): Problem[] {
  if (!('git' in source)) return [];
  const { git, name } = source;
  const at = { path: ['sources', name, 'git'], at: 'value' } as const;
  const text = git instanceof Secret ? (git.isSet ? git.reveal() : undefined) : git;
  if (text === undefined) return [];
  try {
    const { credentials, url } = parseGitAddress(text, { cwd: folder, option: 'git' });
    if (credentials !== undefined && !(git instanceof Secret)) {
      const message = 'git: the password must not be in the fleet file; use { $secret: NAME } or { $env: NAME }';
      return [{ code: 'plain-secret', message, ...at }];
    }
    if (source.pullRequests === undefined || repositoryOnHost(url, source.pullRequests) !== undefined) return [];
    const message = `pull requests can be planned only on GitHub and GitLab, but the Git address belongs to neither; for a self-hosted server, set host (${hostNames.join(' or ')}) and, if needed, api`;
    return [{ code: 'unknown-host', message, path: ['sources', name, 'pull_requests'], at: 'key' }];
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return [{ code: 'bad-format', message: `${error.message}. ${error.hint ?? ''}`.trim(), ...at }];
  }
}

function ruleProblems(patterns: readonly string[], sources: readonly string[]): Problem[] {
  return patterns.flatMap((pattern, index): Problem[] => {
    const at = { path: ['workspaces', pattern], at: 'key' } as const;
    const source = sourceIn(pattern);
    if (source !== undefined && !sources.includes(source)) {
      const near = didYouMean(source, sources) || `; sources: ${sources.join(', ')}`;
      return [{ code: 'unknown-source', message: `unknown source ${JSON.stringify(source)}${near}`, ...at }];
    }
    // A pattern that matches another pattern also matches all addresses that the other pattern matches.
    const earlier = patterns.slice(0, index).find((each) => matchesAddress(each, pattern));
    if (earlier === undefined) return [];
    const message = `${JSON.stringify(pattern)} never applies: ${JSON.stringify(earlier)} above it matches the same addresses; move it up or remove it`;
    return [{ code: 'unreachable-rule', message, ...at }];
  });
}

/** Reports rules that require reviews although no matching source has pull requests. */
function reviewProblems(rules: readonly FleetRule[], sources: readonly SourceSettings[]): Problem[] {
  return rules.flatMap(({ pattern, reviews }): Problem[] => {
    const named = sourceIn(pattern);
    const own = sources.filter(({ name }) => named === undefined || named === name);
    if (reviews === undefined || own.some((each) => 'git' in each && each.pullRequests !== undefined)) return [];
    const message = `approved_by: no source of these workspaces has pull_requests`;
    return [{ code: 'no-pull-requests', message, path: ['workspaces', pattern, 'approved_by'], at: 'key' }];
  });
}

/** Reports sources that are equal to an earlier source, because every workspace would be in both sources. */
function duplicateSources(sources: readonly SourceSettings[]): Problem[] {
  return sources.flatMap((source, index): Problem[] => {
    const same = sources.slice(0, index).find((each) => keyOf(each) === keyOf(source));
    if (same === undefined) return [];
    const message = `${source.name} has the same projects as ${same.name}; remove one of them, or give each its own projects`;
    return [{ code: 'overlapping-sources', message, path: ['sources', source.name], at: 'key' }];
  });
}

function keyOf(source: SourceSettings): string {
  return JSON.stringify([locationKey(source), source.projects]);
}

/** Returns a key that is equal for two sources with the same folder or branch. Never log the key, because it may contain a secret. */
export function locationKey(source: SourceSettings): string {
  return JSON.stringify('git' in source ? [textOf(source.git), source.ref] : [source.path]);
}

function textOf(git: Secret | string): string {
  if (!(git instanceof Secret)) return git;
  return git.isSet ? git.reveal() : git.name;
}
