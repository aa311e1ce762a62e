import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { duplicateAddresses, identityFindings } from '../manifests/check-identities.ts';
import { referenceFindings } from '../manifests/check-references.ts';
import { checkSpec } from '../manifests/check-spec.ts';
import type { Checked, Declaration } from '../manifests/declaration.ts';
import { type KnownNames, readEnvelope } from '../manifests/envelope.ts';
import { findFiles } from '../manifests/find-files.ts';
import type { Finding } from '../manifests/finding.ts';
import { type Environment, Inputs } from '../manifests/inputs.ts';
import type { KindSchema, LookupName } from '../manifests/kind-schema.ts';
import { findingIn } from '../manifests/layers.ts';
import { parseDocuments } from '../manifests/parse-documents.ts';
import { locate } from '../manifests/positions.ts';
import { readTextFile } from '../manifests/read-file.ts';
import type { Resource } from '../manifests/resource.ts';
import { evaluateForms, type FormsContext } from '../manifests/value-forms.ts';
import { isObject } from '../values/json.ts';
import { isSpecial, type Value } from '../values/value.ts';
import { Overlays } from './overlays.ts';
import type { Desired, Project, WorkspaceConfig } from './project.ts';

export interface LoadOptions {
  readonly project: Project;
  readonly workspace: WorkspaceConfig;
  readonly kinds: ReadonlyMap<string, KindSchema>;
  readonly lookups: ReadonlyMap<string, LookupName>;
  readonly env: Environment;
  /** Secrets and environment variables that values take need not be set for `offline`. */
  readonly mode: 'offline' | 'offline-with-secrets' | 'live';
}

/** Files that are read before other work gets a turn. */
const FILES_A_TURN = 32;

/**
 * Everything that the manifests declare for one workspace: read, merged with defaults and patches, and checked. What is wrong in what
 * people wrote is a diagnostic, never an exception.
 */
export async function loadDesired(options: LoadOptions): Promise<Desired> {
  const { project, workspace, lookups } = options;
  const findings: Finding[] = [];
  const { unique, findings: duplicates } = duplicateAddresses(await readDeclarations(options, findings));
  findings.push(...duplicates);

  const overlays = new Overlays(options);
  findings.push(...overlays.findings(unique));
  const skipped = new Set<string>();
  const checked: Checked[] = [];
  const resources: Resource[] = [];
  const contexts = formsContexts(options, overlays);
  for (const declaration of unique) {
    if (overlays.skips(declaration.address)) {
      skipped.add(declaration.address);
      continue;
    }
    const made = makeResource(declaration, overlays, contexts(declaration));
    findings.push(...made.findings);
    checked.push(made.checked);
    resources.push(made.resource);
  }
  findings.push(...identityFindings(checked));
  findings.push(...referenceFindings({ resources: checked, skipped, workspace: workspace.name, lookups }));
  return {
    resources: resources.sort((a, b) => (a.address < b.address ? -1 : 1)),
    diagnostics: locate(findings, (file) => path.join(project.root, file)),
  };
}

/** The declarations of all files, in file order; `findings` collects what is wrong in files and envelopes. */
async function readDeclarations(options: LoadOptions, findings: Finding[]): Promise<Declaration[]> {
  const { project } = options;
  const files = manifestFiles(project, findings);
  const declarations: Declaration[] = [];
  for (const [index, file] of files.entries()) {
    if (index % FILES_A_TURN === FILES_A_TURN - 1) await setImmediate();
    readFile(file, options, { declarations, findings });
  }
  return declarations;
}

