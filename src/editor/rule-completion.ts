import { MACROS } from '../policies/cel/call.ts';
import { functions, methods } from '../policies/cel/functions.ts';
import { type Type, typeName } from '../policies/cel/types.ts';
import { variablesOf } from '../policies/rule-variables.ts';
import { isObject } from '../values/json.ts';
import type { FileRole } from './snapshot.ts';
import type { TextCursor } from './text-cursor.ts';

/** A possible word in the condition of a rule. */
interface RuleWord {
  readonly name: string;
  readonly detail: string;
  readonly isFunction: boolean;
}

interface RuleCursor {
  readonly words: readonly RuleWord[];
  /** The typed start of the word. */
  readonly typed: string;
}

/** The maximum number of characters before the cursor that are analyzed. */
const MAX_ANALYZED_LENGTH = 500;

const CHAIN = /((?:[A-Za-z_]\w*(?:\[[^\][]*\])*\.)*)([A-Za-z_]\w*)?$/;
const BINDING = /([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)\.(?:all|exists|exists_one|map|filter)\(\s*([A-Za-z_]\w*)\s*,/g;

/** Returns undefined if the cursor is not in a condition. */
export function ruleCursor(role: FileRole, { path, value, typed, isBlock }: TextCursor): RuleCursor | undefined {
  const [first, index, last] = path;
  if (role === 'manifest' || first !== 'policies' || path.length !== 3) return undefined;
  if (last !== 'deny' && last !== 'warn') return undefined;
  const rules = isObject(value) && Array.isArray(value.policies) ? value.policies : [];
  const rule: unknown = rules[Number(index)];
  const { on, kind } = isObject(rule) ? rule : {};
  const variables = variablesOf(on === 'plan' ? 'plan' : 'manifest', typeof kind === 'string' ? kind : undefined);
  const text = isBlock ? typed.slice(typed.indexOf('\n') + 1) : typed;
  const before = text.slice(-MAX_ANALYZED_LENGTH).replace(/"[^"]*"|'[^']*'/g, '_');
  const [, chain = '', word = ''] = CHAIN.exec(before) ?? [];
  // The cursor is in a string literal.
  if (/["']/.test(before)) return { words: [], typed: word };
  const known = new Map(variables);
  for (const [, list = '', name = ''] of before.matchAll(BINDING)) known.set(name, itemOf(typeAt(list, known)));
  if (chain === '')
    return {
      words: [...fieldWords(known), ...functionWords([...Object.keys(functions), 'has', 'isSecret'])],
      typed: word,
    };
  const type = typeAt(chain.slice(0, -1), known);
  return { words: wordsOf(type), typed: word };
}

function wordsOf(type: Type): readonly RuleWord[] {
  if (type.is === 'object') return fieldWords(type.fields);
  const applicable = Object.entries(methods).filter(([, overloads]) =>
    overloads.some(({ takes: [receiver] }) => receiver === type.is),
  );
  const macros = type.is === 'list' || type.is === 'map' ? MACROS : [];
  return functionWords([...macros, ...applicable.map(([name]) => name)]);
}

function fieldWords(fields: ReadonlyMap<string, Type>): RuleWord[] {
  return [...fields].map(([name, type]) => ({ name, detail: typeName(type), isFunction: false }));
}

function functionWords(names: readonly string[]): RuleWord[] {
  return names.map((name) => ({ name, detail: 'function', isFunction: true }));
}

function typeAt(chain: string, known: ReadonlyMap<string, Type>): Type {
  const steps = chain.match(/[A-Za-z_]\w*|\[[^\][]*\]/g) ?? [];
  return steps.reduce<Type>((type, step) => (step.startsWith('[') ? itemOf(type) : fieldOf(type, step)), {
    is: 'object',
    fields: known,
  });
}

function fieldOf(type: Type, name: string): Type {
  if (type.is === 'map') return type.of;
  return (type.is === 'object' ? type.fields.get(name) : undefined) ?? { is: 'any' };
}

function itemOf(type: Type): Type {
  return type.is === 'list' || type.is === 'map' ? type.of : { is: 'any' };
}
