import path from 'node:path';
import { placeholderFindings, placeholdersIn } from '../manifests/check-placeholders.ts';
import { duplicateAddresses, identityFindings, referenceFindings } from '../manifests/check-resources.ts';
import { checkSpec } from '../manifests/check-spec.ts';
import { type Finding, findingOf } from '../manifests/finding.ts';
import type { KindSchema, LookupName } from '../manifests/kind-schema.ts';
import { type CheckedDeclaration, type Declaration, findingIn, formsIn } from '../manifests/layers.ts';
import type { Resource } from '../manifests/resource.ts';
import type { Environment } from '../manifests/secret-reader.ts';
import { evaluateForms, type FormsContext, Inputs, isSecretName } from '../manifests/value-forms.ts';
import type { Diagnostic } from '../problems/diagnostic.ts';
import { isObject, type Json, type JsonObject, lengthOfPart, totalSize } from '../values/json.ts';
import { isSymbolic, type Value } from '../values/value.ts';
import { Overlays } from './overlays.ts';
import type { Desired, ProjectConfig, WorkspaceConfig } from './project.ts';
import {
  type EvaluatedResource,
  type LoadMemory,
  type ReadDeclarations,
  readDeclarations,
  withoutFollowOnFindings,
} from './read-declarations.ts';
import { TimeSlices } from './time-slices.ts';

export interface LoadDesiredOptions {
  readonly project: ProjectConfig;
  readonly workspace: WorkspaceConfig;
  readonly kinds: ReadonlyMap<string, KindSchema>;
  readonly lookups: ReadonlyMap<string, LookupName>;
  readonly env: Environment;
  /** All modes except `live` and `offline-with-secrets` allow unset secrets and variables. `readSecrets` describes which secrets each mode reads. */
  readonly mode: 'without-secrets' | 'offline' | 'lenient' | 'offline-with-secrets' | 'live';
  /** Declarations that were already read, for another workspace of the project. */
  readonly declarations?: ReadDeclarations | undefined;
  readonly listener?: LoadListener | undefined;
  /** True to return the source of each part of a spec. */
  readonly withSources?: boolean | undefined;
  /** Results of earlier loads with the same kinds, environment and mode. */
  readonly memory?: LoadMemory | undefined;
  /** Aborts the load with a UserError. */
  readonly signal?: AbortSignal | undefined;
}

/** Receives declarations while the manifests are read. The declarations are not checked yet. */
export interface LoadListener {
  /** Called for each resource that the workspace does not skip, possibly more than once, with the spec as written. */
  onDeclaration(address: string, spec: Json): void;
  /** Called for each reference, with the kind of its target. */
  onReference(kind: string): void;
}

