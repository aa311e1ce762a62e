import path from 'node:path';
import { realPathOf } from '../files/input-files.ts';
import type { Fix } from '../problems/diagnostic.ts';
import { nearestCandidate, suggestion } from '../problems/suggest.ts';
import type { Json, JsonObject } from '../values/json.ts';
import { lazy } from '../values/lazy.ts';
import {
  isPlain,
  isSymbolic,
  Join,
  joined,
  Reference,
  Secret,
  symbolicLeaves,
  Unset,
  type Value,
} from '../values/value.ts';
import { type Problem, quoted } from './finding.ts';
import { type LookupNames, nameOnPlatform } from './kind-schema.ts';
import { isInside, readTextFile, reasonOf, withoutFinalNewline } from './read-file.ts';
import { parseAddress } from './resource.ts';
import {
  type Environment,
  isPlaceholder,
  placeholderProblem,
  type Result,
  type SecretReader,
} from './secret-reader.ts';

export interface FormsContext {
  readonly inputs: Inputs;
  /** Returns the absolute path of the folder that a `$file` in this form is relative to. */
  readonly folderOf: (form: JsonObject) => string;
  /** The kinds that a `$ref` may name. Undefined if they are not known yet. */
  readonly refKinds: readonly string[] | undefined;
  readonly lookupNames?: LookupNames | undefined;
  /** False while evaluating the variables themselves. */
  readonly mayUseVars?: boolean;
}

interface Evaluation {
  readonly value: Value;
  /** True if a leaf is a secret, a reference or another symbolic value. */
  readonly hasSymbolicLeaf: boolean;
  readonly problems: readonly Problem[];
}

/** Matches a secret name. The name may become a file name, so it must not be a path. */
const SECRET_NAME = /^[A-Za-z0-9_][A-Za-z0-9_.-]*$/;
const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Returns true for a valid secret name. A valid name is not a path, so its file is always inside `secrets_dir`. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name);
}

export const EXAMPLES: Readonly<Record<string, string>> = {
  $ref: 'Agent/support-line',
  $secret: 'OPENAI_API_KEY',
  $env: 'REGION',
  $file: 'prompts/support.md',
  $var: 'company',
  $join: '[ … ]',
  $literal: '…',
};

/** The optional second key of a form. */
const SECOND_KEY: Readonly<Record<string, string>> = { $env: 'default', $join: 'separator' };

/** The maximum length of a joined text in characters. A `$join` may name the same large file any number of times. */
const MAX_JOINED_LENGTH = 4 * 1024 * 1024;

/** Evaluates the forms in a value. A value without forms is returned without copying. Never throws. */
export function evaluateForms(raw: Json, context: FormsContext): Evaluation {
  const evaluator = new Evaluator(context);
  const value = evaluator.value(raw);
  return { value, hasSymbolicLeaf: evaluator.hasSymbolicLeaf, problems: evaluator.problems };
}

class Evaluator {
  readonly problems: Problem[] = [];
  hasSymbolicLeaf = false;
  readonly #context: FormsContext;
  readonly #path: (string | number)[] = [];

  constructor(context: FormsContext) {
    this.#context = context;
  }

  /** Copies only values that contain a form. */
  value(raw: Json): Value {
    if (typeof raw !== 'object' || raw === null) return raw;
    const isList = Array.isArray(raw);
    const items = raw as { readonly [key: string]: Json };
    let copy: Record<string, Value> | undefined;
    for (const key of Object.keys(raw)) {
      if (!isList && key.startsWith('$')) return this.#form(items);
      const item = items[key] as Json;
      const value = this.#under(isList ? Number(key) : key, item);
      if (value === item) continue;
      copy ??= (isList ? [...raw] : { ...raw }) as Record<string, Value>;
      copy[key] = value;
    }
    return copy ?? raw;
  }

