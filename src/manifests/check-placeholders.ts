import picomatch from 'picomatch';
import { isSpecial, Join, type Value } from '../values/value.ts';
import type { DocumentPath, Finding } from './finding.ts';
import { findingIn, type SpecSources } from './layers.ts';

/** The limits keep the search linear for hostile texts. */
const PLACEHOLDER = /\$\{[ \t]{0,8}([A-Za-z_][\w.-]{0,63})[^{}\n]{0,64}\}/g;

export interface FoundPlaceholder {
  readonly name: string;
  readonly path: DocumentPath;
  /** In the text at that path. */
  readonly offset: number;
}

interface WithTexts extends SpecSources {
  readonly placeholders: readonly FoundPlaceholder[];
}

/** Every `${name}` in the texts of a spec. */
export function placeholdersIn(spec: Value): readonly FoundPlaceholder[] {
  const found: FoundPlaceholder[] = [];
  const path: (string | number)[] = [];
  const visit = (value: Value): void => {
    if (typeof value === 'string') {
      if (!value.includes('${')) return;
      for (const { 1: name = '', index } of value.matchAll(PLACEHOLDER))
        found.push({ name, path: [...path], offset: index });
    } else if (value instanceof Join) value.parts.forEach(visit);
    else if (typeof value === 'object' && value !== null && !isSpecial(value)) {
      for (const [key, part] of Object.entries<Value>(value)) {
        path.push(Array.isArray(value) ? Number(key) : key);
        visit(part);
        path.pop();
      }
    }
  };
  visit(spec);
  return found;
}

/**
 * A warning for each `${name}` in texts, at its first place: voxform does not resolve it. `{{ name }}` may be a placeholder of the
 * platform.
 * @param allowed names that are sent as they are; `*` matches any characters.
 */
export function placeholderFindings(resources: readonly WithTexts[], allowed: readonly string[]): Finding[] {
  const isAllowed = allowed.length === 0 ? () => false : picomatch([...allowed], { dot: true });
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

function findingAt(resource: SpecSources, { name, path, offset }: FoundPlaceholder): Finding {
  const message = `\${${name}} is sent as it is: insert { $var: ${name} } with $join, or list the name under literal_variables`;
  const finding = findingIn(resource, { code: 'unresolved-placeholder', message, path, at: 'value' });
  return { ...finding, severity: 'warning', ...(finding.place && { place: { ...finding.place, offset } }) };
}
