import { checkSpec } from '../manifests/check-spec.ts';
import type { Finding, Problem } from '../manifests/finding.ts';
import type { Inputs } from '../manifests/inputs.ts';
import type { KindSchema } from '../manifests/kind-schema.ts';
import { findingIn, isForm, type SpecSources } from '../manifests/layers.ts';
import { evaluateForms } from '../manifests/value-forms.ts';
import type { JsonObject } from '../values/json.ts';

export interface DefaultsCheck {
  readonly kind: KindSchema;
  readonly defaults: JsonObject;
  /** Where they and the variables of the workspace stand. */
  readonly sources: SpecSources;
  /** Of a load that does without what is not set. */
  readonly inputs: Inputs;
  readonly refKinds: readonly string[];
}

/**
 * What is wrong in the defaults of a kind, whether or not a manifest takes them. Manifests add the fields that defaults leave out, and
 * a workspace needs no variable that none of its manifests takes.
 */
export function defaultsFindings({ kind, defaults, sources, inputs, refKinds }: DefaultsCheck): Finding[] {
  const finding = (problem: Problem): Finding => findingIn(sources, problem);
  if (isForm(defaults)) {
    const message = `the defaults of ${kind.name} must be an object of fields; value forms are for single fields only`;
    return [finding({ code: 'bad-form', message, path: [], at: 'value' })];
  }
  const { root } = inputs.sources;
  const forms = evaluateForms(defaults, { inputs, refKinds, folderOf: () => root });
  const { problems } = checkSpec(kind, forms.value, forms.hasSpecials);
  const isOwn = ({ code, path }: Problem): boolean =>
    code !== 'missing-var' && (code !== 'missing-field' || path.some((part) => typeof part === 'number'));
  return [...forms.problems, ...problems].filter(isOwn).map(finding);
}
