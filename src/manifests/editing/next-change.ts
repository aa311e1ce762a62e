import { diffArrays } from 'diff';
import { isAlias, isMap, isScalar, isSeq, type Node, type Pair, type YAMLMap, type YAMLSeq } from 'yaml';
import { isObject, type Json, type JsonObject, jsonEqual } from '../../values/json.ts';
import type { DocumentPath } from '../finding.ts';
import { CannotEdit, type Proposal, UNSAFE } from './change.ts';
import { addToBlockMap, addToFlow, insertIntoBlockList, removeFromBlock, removeFromFlow } from './edit-collection.ts';
import { replaceNode } from './edit-value.ts';
import { type Collection, type NodePlace, nodeOf, placeOfItem, placeOfPair, type TextSource } from './node-place.ts';

interface Comparison<T> {
  readonly current: T;
  /** The desired value, which differs only at the path. */
  readonly value: T;
  readonly path: DocumentPath;
}

/**
 * Returns the next change that brings a document closer to the desired value; undefined if it has that value.
 * @throws CannotEdit
 */
export function nextChange(node: Node | null, source: TextSource, comparison: Comparison<Json>): Proposal | undefined {
  const place = { source, path: [], flow: source.json, column: -1, lead: 0, isItem: false };
  return firstChange(node, place, comparison);
}

/** Returns the change for the first difference between a node and its desired value. */
function firstChange(
  node: Node | null,
  place: NodePlace,
  { current, value, path }: Comparison<Json>,
): Proposal | undefined {
  if (jsonEqual(current, value)) return undefined;
  if (node === null) throw new CannotEdit('the field has no value in the file');
  // The next part is undefined at the end of the path.
  const next = path[place.path.length];
  if (isAlias(node) && next !== undefined) {
    throw new CannotEdit(`the value is part of the alias *${node.source}, which is used elsewhere in the file`);
  }
  if (isMap(node) && isObject(current) && isObject(value)) {
    const sharesKeys = Object.keys(current).some((key) => Object.hasOwn(value, key));
    const maps = { current: current as JsonObject, value: value as JsonObject, path };
    if (next !== undefined || sharesKeys) return changeInMap(node, place, maps);
  }
  if (isSeq(node) && Array.isArray(current) && Array.isArray(value)) {
    const lists = { current, value, path };
    if (typeof next === 'number') return changeInItem(node, [next, next], { ...lists, place });
    if (current.length > 0 && value.length > 0) return changeInList(node, place, lists);
  }
  return {
    change: { kind: 'set', path: place.path, value },
    splices: replaceNode(node, value, place),
  };
}

function changeInMap(
  map: YAMLMap,
  place: NodePlace,
  { current, value, path }: Comparison<JsonObject>,
): Proposal | undefined {
  const keys = Object.keys(current).filter((key) => !jsonEqual(current[key], value[key]));
  const changed = keys.find((key) => Object.hasOwn(value, key));
  const added = Object.keys(value).find((key) => !Object.hasOwn(current, key));
  const key = changed ?? keys[0] ?? added ?? '';
  const pair = pairOf(map, key);
  if (changed !== undefined && pair !== undefined) {
    const inner = { current: current[key] as Json, value: value[key] as Json, path };
    return firstChange(nodeOf(pair.value), placeOfPair(map, pair, place), inner);
  }
  if (changed === undefined && keys.length > 0) {
    if (pair !== undefined) return removePair(map, pair, place);
    const subject = path.length > place.path.length ? 'the value' : 'a part of the value';
    throw new CannotEdit(`${subject} is merged with << from an object that is used elsewhere in the file`);
  }
  // A new value here would hide the other parts of a merged value.
  if (changed !== undefined && path.length > place.path.length + 1) throw new CannotEdit(UNSAFE);
  const change = { kind: 'set', path: [...place.path, key], value: value[key] as Json } as const;
  return { change, splices: addPair(map, { key, value: change.value, place }) };
}

function changeInList(
  list: YAMLSeq,
  place: NodePlace,
  { current, value, path: goal }: Comparison<readonly Json[]>,
): Proposal | undefined {
  let [before, after] = [0, 0];
  for (const [a, b] of [...alignment(current, value), [current.length, value.length] as const]) {
    if (before < a && after < b) return changeInItem(list, [before, after], { current, value, path: goal, place });
    const path = [...place.path, before];
    if (before < a) return { change: { kind: 'remove', path }, splices: removeEntry(list, before, place) };
    if (after < b) {
      const item = { index: before, value: value[after] as Json };
      const splices = list.flow ? addToFlow(list, item, place) : insertIntoBlockList(list, item, place);
      return { change: { kind: 'insert', path, value: item.value }, splices };
    }
    [before, after] = [a + 1, b + 1];
  }
  return undefined;
}

/** @param indices the indices of the item in the current and in the desired list. */
function changeInItem(
  list: YAMLSeq,
  [before, after]: readonly [number, number],
  { current, value, path, place }: Comparison<readonly Json[]> & { readonly place: NodePlace },
): Proposal | undefined {
  const inner = { current: current[before] as Json, value: value[after] as Json, path };
  return firstChange(nodeOf(list.items[before]), placeOfItem(list, before, place), inner);
}

function addPair(
  map: YAMLMap,
  { key, value, place }: { key: string; value: Json; place: NodePlace },
): Proposal['splices'] {
  const first = map.items[0]?.key;
  const style = isScalar(first) && first.type !== 'PLAIN' ? first.type : undefined;
  if (map.flow) return addToFlow(map, { key, value, style }, place);
  return addToBlockMap(map, { key, value, style }, place);
}

function removePair(map: YAMLMap, pair: Pair, place: NodePlace): Proposal {
  const key = isScalar(pair.key) ? String(pair.key.value) : '';
  const change = { kind: 'remove', path: [...place.path, key] } as const;
  if (map.items.length === 1) return { change, splices: replaceNode(map, {}, place) };
  return { change, splices: removeEntry(map, map.items.indexOf(pair), place) };
}

function removeEntry(node: Collection, index: number, place: NodePlace): Proposal['splices'] {
  return node.flow ? removeFromFlow(node, index, place) : removeFromBlock(node, index, place);
}

/** Returns the pair with this key. A merge key is not a key of the object itself. */
function pairOf(map: YAMLMap, key: string): Pair | undefined {
  return map.items.find(
    (pair) => isScalar(pair.key) && pair.key.value === key && !(key === '<<' && pair.key.type === 'PLAIN'),
  );
}

/** The maximum number of differing items. Lists with more differences are not aligned, because that takes quadratic time. */
const MAX_DIFFERENCES = 1000;

/** Returns the longest common subsequence of two lists, as pairs of indices. */
export function alignment(before: readonly Json[], after: readonly Json[]): [number, number][] {
  const options = { comparator: jsonEqual, maxEditLength: MAX_DIFFERENCES };
  const pairs: [number, number][] = [];
  let [a, b] = [0, 0];
  for (const { added, removed, count } of diffArrays([...before], [...after], options) ?? []) {
    if (removed) a += count;
    else if (added) b += count;
    else for (let item = 0; item < count; item++) pairs.push([a++, b++]);
  }
  return pairs;
}
