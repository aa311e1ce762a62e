import { isObject, type Json, mapParts } from '../../values/json.ts';
import { tools } from './tools.ts';

/** An error whose hints name tools and their arguments in place of commands and flags, which an assistant does not type. */
export function withAdvice(error: Json): Json {
  const changed = mapParts<Json, Json>(error, withAdvice);
  return isObject(changed) && typeof changed.hint === 'string' ? { ...changed, hint: adviceIn(changed.hint) } : changed;
}

/** A command line in a text, with "Run" before it: it ends with the line, a sentence or a comma. */
const COMMAND = /\b(?:([Rr])un:? )?voxform ([a-z]+)((?: (?!or\b|and\b|to\b)[^\s,;]*[^\s,;.])*)/g;

function adviceIn(hint: string): string {
  return hint
    .replace(COMMAND, (_, run: string | undefined, name: string, rest: string) => {
      const call = callOf(name, rest);
      const verb = call === undefined ? 'ask a person to run' : 'use';
      const lead = run === 'R' ? `${verb[0]?.toUpperCase()}${verb.slice(1)} ` : run === 'r' ? `${verb} ` : '';
      return `${lead}${call ?? `voxform ${name}${rest}`}`;
    })
    .replace(/(?:-w|--workspace) NAME\b/g, 'the argument workspace');
}

/** `get with type: calls, from: 2026-01-01`; undefined if no tool does this. */
function callOf(name: string, rest: string): string | undefined {
  const tool = Object.hasOwn(tools, name) ? tools[name] : undefined;
  if (tool === undefined) return undefined;
  const operands = [...(tool.operands ?? [])];
  const given: string[] = [];
  const words = rest.split(' ').filter((word) => word !== '');
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    const flag = word === '-w' ? 'workspace' : /^--([a-z]+)$/.exec(word)?.[1];
    const argument = flag ?? operands.shift();
    if (argument === undefined || !Object.hasOwn(tool.input.shape, argument)) return undefined;
    given.push(`${argument}: ${flag === undefined ? word : (words.shift() ?? 'true')}`);
  }
  return `the tool ${name}${given.length === 0 ? '' : ` with ${given.join(', ')}`}`;
}
