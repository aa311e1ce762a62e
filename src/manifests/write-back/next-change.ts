import { isAlias, isMap, isScalar, isSeq, type Node, type Pair, type YAMLMap, type YAMLSeq } from 'yaml';
import { isObject, type Json, type JsonObject, jsonEqual } from '../../values/json.ts';
import type { DocumentPath } from '../finding.ts';
import { alignment } from './alignment.ts';
import { CannotEdit, type Proposal } from './change.ts';
import { addToBlockMap, insertIntoBlockList, removeFromBlockList, removeFromBlockMap } from './edit-block.ts';
import { addToFlow, removeFromFlow } from './edit-flow.ts';
import { replaceNode } from './edit-value.ts';
import type { NodePlace } from './node-place.ts';
import type { TextSource } from './text-source.ts';

export interface Wanted {
  readonly path: DocumentPath;
  /** Undefined where nothing is to be there. */
  readonly value: Json | undefined;
}

/**
 * What must be changed next so that `wanted` becomes true; undefined where it is. `current` is what the document says now.
 * @throws CannotEdit
 */
export function nextChange(
  root: { readonly node: Node; readonly current: Json; readonly source: TextSource },
  wanted: Wanted,
): Proposal | undefined {
  let node: Node | null = root.node;
  let current: Json | undefined = root.current;
  let place: NodePlace = {
    source: root.source,
    path: [],
    flow: root.source.json,
    column: -1,
    lead: 0,
    isItem: false,
  };
  for (const [depth, part] of wanted.path.entries()) {
    const rest = wanted.path.slice(depth + 1);
    if (isAlias(node)) {
      throw new CannotEdit(`it stands inside *${node.source}, which other places of the file share`);
    }
    if (isMap(node)) {
      const pair = pairOf(node, String(part));
      const own = isObject(current) && Object.hasOwn(current, String(part)) ? current[part] : undefined;
      if (pair === undefined)
        return missing(node, place, { part: String(part), rest, own: own as Json, wanted });
      if (wanted.value === undefined && rest.length === 0) return removal(node, pair, place);
      current = own as Json;
      place = placeOfPair(node, pair, place);
      node = nodeOf(pair.value);
    } else if (isSeq(node) && typeof part === 'number' && part < node.items.length) {
      current = Array.isArray(current) ? current[part] : undefined;
      place = placeOfItem(node, part, place);
      node = nodeOf(node.items[part]);
    } else if (wanted.value === undefined) return undefined;
    else {
      const value = nested([part, ...rest], wanted.value);
      return replacement(node, value, place);
    }
    if (node === null) throw new CannotEdit('it has no value in the file');
  }
  if (wanted.value === undefined) return undefined;
  return difference(node as Node, { current: current ?? null, value: wanted.value, place });
}

interface Missing {
  readonly part: string;
  readonly rest: DocumentPath;
  /** What is merged in at the key. */
  readonly own: Json | undefined;
  readonly wanted: Wanted;
}

function missing(map: YAMLMap, place: NodePlace, { part, rest, own, wanted }: Missing): Proposal | undefined {
  if (wanted.value === undefined) {
    if (own === undefined) return undefined;
    throw new CannotEdit('it is merged in with <<, which other places of the file share');
  }
  const value = nested(rest, wanted.value);
  if (jsonEqual(own, value)) return undefined;
  const change = { kind: 'set', path: [...place.path, part, ...rest], value: wanted.value } as const;
  return { change, alternatives: adding(map, { key: part, value, place }) };
}

function nested(path: DocumentPath, value: Json): Json {
  return path.reduceRight<Json>((inner, part) => ({ [part]: inner }), value);
}

function adding(
  map: YAMLMap,
  { key, value, place }: { key: string; value: Json; place: NodePlace },
): Proposal['alternatives'] {
  const first = map.items[0]?.key;
  const style = isScalar(first) && first.type !== 'PLAIN' ? first.type : undefined;
  if (map.flow) return addToFlow(map, { key, value, style }, place);
  return addToBlockMap(map, { key, value, style }, place);
}

function removal(map: YAMLMap, pair: Pair, place: NodePlace): Proposal {
  const index = map.items.indexOf(pair);
  const key = isScalar(pair.key) ? String(pair.key.value) : '';
  const change = { kind: 'remove', path: [...place.path, key] } as const;
  if (map.items.length === 1) return { change, alternatives: replaceNode(map, {}, place) };
  return {
    change,
    alternatives: [map.flow ? removeFromFlow(map, index, place) : removeFromBlockMap(map, index, place)],
  };
}

interface Differing {
  readonly current: Json;
  readonly value: Json;
  readonly place: NodePlace;
}

