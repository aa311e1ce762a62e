/** What expressions may read: `github`, `inputs`, `steps`, `secrets`, `needs`. */
export type Contexts = Readonly<Record<string, unknown>>;

/** How the steps or jobs before ended. */
export interface Status {
  readonly failed: boolean;
}

type Value = string | number | boolean | null | object;

const token = /\s*(\|\||&&|==|!=|[!().]|'(?:[^']|'')*'|[A-Za-z_][\w-]*|\d+)/y;

/** The value of an expression in GitHub's language, as far as the kit uses it. Throws for the rest. */
export function evaluate(text: string, contexts: Contexts, status: Status): Value {
  const tokens: string[] = [];
  token.lastIndex = 0;
  const source = text.trimEnd();
  while (token.lastIndex < source.length) {
    const from = token.lastIndex;
    const found = token.exec(source)?.[1];
    if (found === undefined) throw new Error(`cannot read ${JSON.stringify(source.slice(from))}`);
    tokens.push(found);
  }
  const parser = new Parser(tokens, contexts, status);
  const value = parser.or();
  if (parser.next !== undefined) throw new Error(`unexpected ${parser.next} in ${text}`);
  return value;
}

/** A text with its `${{ }}` filled in. */
export function filled(text: string, contexts: Contexts, status: Status): string {
  return text.replace(/\$\{\{([\s\S]*?)\}\}/g, (_, inner: string) =>
    shown(evaluate(inner, contexts, status)),
  );
}

/** Whether a step or job with this `if` runs: after a failure only if the condition asks how things went. */
export function isDue(condition: string | undefined, contexts: Contexts, status: Status): boolean {
  const inner = (condition ?? 'success()').trim().replace(/^\$\{\{([\s\S]*)\}\}$/, '$1');
  const asks = /\b(always|failure|cancelled|success)\(\)/.test(inner);
  return (asks || !status.failed) && isTrue(evaluate(inner, contexts, status));
}

export function isTrue(value: Value): boolean {
  return value !== null && value !== '' && value !== 0 && value !== false;
}

function shown(value: Value): string {
  if (value === null) return '';
  if (typeof value === 'object') throw new Error('an object in the place of a text');
  return String(value);
}

class Parser {
  readonly #tokens: readonly string[];
  readonly #contexts: Contexts;
  readonly #status: Status;
  #at = 0;

  constructor(tokens: readonly string[], contexts: Contexts, status: Status) {
    this.#tokens = tokens;
    this.#contexts = contexts;
    this.#status = status;
  }

  get next(): string | undefined {
    return this.#tokens[this.#at];
  }

  or(): Value {
    let left = this.#and();
    while (this.#took('||')) {
      const right = this.#and();
      left = isTrue(left) ? left : right;
    }
    return left;
  }

  #and(): Value {
    let left = this.#comparison();
    while (this.#took('&&')) {
      const right = this.#comparison();
      left = isTrue(left) ? right : left;
    }
    return left;
  }

  #comparison(): Value {
    const left = this.#unary();
    if (this.#took('==')) return areEqual(left, this.#unary());
    if (this.#took('!=')) return !areEqual(left, this.#unary());
    return left;
  }

  #unary(): Value {
    if (this.#took('!')) return !isTrue(this.#unary());
    if (this.#took('(')) {
      const value = this.or();
      this.#expect(')');
      return value;
    }
    const word = this.next ?? '';
    this.#at++;
    if (word.startsWith("'")) return word.slice(1, -1).replaceAll("''", "'");
    if (/^\d/.test(word)) return Number(word);
    if (word === 'true' || word === 'false') return word === 'true';
    if (this.#took('(')) {
      this.#expect(')');
      return this.#statusOf(word);
    }
    return this.#property(word);
  }

  #property(context: string): Value {
    if (!(context in this.#contexts)) throw new Error(`there is no context ${context}`);
    let value: unknown = this.#contexts[context];
    while (this.#took('.')) {
      const key = this.next ?? '';
      this.#at++;
      value = (value as Readonly<Record<string, unknown>> | null | undefined)?.[key];
    }
    return (value ?? null) as Value;
  }

  #statusOf(name: string): boolean {
    const { failed } = this.#status;
    const answers: Readonly<Record<string, boolean>> = {
      always: true,
      cancelled: false,
      failure: failed,
      success: !failed,
    };
    const answer = answers[name];
    if (answer === undefined) throw new Error(`there is no function ${name}`);
    return answer;
  }

  #took(wanted: string): boolean {
    const isThere = this.next === wanted;
    if (isThere) this.#at++;
    return isThere;
  }

  #expect(wanted: string): void {
    if (!this.#took(wanted)) throw new Error(`expected ${wanted}, found ${this.next}`);
  }
}

/** Texts compare without case; of two types, the numbers they stand for compare: null and '' are both 0. */
function areEqual(left: Value, right: Value): boolean {
  if (typeof left === 'string' && typeof right === 'string')
    return left.toLowerCase() === right.toLowerCase();
  if (typeof left === typeof right && left !== null && right !== null) return left === right;
  return numberOf(left) === numberOf(right);
}

function numberOf(value: Value): number {
  return typeof value === 'object' && value !== null ? Number.NaN : Number(value ?? 0);
}