/** Reads all manifests for one workspace, applies defaults and patches, and checks them. Problems in files become diagnostics. */
export async function loadDesired(options: LoadDesiredOptions): Promise<Desired> {
  const { project, workspace, lookups, listener, memory } = options;
  const overlays = new Overlays(options);
  const onDeclaration = ({ address, home }: Declaration): void => {
    if (!overlays.skips(address)) listener?.onDeclaration(address, home.value);
  };
  const read = options.declarations ?? (await readDeclarations(project, { ...options, onDeclaration }));
  if (options.declarations !== undefined) read.declarations.forEach(onDeclaration);
  const { duplicates, findings: duplicateFindings } = duplicateAddresses(read.declarations);
  await readSecrets(
    options,
    read.declarations.filter(({ address }) => !overlays.skips(address)),
  );
  const offline = inputsFor({ ...options, mode: 'offline' });
  const findings = [read.findings, duplicateFindings, overlays.findings(read.declarations, offline)];
  const skipped = new Set<string>();
  const checked: CheckedDeclaration[] = [];
  const resources: Resource[] = [];
  const inputs = inputsFor(options);
  const contexts = formsContexts(options, overlays, inputs);
  memory?.beginLoad(project, workspace);
  const slices = new TimeSlices(options.signal);
  const { maxCharacters } = project;
  let characters = 0;
  for (const declaration of read.declarations) {
    if (slices.isOver()) await slices.next();
    if (overlays.skips(declaration.address)) {
      skipped.add(declaration.address);
      continue;
    }
    const evaluate = () => evaluateResource(declaration, overlays, contexts(declaration));
    const evaluated = memory?.resource(declaration, inputs, evaluate) ?? evaluate();
    for (const { reference } of evaluated.checked.references) listener?.onReference(reference.kind);
    findings.push(evaluated.findings);
    if (maxCharacters !== undefined) {
      characters += totalSize(evaluated.resource.spec as Json, maxCharacters, lengthOfPart);
      if (characters > maxCharacters) return { resources: [], diagnostics: [tooLarge(options, maxCharacters)] };
    }
    if (duplicates.has(declaration)) continue;
    checked.push(evaluated.checked);
    resources.push(evaluated.resource);
  }
  findings.push(
    identityFindings(checked, { ids: workspace.ids === undefined }),
    placeholderFindings(checked, project.literalVariables),
  );
  if (options.mode === 'offline-with-secrets') {
    findings.push(settingFindings(project, workspace), webhookFindings(project, inputs));
  }
  findings.push(
    referenceFindings({ resources: checked, skipped, workspace: workspace.name, lookups }),
    overlays.unusedNames(checked),
  );
  const reported = withoutFollowOnFindings(findings.flat(), read.unread);
  return {
    resources: resources.sort((a, b) => (a.address < b.address ? -1 : 1)),
    ...(options.withSources && { sources: new Map(checked.map((each) => [each.address, each])) }),
    // This loads the YAML parser, which is not needed if all manifests are valid and cached.
    diagnostics:
      reported.length === 0
        ? []
        : (await import('../manifests/positions.ts')).locate(reported, (file) => path.join(project.root, file)),
  };
}

/** Returns the problem of resources that are too large. One file may be part of any number of resources, so its size is not enough. */
function tooLarge({ project, workspace }: LoadDesiredOptions, maxCharacters: number): Diagnostic {
  const message = `the resources of ${workspace.name} have more than ${maxCharacters} characters with their files and defaults, the limit of the fleet; split the project, or raise limits.characters in the fleet file`;
  return { severity: 'error', code: 'too-many-characters', message, file: project.file ?? 'manifests' };
}

type InputOptions = Pick<LoadDesiredOptions, 'project' | 'workspace' | 'env' | 'mode'>;

/** Returns the inputs for evaluating `$secret`, `$env`, `$file` and `$var`. Each file is read once. The secrets must have been read before. */
export function inputsFor({ project: { root, workspaces }, workspace, env, mode }: InputOptions): Inputs {
  const { secrets, vars } = workspace;
  const allSecrets = Object.values(workspaces).map((each) => each.secrets);
  return new Inputs({
    root,
    env,
    secrets,
    allSecrets,
    vars,
    mustBeSet: mode === 'live' || mode === 'offline-with-secrets',
  });
}

/** Reads all secrets that a workspace may use. `offline` reads only local sources, and `without-secrets` reads nothing. */
async function readSecrets(
  { project, workspace, mode, signal }: InputOptions & Pick<LoadDesiredOptions, 'signal'>,
  declarations: readonly Declaration[],
): Promise<void> {
  const { secrets, patches } = workspace;
  if (mode === 'without-secrets' || secrets.isComplete) return;
  const webhooks = mode === 'offline-with-secrets' ? project.webhooks : [];
  const values = [...declarations.map(({ home }) => home.value), project.defaults, patches, webhooks];
  await secrets.read([...secrets.unread, ...values.flatMap(secretsIn)], {
    signal,
    offline: mode === 'offline',
  });
}

/** Returns the names of the secrets that a value refers to with `$secret`. */
export function secretsIn(value: unknown): string[] {
  return [...formsIn(value)].flatMap(({ form: { $secret } }) =>
    typeof $secret === 'string' && isSecretName($secret) ? [$secret] : [],
  );
}

/** Returns the names of the environment variables that a value refers to with `$env`. */
export function variablesIn(value: unknown): string[] {
  return [...formsIn(value)].flatMap(({ form: { $env } }) => (typeof $env === 'string' ? [$env] : []));
}

