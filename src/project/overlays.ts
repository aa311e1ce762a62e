import { repeated, suggestAddress } from '../manifests/check-resources.ts';
import { checkSpec } from '../manifests/check-spec.ts';
import { type KnownNames, unknownKind } from '../manifests/envelope.ts';
import { type DocumentPath, type Finding, findingOf, type Problem, quoted } from '../manifests/finding.ts';
import { globMatcher } from '../manifests/glob.ts';
import { type KindSchema, NAME_SETTINGS } from '../manifests/kind-schema.ts';
import {
  type CheckedDeclaration,
  type Declaration,
  findingIn,
  formsIn,
  isForm,
  type Layer,
  mergePatch,
  type SpecSources,
  withDefaults,
} from '../manifests/layers.ts';
import { type Address, isGlob } from '../manifests/resource.ts';
import { evaluateForms, type FormsContext, type Inputs } from '../manifests/value-forms.ts';
import type { Fix } from '../problems/diagnostic.ts';
import { NO_HINT, suggestion } from '../problems/suggest.ts';
import type { Json, JsonObject } from '../values/json.ts';
import type { ProjectConfig, WorkspaceConfig } from './project.ts';

interface OverlayOptions extends KnownNames {
  readonly project: ProjectConfig;
  readonly workspace: WorkspaceConfig;
}

/** The defaults, patches and skipped resources of one workspace, from the project file. */
export class Overlays {
  readonly #options: OverlayOptions;
  readonly #skips: (address: string) => boolean;
  readonly #forms = new Set<unknown>();

  constructor(options: OverlayOptions) {
    const { project, workspace } = options;
    this.#options = options;
    this.#skips = skipMatcher(workspace.skip);
    for (const { form } of formsIn([project.defaults, workspace.patches])) this.#forms.add(form);
  }

  skips(address: string): boolean {
    return this.#skips(address);
  }

  /** Returns the id of the record to import, if any. */
  idOf({ address, metadata }: Declaration): string | undefined {
    const { ids } = this.#options.workspace;
    return ids === undefined ? metadata.id : ownValue(ids, address);
  }

  /** Returns true if the value form is in the project file. Its paths are then relative to the project folder. */
  holds(form: unknown): boolean {
    return this.#forms.has(form);
  }