  #under(part: string | number, item: Json): Value {
    if (typeof item !== 'object' || item === null) return item;
    this.#path.push(part);
    const value = this.value(item);
    this.#path.pop();
    return value;
  }

  #form(raw: JsonObject): Value {
    const keys = Object.keys(raw);
    const forms = keys.filter((key) => key.startsWith('$'));
    const unknown = forms.find((key) => !Object.hasOwn(EXAMPLES, key));
    if (unknown !== undefined) {
      const near = suggestion(unknown, Object.keys(EXAMPLES));
      const message = `unknown value form ${quoted(unknown)}${near.text || '; to keep the object as it is, put it under $literal'}`;
      return this.#fail('unknown-form', message, unknown, near.fix);
    }
    const form = forms[0] ?? '';
    const extra = keys.find((key) => key !== form && key !== SECOND_KEY[form]);
    if (extra !== undefined) {
      const secondKey = SECOND_KEY[form];
      const near = suggestion(extra, secondKey === undefined || Object.hasOwn(raw, secondKey) ? [] : [secondKey]);
      const only = secondKey === undefined ? 'the only key' : `the only key except ${secondKey}`;
      const message = `${form} must be ${only}${near.text || `; remove ${quoted(extra)}`}`;
      return this.#fail('bad-form', message, extra, near.fix);
    }
    const value = this.#evaluate(form, raw);
    if (!this.hasSymbolicLeaf && (isSymbolic(value) || form === '$var')) this.hasSymbolicLeaf = !isPlain(value);
    return value;
  }

  #evaluate(form: string, raw: JsonObject): Value {
    const argument = raw[form];
    if (form === '$literal') return argument as Json;
    if (form === '$join') return this.#join(raw);
    if (typeof argument !== 'string' || argument === '') {
      return this.#fail('bad-form', `${form} needs a string, such as { ${form}: ${EXAMPLES[form] ?? 'name'} }`, form);
    }
    switch (form) {
      case '$ref':
        return this.#reference(argument);
      case '$secret':
        return this.#secret(argument);
      case '$env':
        return this.#variable(argument, raw.default);
      case '$file':
        return this.#valueOf(form, this.#context.inputs.file(this.#context.folderOf(raw), argument));
      default:
        return this.#var(argument);
    }
  }

  #reference(address: string): Value {
    const { refKinds, lookupNames } = this.#context;
    const parsed = parseAddress(address);
    if (parsed === undefined) {
      const hint = address.startsWith('#') ? '; put a JSON Schema under $literal' : '';
      return this.#fail(
        'bad-reference',
        `$ref needs Kind/name, such as Agent/support-line, got ${quoted(address)}${hint}`,
        '$ref',
      );
    }
    if (refKinds !== undefined && !refKinds.includes(parsed.kind)) {
      const near = suggestion(parsed.kind, refKinds);
      const kind = nearestCandidate(parsed.kind, refKinds);
      const message = `$ref names the unknown kind ${quoted(parsed.kind)}${near.text}`;
      const fix = kind === undefined ? undefined : { instead: [`${kind}/${parsed.name}`] };
      return this.#fail('bad-reference', message, '$ref', fix);
    }
    const { kind, name } = parsed;
    return new Reference(kind, name, nameOnPlatform(lookupNames, kind, name));
  }

  #secret(name: string): Value {
    if (!isSecretName(name)) {
      const message = `$secret needs a name of letters, digits, "_", "-" and ".", got ${quoted(name)}`;
      return this.#fail('bad-form', message, '$secret');
    }
    return this.#valueOf('$secret', this.#context.inputs.secret(name));
  }

  #variable(name: string, fallback: Json | undefined): Value {
    if (!VARIABLE_NAME.test(name)) {
      const message = `$env needs a name of letters, digits and "_", got ${quoted(name)}`;
      return this.#fail('bad-form', message, '$env');
    }
    if (fallback !== undefined && typeof fallback !== 'string') {
      return this.#fail('bad-form', 'default must be a string; put it in quotes', 'default');
    }
    return this.#valueOf('$env', this.#context.inputs.variable(name, fallback));
  }

  #var(name: string): Value {
    if (this.#context.mayUseVars === false) {
      return this.#fail('bad-form', 'a variable cannot use another variable', '$var');
    }
    const { vars, mustBeSet } = this.#context.inputs.sources;
    if (!Object.hasOwn(vars, name)) {
      const near = suggestion(name, Object.keys(vars));
      const message = `the workspace has no variable ${quoted(name)} under vars${near.text}`;
      return this.#fail('missing-var', message, '$var', near.fix);
    }
    const value = vars[name] as Value;
    if (mustBeSet) {
      const missing = symbolicLeaves(value).find(
        (leaf) => leaf instanceof Unset || (leaf instanceof Secret && !leaf.isSet),
      );
      if (missing instanceof Secret)
        return this.#fail('missing-secret', `the secret ${missing.name} is not set`, '$var');
      if (missing instanceof Unset) {
        return this.#fail('missing-variable', `the environment variable ${missing.name} is not set`, '$var');
      }
    }
    return value;
  }

  #join(raw: JsonObject): Value {
    const { $join: items, separator = '\n\n' } = raw;
    if (!Array.isArray(items)) return this.#fail('bad-form', '$join needs a list of strings', '$join');
    if (typeof separator !== 'string') return this.#fail('bad-form', 'separator must be a string', 'separator');
    this.#path.push('$join');
    const parts = items.map((item: Json, index) => {
      const part = this.#under(index, item);
      if (part !== null && (typeof part !== 'object' || isSymbolic(part))) return part;
      this.#path.push(index);
      const standIn = this.#fail('bad-form', '$join can only join strings');
      this.#path.pop();
      return standIn;
    });
    this.#path.pop();
    if (parts.length * separator.length + lengthOf(parts) > MAX_JOINED_LENGTH)
      return this.#fail('too-long', '$join makes a text of more than 4 MiB', '$join');
    return joined(parts, separator);
  }

  #valueOf<T extends Value>(form: string, result: { readonly value: T } | { code: string; message: string }): Value {
    return 'value' in result ? result.value : this.#fail(result.code, result.message, form);
  }

  /** Reports a problem and returns a stand-in, so that the rest of the value can be checked. */
  #fail(code: string, message: string, key?: string, fix?: Fix): Value {
    const path = key === undefined ? [...this.#path] : [...this.#path, key];
    const at =
      key === undefined || EXAMPLES[key] !== undefined || key === 'default' || key === 'separator' ? 'value' : 'key';
    this.problems.push({ code, message, path, at, fix });
    this.hasSymbolicLeaf = true;
    return new Unset('');
  }
}

