/** The contexts of expressions: `github`, `inputs`, `steps`, `secrets`, `needs`. */
export type Contexts = Readonly<Record<string, unknown>>;

/** The status of the previous steps or jobs. */
export interface Status {
  readonly failed: boolean;
}

type Value = string | number | boolean | object;

const token = /\s+|'(?:[^']|'')*'|\|\||&&|==|!=|[!()]|[A-Za-z_][\w-]*\(\)|[A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*)*|,|\d+/y;

/**
 * Evaluates the part of GitHub's expression language that the kit uses, whose operators are those of JavaScript.
 * Throws for the rest.
 */
function evaluate(text: string, contexts: Contexts, { failed }: Status): Value {
  const functions: Readonly<Record<string, boolean>> = {
    'always()': true,
    'cancelled()': false,
    'failure()': failed,
    'success()': !failed,
  };
  const read = (name: string): unknown => {
    const [context = '', ...path] = name.split('.');
    if (name in functions) return functions[name];
    if (name === 'contains') return (text: string, part: string) => text.toLowerCase().includes(part.toLowerCase());
    if (!(context in contexts)) throw new Error(`there is no context or function ${name}`);
    let value = contexts[context];
    for (const key of path) value = (value as Readonly<Record<string, unknown>> | null | undefined)?.[key];
    // Null and '' are equal in this language.
    return value ?? '';
  };
  let code = '';
  for (token.lastIndex = 0; token.lastIndex < text.length; ) {
    const from = token.lastIndex;
    const [found] = token.exec(text) ?? [];
    if (found === undefined) throw new Error(`cannot read ${JSON.stringify(text.slice(from))}`);
    if (found.startsWith("'")) code += JSON.stringify(found.slice(1, -1).replaceAll("''", "'"));
    else if (/^[A-Za-z_]/.test(found) && !/^(true|false)$/.test(found)) code += `read(${JSON.stringify(found)})`;
    else code += found;
  }
  return new Function('read', `return ${code}`)(read) as Value;
}

/** Returns a string with its `${{ }}` expressions replaced. */
export function filled(text: string, contexts: Contexts, status: Status): string {
  return text.replace(/\$\{\{([\s\S]*?)\}\}/g, (_, inner: string) => shown(evaluate(inner, contexts, status)));
}

/** Returns whether a step or job with this `if` runs. After a failure, it only runs if the condition tests the status. */
export function isDue(condition: string | undefined, contexts: Contexts, status: Status): boolean {
  const inner = (condition ?? 'success()').trim().replace(/^\$\{\{([\s\S]*)\}\}$/, '$1');
  const asks = /\b(always|failure|cancelled|success)\(\)/.test(inner);
  return (asks || !status.failed) && Boolean(evaluate(inner, contexts, status));
}

function shown(value: Value): string {
  if (typeof value === 'object') throw new Error('an object in the place of a text');
  return String(value);
}