/** @param inputs the inputs that the whole load shares, so that each file is read once. */
function formsContexts(
  { project: { root }, workspace: { lookupNames }, kinds, lookups }: LoadDesiredOptions,
  overlays: Overlays,
  inputs: Inputs,
): (declaration: Declaration) => FormsContext {
  const refKinds = [...kinds.keys(), ...lookups.keys()];
  return ({ source }) => ({
    inputs,
    refKinds,
    lookupNames,
    folderOf: (form) => (overlays.holds(form) ? root : path.join(root, path.dirname(source.file))),
  });
}

function evaluateResource(declaration: Declaration, overlays: Overlays, context: FormsContext): EvaluatedResource {
  const { address, kind, metadata, source, home } = declaration;
  const { sources, value } = overlays.merged(declaration);
  const { value: spec, hasSymbolicLeaf, problems: formProblems } = evaluateForms(value, context);
  const { problems, references } = checkSpec(kind, spec, hasSymbolicLeaf);
  const allProblems = [...formProblems, ...(isObject(home.value) ? problems : [])];
  const fields = isObject(spec) && !isSymbolic(spec) ? (spec as { readonly [key: string]: Value }) : {};
  const naturalKey = kind.naturalKey?.(fields);
  const isKeyValid = naturalKey !== undefined && !allProblems.some(({ path: [top] }) => top === naturalKey.field);
  return {
    resource: {
      address,
      kind: kind.name,
      name: metadata.name,
      labels: metadata.labels ?? {},
      id: overlays.idOf(declaration),
      previousNames: metadata.previous_names ?? [],
      ignoreDrift: metadata.ignore_drift ?? [],
      mayReplace: metadata.replace === 'allow',
      spec: fields,
      source,
    },
    checked: {
      ...declaration,
      ...sources,
      spec: fields,
      references,
      placeholders: placeholdersIn(fields, value, {
        evaluate: (part) => evaluateForms(part, context).value,
        fileOf: (form) => includedFile(context, form),
      }),
      naturalKey: isKeyValid ? { path: naturalKey.field.split('.'), key: naturalKey.key } : undefined,
    },
    findings: allProblems.map((problem) => findingIn(sources, problem)),
  };
}

/** Returns the path of the file in `$file`, relative to the project folder, with forward slashes. */
function includedFile({ inputs, folderOf }: FormsContext, form: JsonObject): string {
  const file = path.resolve(folderOf(form), String(form.$file));
  return path.relative(inputs.sources.root, file).replaceAll(path.sep, '/');
}

/** Reports unset secrets and variables in the settings of a workspace. */
function settingFindings({ file }: ProjectConfig, { name, apiKey, secrets, unset = [] }: WorkspaceConfig): Finding[] {
  if (file === undefined) return [];
  const finding = (setting: string, problem: Pick<Finding, 'code' | 'message'>): Finding =>
    findingOf({ ...problem, path: ['workspaces', name, setting], at: 'value' }, file);
  const variables = unset.map(({ setting, variable }) =>
    finding(setting, {
      code: 'missing-variable',
      message: `the environment variable ${variable} is not set`,
    }),
  );
  const problem = apiKey.isSet || apiKey.name === '' ? undefined : secrets.problem(apiKey.name);
  return problem === undefined ? variables : [...variables, finding('api_key', problem)];
}

/** Reports unset secrets and variables of webhooks. A plan does not require them, because a run works without the webhooks. */
function webhookFindings({ file, webhooks }: ProjectConfig, inputs: Inputs): Finding[] {
  if (file === undefined) return [];
  return webhooks.flatMap(({ url, secret_header: header }, index) => {
    const forms = [
      { form: url, at: ['url'] },
      { form: header?.value, at: ['secret_header', 'value'] },
    ];
    return forms.flatMap(({ form, at }): Finding[] => {
      if (form === undefined || typeof form === 'string') return [];
      const read = inputs.named(form);
      return 'code' in read ? [findingOf({ ...read, path: ['notify', index, ...at], at: 'value' }, file)] : [];
    });
  });
}