/** Returns the number of characters of texts, including the parts of joined texts whose value is not known yet. */
function lengthOf(parts: readonly Value[]): number {
  return parts.reduce<number>((length, part) => {
    if (part instanceof Join) return length + part.parts.length * part.separator.length + lengthOf(part.parts);
    return typeof part === 'string' ? length + part.length : length;
  }, 0);
}

interface InputSources {
  /** The real path of the project folder. */
  readonly root: string;
  readonly env: Environment;
  /** The secrets of the workspace. They must already have been read. */
  readonly secrets: SecretReader;
  /** The secrets of all workspaces of the project. `$file` must not read the files of these secrets. */
  readonly allSecrets?: readonly SecretReader[];
  readonly vars: Readonly<Record<string, Value>>;
  /** True for settings that control where API keys go. Their `$env` may name any variable: they must not change while a server runs. */
  readonly areSettings?: boolean;
  /** True if an unset secret or variable is an error. If false, a placeholder for any string is used instead. */
  readonly mustBeSet: boolean;
}

/** Matches files that may hold secrets: `.env` files, and all files in `.git`, whose `config` may contain the token of a CI job. */
const SECRET_FILE = /(^|\/)\.(env(rc|\.[^/]*)?$|git\/)/i;

/** Returns a predicate for the real paths of files that may hold secrets. `$file` must not read them. */
export function secretFiles(root: string, readers: readonly SecretReader[]): (real: string) => boolean {
  const secretPathsOf = lazy(() => new Set(readers.flatMap(({ secretPaths }) => secretPaths)));
  return (real) => {
    const secretPaths = secretPathsOf();
    return SECRET_FILE.test(pathFrom(root, real)) || secretPaths.has(real) || secretPaths.has(path.dirname(real));
  };
}

