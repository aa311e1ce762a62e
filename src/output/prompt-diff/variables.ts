import { listed } from '../address-list.ts';

/** The placeholders that a text is filled into when a call begins, e.g. `{{customer_name}}`. */
const placeholder = /\{\{\s*([^{}\n]{1,80}?)\s*\}\}/g;
/** How many are named before the rest is counted. */
const named = 6;

/** What became of the variables of a text, a few words each; empty where it has the same ones. */
export function variableNotes(before: string, after: string): string[] {
  const [old, now] = [variablesIn(before), variablesIn(after)];
  const came = [...now].filter((name) => !old.has(name));
  const went = [...old].filter((name) => !now.has(name));
  return [
    ...(came.length === 0 ? [] : [`new ${listed(came, named)}`]),
    ...(went.length === 0 ? [] : [`no longer ${listed(went, named)}`]),
  ];
}

function variablesIn(text: string): ReadonlySet<string> {
  return new Set([...text.matchAll(placeholder)].map(([, name = '']) => `{{${name}}}`));
}
