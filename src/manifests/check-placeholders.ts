import { isObject, type Json, type JsonObject } from '../values/json.ts';
import { isSymbolic, Join, type Value } from '../values/value.ts';
import type { Finding } from './finding.ts';
import { globMatcher } from './glob.ts';
import { type FoundPlaceholder, findingIn, isForm, type SpecSources } from './layers.ts';
import { lineAndColumn } from './read-file.ts';

/** Matches `${name}`, and a value form inside a string. The limits keep the search linear for hostile input. */
const PLACEHOLDER =
  /\$\{[ \t]{0,8}(?<name>[A-Za-z_][\w.-]{0,63})[^{}\n]{0,64}\}|\{[ \t]{0,8}\$(?<form>var|env|secret|file):[ \t]{0,8}(?<argument>[^{}\s]{1,200})[ \t]{0,8}\}/g;

interface WithPlaceholders extends SpecSources {
  readonly placeholders: readonly FoundPlaceholder[];
}

interface Evaluation {
  /** Returns the value of one part of a `$join`. */
  evaluate(raw: Json): Value;
  /** Returns the path, relative to the project folder, of the file that a `$file` form includes. */
  fileOf(form: JsonObject): string;
}

/**
 * Returns every `${name}` and `{ $var: name }` in the strings of a spec.
 * @param written the spec before its forms were evaluated.
 */
export function placeholdersIn(
  spec: Value,
  written: unknown,
  { evaluate, fileOf }: Evaluation,
): readonly FoundPlaceholder[] {
  const found: FoundPlaceholder[] = [];
  const path: (string | number)[] = [];
  const visitPart = (part: string | number, value: Value, raw: unknown): void => {
    path.push(part);
    visit(value, raw);
    path.pop();
  };
  const visit = (value: Value, raw: unknown): void => {
    if (typeof value === 'string' && !(value.includes('${') || value.includes('$', value.indexOf('{') + 1))) return;
    const form = isForm(raw) ? raw : {};
    const { $join: parts } = form;
    if (Array.isArray(parts)) {
      path.push('$join');
      for (const [index, part] of parts.entries()) visitPart(index, evaluate(part), part);
      path.pop();
    } else if (typeof value === 'string') {
      for (const { groups = {}, index: offset } of value.matchAll(PLACEHOLDER)) {
        const { form: formName, argument = '', name = argument } = groups;
        const included = typeof form.$file === 'string' && {
          included: { file: fileOf(form), ...lineAndColumn(value, offset) },
        };
        found.push({ name, form: formName, path: [...path], offset, ...included });
      }
    } else if (value instanceof Join) for (const part of value.parts) visit(part, undefined);
    else if (typeof value === 'object' && value !== null && !isSymbolic(value)) {
      const rawParts = (isObject(raw) || Array.isArray(raw)) && !isForm(raw) ? raw : {};
      for (const [key, part] of Object.entries<Value>(value))
        visitPart(Array.isArray(value) ? Number(key) : key, part, (rawParts as JsonObject)[key]);
    }
  };
  visit(spec, written);
  return found;
}

/**
 * Returns one warning for each name in a `${name}` or in a form inside a string, at its first occurrence, because the text is sent
 * unresolved. `{{ name }}` is not reported, because the platform may resolve it.
 * @param allowed names that are sent unchanged; `*` matches any characters.
 */
export function placeholderFindings(resources: readonly WithPlaceholders[], allowed: readonly string[]): Finding[] {
  const isAllowed = globMatcher(allowed, { dot: true });
  const found = new Map<string, { readonly first: Finding; count: number }>();
  for (const resource of resources) {
    for (const placeholder of resource.placeholders) {
      const { name } = placeholder;
      const known = found.get(name);
      if (known !== undefined) known.count += 1;
      else if (!isAllowed(name)) found.set(name, { first: findingAt(resource, placeholder), count: 1 });
    }
  }
  return [...found.values()].map(({ first, count }) =>
    count === 1 ? first : { ...first, message: `${first.message} (${count} places)` },
  );
}

function findingAt(resource: SpecSources, { name, form, path, offset, included }: FoundPlaceholder): Finding {
  const code = 'unresolved-placeholder';
  const replacement = `{ $${form ?? 'var'}: ${name} }`;
  const written = form === undefined ? `\${${name}}` : replacement;
  const message = `${written} is sent unchanged: insert ${replacement} with $join, or list ${name} under literal_variables`;
  if (included !== undefined) return { severity: 'warning', code, message, ...included };
  const finding = findingIn(resource, { code, message, path, at: 'value' });
  return { ...finding, severity: 'warning', ...(finding.place && { place: { ...finding.place, offset } }) };
}