function manifestFiles(project: Project, findings: Finding[]): readonly string[] {
  const { files, patterns, entries } = findFiles(project.root, project.manifests);
  const about = { file: project.file ?? 'manifests' };
  const place = (...at: (string | number)[]) =>
    project.file === undefined ? {} : { place: { document: 0, path: at, at: 'value' as const } };
  for (const { index, code, message } of patterns) {
    const severity = code === 'no-match' ? 'warning' : 'error';
    if (severity === 'warning' && files.length === 0) continue;
    findings.push({ severity, code, message, ...about, ...place('manifests', index) });
  }
  for (const entry of entries) findings.push({ severity: 'error', ...entry });
  if (files.length === 0 && findings.length === 0) {
    const message = `no manifests: no file matches ${project.manifests.join(', ')}`;
    findings.push({ severity: 'warning', code: 'no-manifests', message, ...about, ...place('manifests') });
  }
  return files;
}

interface Reading {
  readonly declarations: Declaration[];
  readonly findings: Finding[];
}

function readFile(file: string, { project, kinds, lookups }: LoadOptions, into: Reading): void {
  const read = readTextFile(path.join(project.root, file));
  if ('problem' in read) {
    into.findings.push({ severity: 'error', file, ...read.problem });
    return;
  }
  const { documents, problems } = parseDocuments(read.text);
  for (const problem of problems) into.findings.push({ severity: 'error', file, ...problem });
  if (documents.length === 0 && problems.length === 0) {
    into.findings.push({
      severity: 'warning',
      code: 'empty-file',
      message: 'the file declares nothing',
      file,
    });
  }
  const known: KnownNames = { kinds, lookups };
  for (const { index, line, value } of documents) {
    if (value === undefined) continue;
    const { envelope, problems: wrong } = readEnvelope(value, known);
    for (const { path: at, at: end, ...problem } of wrong) {
      into.findings.push({
        severity: 'error',
        ...problem,
        file,
        place: { document: index, path: at, at: end },
      });
    }
    if (envelope === undefined) continue;
    const { kind, metadata, spec } = envelope;
    into.declarations.push({
      address: `${kind.name}/${metadata.name}`,
      kind,
      metadata,
      source: { file, line },
      home: { value: spec, file, document: index, base: ['spec'] },
    });
  }
}

/** One set of inputs for the whole load, so that each file and secret is read once. */
function formsContexts(options: LoadOptions, overlays: Overlays): (declaration: Declaration) => FormsContext {
  const { project, workspace, kinds, lookups, env, mode } = options;
  const { root } = project;
  const { secretsDir, vars } = workspace;
  const inputs = new Inputs({ root, env, secretsDir, vars, mustBeSet: mode !== 'offline' });
  const refKinds = [...kinds.keys(), ...lookups.keys()];
  return ({ source }) => {
    const folder = path.join(root, path.dirname(source.file));
    return { inputs, refKinds, folderOf: (form) => (overlays.holds(form) ? root : folder) };
  };
}

interface Made {
  readonly resource: Resource;
  readonly checked: Checked;
  readonly findings: readonly Finding[];
}

function makeResource(declaration: Declaration, overlays: Overlays, context: FormsContext): Made {
  const { address, kind, metadata, source, home } = declaration;
  const { sources, value } = overlays.lay(declaration);
  const { value: spec, hasSpecials, problems: inForms } = evaluateForms(value, context);
  const { problems, references } = checkSpec(kind, spec, hasSpecials);
  const wrong = [...inForms, ...(isObject(home.value) ? problems : [])];
  const own = isObject(spec) && !isSpecial(spec) ? (spec as { readonly [key: string]: Value }) : {};
  const naturalKey = kind.naturalKey?.(own);
  const isRight = naturalKey !== undefined && !wrong.some(({ path: [top] }) => top === naturalKey.field);
  return {
    resource: {
      address,
      kind: kind.name,
      name: metadata.name,
      labels: metadata.labels ?? {},
      id: metadata.id,
      previousNames: metadata.previous_names ?? [],
      ignoreDrift: metadata.ignore_drift ?? [],
      mayReplace: metadata.replace === 'allow',
      spec: own,
      source,
    },
    checked: {
      ...declaration,
      ...sources,
      references,
      naturalKey: isRight ? { path: naturalKey.field.split('.'), key: naturalKey.key } : undefined,
    },
    findings: wrong.map((problem) => findingIn(sources, problem)),
  };
}