/** The first difference between what a node says and what it is to say. */
function difference(node: Node, { current, value, place }: Differing): Proposal | undefined {
  if (jsonEqual(current, value)) return undefined;
  const sharesKeys =
    isObject(current) && Object.keys(current).some((key) => isObject(value) && Object.hasOwn(value, key));
  if (isMap(node) && isObject(value) && isObject(current) && sharesKeys) {
    return inMap(node, { current: current as JsonObject, value: value as JsonObject, place });
  }
  if (
    isSeq(node) &&
    Array.isArray(value) &&
    Array.isArray(current) &&
    value.length > 0 &&
    current.length > 0
  ) {
    return inList(node, { current, value, place });
  }
  return replacement(node, value, place);
}

function replacement(node: Node | null, value: Json, place: NodePlace): Proposal {
  if (node === null) throw new CannotEdit('it has no value in the file');
  return { change: { kind: 'set', path: place.path, value }, alternatives: replaceNode(node, value, place) };
}

interface DifferingMaps {
  readonly current: JsonObject;
  readonly value: JsonObject;
  readonly place: NodePlace;
}

function inMap(map: YAMLMap, { current, value, place }: DifferingMaps): Proposal | undefined {
  for (const key of Object.keys(current)) {
    if (!Object.hasOwn(value, key) || jsonEqual(current[key], value[key])) continue;
    const pair = pairOf(map, key);
    const wanted = { path: [key], value: value[key] as Json };
    if (pair === undefined) {
      return missing(map, place, { part: key, rest: [], own: current[key] as Json, wanted });
    }
    const node = nodeOf(pair.value);
    if (node === null) throw new CannotEdit('it has no value in the file');
    const inner = { current: current[key] as Json, value: value[key] as Json };
    return difference(node, { ...inner, place: placeOfPair(map, pair, place) });
  }
  for (const key of Object.keys(current)) {
    if (Object.hasOwn(value, key)) continue;
    const pair = pairOf(map, key);
    if (pair === undefined)
      throw new CannotEdit('a part of it is merged in with <<, which other places of the file share');
    return removal(map, pair, place);
  }
  const added = Object.keys(value).find((key) => !Object.hasOwn(current, key));
  if (added === undefined) return undefined;
  const wanted = { path: [added], value: value[added] as Json };
  return missing(map, place, { part: added, rest: [], own: undefined, wanted });
}

function inList(
  list: YAMLSeq,
  { current, value, place }: { current: readonly Json[]; value: readonly Json[]; place: NodePlace },
): Proposal | undefined {
  let [before, after] = [0, 0];
  for (const [a, b] of [...alignment(current, value), [current.length, value.length] as const]) {
    if (before < a && after < b) {
      const node = nodeOf(list.items[before]);
      if (node === null) throw new CannotEdit('an item of it has no value in the file');
      const inner = { current: current[before] as Json, value: value[after] as Json };
      return difference(node, { ...inner, place: placeOfItem(list, before, place) });
    }
    const path = [...place.path, before];
    if (before < a) {
      const splices = list.flow
        ? removeFromFlow(list, before, place)
        : removeFromBlockList(list, before, place);
      return { change: { kind: 'remove', path }, alternatives: [splices] };
    }
    if (after < b) {
      const item = value[after] as Json;
      const alternatives = list.flow
        ? addToFlow(list, { index: before, value: item }, place)
        : insertIntoBlockList(list, { index: before, value: item }, place);
      return { change: { kind: 'insert', path, value: item }, alternatives };
    }
    [before, after] = [a + 1, b + 1];
  }
  return undefined;
}

function pairOf(map: YAMLMap, key: string): Pair | undefined {
  return map.items.find((pair) => isScalar(pair.key) && pair.key.value === key && !isMergeKey(pair));
}

function isMergeKey({ key }: Pair): boolean {
  return isScalar(key) && key.value === '<<' && key.type === 'PLAIN';
}

function nodeOf(value: unknown): Node | null {
  return isScalar(value) || isMap(value) || isSeq(value) || isAlias(value) ? value : null;
}

function placeOfPair(map: YAMLMap, pair: Pair, { source, path, flow }: NodePlace): NodePlace {
  const key = isScalar(pair.key) ? pair.key : undefined;
  const start = key?.range?.[0] ?? 0;
  const colon = pair.srcToken?.sep?.find(({ type }) => type === 'map-value-ind');
  return {
    source,
    path: [...path, String(key?.value)],
    flow: flow || map.flow === true,
    column: source.column(start),
    lead: colon === undefined ? (key?.range?.[1] ?? 0) : colon.offset + 1,
    isItem: false,
  };
}

function placeOfItem(list: YAMLSeq, index: number, { source, path, flow }: NodePlace): NodePlace {
  const dash = dashOf(list, index);
  return {
    source,
    path: [...path, index],
    flow: flow || list.flow === true,
    column: dash === undefined ? 0 : source.column(dash),
    lead: dash === undefined ? 0 : dash + 1,
    isItem: true,
  };
}

function dashOf(list: YAMLSeq, index: number): number | undefined {
  const token = list.srcToken;
  if (token?.type !== 'block-seq') return undefined;
  return token.items[index]?.start.find(({ type }) => type === 'seq-item-ind')?.offset;
}