/** Looks up the environment variables, secrets and files that value forms name. */
export class Inputs {
  readonly sources: InputSources;
  readonly #files = new Map<string, Result<string>>();
  readonly #isSecret: (real: string) => boolean;
  #usedFiles = new Set<string>();

  constructor(sources: InputSources) {
    this.sources = sources;
    const { root, secrets, allSecrets = [] } = sources;
    this.#isSecret = secretFiles(root, [secrets, ...allSecrets]);
  }

  secret(name: string): Result<Secret> {
    const { secrets, mustBeSet } = this.sources;
    for (const file of secrets.filesOf(name)) this.#usedFiles.add(file);
    const problem = secrets.problem(name);
    const isValid = problem === undefined || (!mustBeSet && /^(missing|unread)-secret$/.test(problem.code));
    return isValid ? { value: secrets.named(name) } : problem;
  }

  variable(name: string, fallback: string | undefined): Result<string | Unset> {
    const { env, secrets, areSettings = false, mustBeSet } = this.sources;
    if (!areSettings && !secrets.permitsVariable(name)) {
      const message = `the environment variable ${name} was not used by any $env when this server started; restart the server`;
      return { code: 'unread-variable', message };
    }
    const value = env[name] ?? fallback;
    if (value !== undefined) {
      return isPlaceholder(value) ? placeholderProblem(`the environment variable ${name}`) : { value };
    }
    if (!mustBeSet) return { value: new Unset(name) };
    return { code: 'missing-variable', message: `the environment variable ${name} is not set` };
  }

  /** Runs `work`. Returns its result and the absolute paths of the files that `work` requested. */
  withUsedFiles<T>(work: () => T): { readonly result: T; readonly files: readonly string[] } {
    this.#usedFiles = new Set();
    return { result: work(), files: [...this.#usedFiles] };
  }

  /** Returns the value of a setting that is a `$secret` or `$env` form. */
  named(form: { readonly $secret: string } | { readonly $env: string }): Result<Secret | string | Unset> {
    return '$secret' in form ? this.secret(form.$secret) : this.variable(form.$env, undefined);
  }

  /** Returns the text of a file without its final newline. `relative` is a path relative to `folder`. */
  file(folder: string, relative: string): Result<string> {
    const { root } = this.sources;
    if (path.isAbsolute(relative)) return { code: 'outside-project', message: '$file needs a relative path' };
    const absolute = path.resolve(folder, relative);
    this.#usedFiles.add(absolute);
    return getOrCompute(this.#files, absolute, (file) => {
      const name = pathFrom(root, file);
      const outside = { code: 'outside-project', message: `$file: ${name} is outside the project folder` };
      if (!isInside(file, root)) return outside;
      if (name === '') return { code: 'not-a-file', message: '$file: expected a file, got the project folder' };
      try {
        const real = realPathOf(file);
        if (!isInside(real, root)) return outside;
        if (this.#isSecret(real)) {
          const message = `$file: ${name} may hold secrets; use { $secret: NAME } for a secret, or move the text to another file`;
          return { code: 'secret-file', message };
        }
      } catch (error) {
        return { code: 'unreadable-file', message: `$file: ${name} cannot be read: ${reasonOf(error)}` };
      }
      const read = readTextFile(file);
      if ('text' in read) return { value: withoutFinalNewline(read.text) };
      return { code: read.problem.code, message: `$file: ${name}: ${read.problem.message}` };
    });
  }
}

function pathFrom(root: string, file: string): string {
  return path.relative(root, file).replaceAll(path.sep, '/');
}

function getOrCompute<T>(cache: Map<string, T>, key: string, compute: (key: string) => T): T {
  const known = cache.get(key);
  if (known !== undefined) return known;
  const value = compute(key);
  cache.set(key, value);
  return value;
}
