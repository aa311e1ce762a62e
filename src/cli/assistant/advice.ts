import { isObject, type Json, mapParts } from '../../values/json.ts';
import { tools } from './tools.ts';

/** Replaces commands and flags in the hints of an error with tools and their arguments, because an assistant does not run commands. */
export function withAdvice(error: Json): Json {
  const changed = mapParts<Json, Json>(error, withAdvice);
  return isObject(changed) && typeof changed.hint === 'string' ? { ...changed, hint: adviceIn(changed.hint) } : changed;
}

/** Matches a command in a hint, and "Run" before it, up to a comma, semicolon, sentence or line end, or "or", "and" or "to". */
const COMMAND = /\b(?:([Rr])un:? )?voxform ([a-z]+)((?: (?!or\b|and\b|to\b)[^\s,;]*[^\s,;.])*)/g;

function adviceIn(hint: string): string {
  return hint
    .replace(/\bRun voxform [a-z]+ --help for usage\b/, "See the tool's input schema")
    .replace(/\b(p)ass [^,.]* with -C DIR\b/i, (_, first: string) => {
      return `${first === 'P' ? 'Ask' : 'ask'} a person to start this server in the folder of the project`;
    })
    .replace(COMMAND, (_, run: string | undefined, name: string, rest: string) => {
      const call = callOf(name, rest);
      const verb = call === undefined ? 'ask a person to run' : 'use';
      const lead = run === 'R' ? `${verb[0]?.toUpperCase()}${verb.slice(1)} ` : run === 'r' ? `${verb} ` : '';
      return `${lead}${call ?? `voxform ${name}${rest}`}`;
    })
    .replace(/(?:-w|--workspace) NAME\b/g, 'the argument workspace');
}

/** Returns a call such as `the tool get with type: calls, from: 2026-01-01`; undefined if no tool corresponds to the command. */
function callOf(name: string, rest: string): string | undefined {
  const tool = Object.hasOwn(tools, name) ? tools[name] : undefined;
  if (tool === undefined) return undefined;
  const operands = [...(tool.operands ?? [])];
  const values: string[] = [];
  const words = rest.split(' ').filter((word) => word !== '');
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    const flag = word === '-w' ? 'workspace' : /^--([a-z]+)$/.exec(word)?.[1];
    const argument = flag ?? operands.shift();
    if (argument === undefined || !Object.hasOwn(tool.input.shape, argument)) return undefined;
    values.push(`${argument}: ${flag === undefined ? word : (words.shift() ?? 'true')}`);
  }
  return `the tool ${name}${values.length === 0 ? '' : ` with ${values.join(', ')}`}`;
}