  /** Returns the spec as written, merged with the defaults and the patch. */
  merged({ address, kind, home }: Declaration): { readonly value: Json; readonly sources: SpecSources } {
    const { project, workspace } = this.#options;
    const defaults = ownValue(project.defaults, kind.name);
    const patch = ownValue(workspace.patches, address);
    let { value } = home;
    const layers: Layer[] = [home];
    if (defaults !== undefined) {
      value = withDefaults(value, defaults);
      layers.push(this.#layer(defaults, ['defaults', kind.name]));
    }
    if (patch !== undefined) {
      value = mergePatch(value, patch);
      layers.unshift(this.#layer(patch, ['workspaces', workspace.name, 'patches', address]));
    }
    return { value, sources: { home, layers, vars: this.#vars() } };
  }

  /**
   * Reports invalid defaults, and invalid entries of `skip` and `dashboard` in any workspace. For this workspace, also reports entries of
   * `patches`, `ids` and `skip` without a manifest, and duplicate ids.
   * @param inputs the inputs of an offline load.
   */
  findings(declarations: readonly Declaration[], inputs: Inputs): Finding[] {
    const { project, workspace, kinds } = this.#options;
    const findings = this.#defaultsFindings(inputs);
    const dashboardKeys = [...kinds.values()].map(({ dashboardKey }) => dashboardKey);
    for (const { name, skip, dashboard = {} } of Object.values(project.workspaces)) {
      for (const problem of unknownSkippedKinds(skip, this.#options)) findings.push(this.#skipFinding(name, problem));
      for (const key of Object.keys(dashboard)) {
        if (dashboardKeys.includes(key)) continue;
        const { text, fix } = suggestion(key, dashboardKeys);
        const message = `unknown kind ${quoted(key)}${text || `; expected one of ${dashboardKeys.join(', ')}`}`;
        const problem = { code: 'unknown-field', message, fix };
        findings.push(this.#finding('error', problem, ['workspaces', name, 'dashboard', key]));
      }
    }
    const addresses = new Set(declarations.map(({ address }) => address));
    const base = ['workspaces', workspace.name];
    for (const setting of ['patches', 'ids'] as const) {
      for (const address of Object.keys(workspace[setting] ?? {})) {
        if (addresses.has(address)) continue;
        const { text, fix } = suggestAddress(address, addresses);
        const problem = { code: 'unknown-address', message: `no manifest declares ${address}${text}`, fix };
        findings.push({
          ...this.#finding('error', problem, [...base, setting, address]),
          absent: address,
        });
      }
    }
    for (const [[address], [first]] of repeated(Object.entries(workspace.ids ?? {}), ([, id]) => id)) {
      const problem = { code: 'duplicate-id', message: `${first} has the same id` };
      findings.push(this.#finding('error', problem, [...base, 'ids', address]));
    }
    for (const problem of unmatchedSkips(workspace.skip, addresses, this.#options)) {
      findings.push({
        ...this.#skipFinding(workspace.name, problem),
        absent: workspace.skip[problem.index] ?? '',
      });
    }
    return findings;
  }

  /** Warns about mapped names, such as those of knowledge bases, that no manifest refers to. */
  unusedNames(resources: readonly CheckedDeclaration[]): Finding[] {
    const { name, lookupNames = {} } = this.#options.workspace;
    const refs = resources.flatMap(({ references }) => references.map(({ reference }) => reference));
    return Object.entries(NAME_SETTINGS).flatMap(([kind, setting]) => {
      const used = new Set(refs.flatMap((reference) => (reference.kind === kind ? [reference.name] : [])));
      return Object.keys(lookupNames[kind] ?? {}).flatMap((key) => {
        if (used.has(key)) return [];
        const { text, fix } = suggestion(key, used);
        const problem = { code: 'unused-name', message: `no manifest refers to ${kind}/${key}${text}`, fix };
        return [this.#finding('warning', problem, ['workspaces', name, setting, key])];
      });
    });
  }

  #defaultsFindings(inputs: Inputs): Finding[] {
    const { project, workspace, kinds, lookups } = this.#options;
    const { lookupNames } = workspace;
    const refKinds = [...kinds.keys(), ...lookups.keys()];
    return Object.entries(project.defaults).flatMap(([name, defaults]): Finding[] => {
      const kind = kinds.get(name);
      if (kind === undefined) {
        const problem = { code: 'unknown-kind', ...unknownKind(name, this.#options) };
        return [this.#finding('error', problem, ['defaults', name])];
      }
      const home = this.#layer(defaults, ['defaults', name]);
      const sources = { home, layers: [home], vars: this.#vars() };
      return defaultsProblems(kind, defaults, {
        inputs,
        refKinds,
        lookupNames,
        folderOf: () => project.root,
      }).map((problem) => findingIn(sources, problem));
    });
  }

  #skipFinding(workspace: string, { severity, index, ...problem }: SkipProblem): Finding {
    return this.#finding(severity, problem, ['workspaces', workspace, 'skip', index]);
  }

  #vars(): SpecSources['vars'] {
    const { value: _, ...vars } = this.#layer(null, ['workspaces', this.#options.workspace.name, 'vars']);
    return vars;
  }

  #layer(value: Json, base: DocumentPath): Layer {
    return { value, file: this.#options.project.file ?? '', document: 0, base };
  }

  #finding(
    severity: 'error' | 'warning',
    problem: Pick<Problem, 'code' | 'message' | 'fix'>,
    path: DocumentPath,
  ): Finding {
    const at = typeof path.at(-1) === 'number' ? 'value' : 'key';
    return { ...findingOf({ ...problem, path, at }, this.#options.project.file ?? ''), severity };
  }
}

function ownValue<T>(record: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

/** Returns the problems of a kind's defaults. Fields may be missing: manifests add them. Not every workspace sets all variables. */
function defaultsProblems(kind: KindSchema, defaults: JsonObject, context: FormsContext): Problem[] {
  if (isForm(defaults)) {
    const message = `the defaults of ${kind.name} must be an object of fields; value forms are for single fields only`;
    return [{ code: 'bad-form', message, path: [], at: 'value' }];
  }
  const forms = evaluateForms(defaults, context);
  const { problems } = checkSpec(kind, forms.value, forms.hasSymbolicLeaf);
  const isReported = ({ code, path }: Problem): boolean =>
    code !== 'missing-var' && (code !== 'missing-field' || path.some((part) => typeof part === 'number'));
  return [...forms.problems, ...problems].filter(isReported);
}

/** An entry of `skip` without effect. */
interface SkipProblem {
  readonly severity: 'error' | 'warning';
  readonly code: string;
  readonly message: string;
  readonly fix?: Fix | undefined;
  readonly index: number;
}

export function skipMatcher(entries: readonly string[]): (address: Address) => boolean {
  return globMatcher(entries, OPTIONS);
}

/** Reports entries whose part before the slash matches no kind. */
function unknownSkippedKinds(entries: readonly string[], known: KnownNames): SkipProblem[] {
  return entries.flatMap((entry, index): SkipProblem[] => {
    const kind = kindPart(entry);
    if (kind === undefined || matchesAny(kind, known.kinds.keys())) return [];
    const { message } = unknownKind(kind, known);
    return [{ severity: 'error', code: 'unknown-kind', message, index }];
  });
}

/** Reports entries that match no declared resource, except those with unknown kinds. */
function unmatchedSkips(entries: readonly string[], addresses: ReadonlySet<Address>, known: KnownNames): SkipProblem[] {
  const reportedIndices = new Set(unknownSkippedKinds(entries, known).map(({ index }) => index));
  return entries.flatMap((entry, index): SkipProblem[] => {
    if (reportedIndices.has(index) || matchesAny(entry, addresses)) return [];
    const isPattern = isGlob(entry);
    const near = isPattern ? NO_HINT : suggestAddress(entry, addresses);
    const message = isPattern
      ? `no manifest declares a resource that ${entry} matches`
      : `no manifest declares ${entry}${near.text}`;
    return [{ severity: 'warning', code: 'unknown-address', message, fix: near.fix, index }];
  });
}

const OPTIONS = { dot: true } as const;

function matchesAny(pattern: string, texts: Iterable<string>): boolean {
  const matches = globMatcher([pattern], OPTIONS);
  return [...texts].some((text) => matches(text));
}

/** Returns the part before the first slash outside of brackets, if any. */
function kindPart(entry: string): string | undefined {
  let depth = 0;
  for (const [at, letter] of [...entry].entries()) {
    if ('{(['.includes(letter)) depth += 1;
    else if ('})]'.includes(letter)) depth -= 1;
    else if (letter === '/' && depth === 0) return [...entry].slice(0, at).join('') || undefined;
  }
  return undefined;
}
