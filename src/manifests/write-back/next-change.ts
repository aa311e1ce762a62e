import { isAlias, isMap, isScalar, isSeq, type Node, type Pair, type YAMLMap, type YAMLSeq } from 'yaml';
import { isObject, type Json, type JsonObject, jsonEqual } from '../../values/json.ts';
import type { DocumentPath } from '../finding.ts';
import { alignment } from './alignment.ts';
import { CannotEdit, type Proposal, UNSAFE } from './change.ts';
import { addToBlockMap, insertIntoBlockList, removeFromBlock } from './edit-block.ts';
import { addToFlow, removeFromFlow } from './edit-flow.ts';
import { replaceNode } from './edit-value.ts';
import { type Collection, type NodePlace, nodeOf, placeOfItem, placeOfPair } from './node-place.ts';
import type { TextSource } from './text-source.ts';

interface Root {
  readonly node: Node | null;
  readonly source: TextSource;
  /** What the document says. */
  readonly current: Json;
  /** What it is to say, which differs at the path only. */
  readonly value: Json;
  readonly path: DocumentPath;
}

/**
 * What must be changed next so that a document says what it is to say; undefined where it does.
 * @throws CannotEdit
 */
export function nextChange({ node, source, current, value, path }: Root): Proposal | undefined {
  const place = { source, path: [], flow: source.json, column: -1, lead: 0, isItem: false };
  return new Comparison(path).difference(node, { current, value, place });
}

interface Differing<T> {
  readonly current: T;
  readonly value: T;
  readonly place: NodePlace;
}

class Comparison {
  readonly #path: DocumentPath;

  constructor(path: DocumentPath) {
    this.#path = path;
  }

  /** The part of the path that leads on from a place; undefined where the path ends there. */
  #next({ path }: NodePlace): string | number | undefined {
    return this.#path[path.length];
  }

  /** The first difference between what a node says and what it is to say. */
  difference(node: Node | null, { current, value, place }: Differing<Json>): Proposal | undefined {
    if (jsonEqual(current, value)) return undefined;
    if (node === null) throw new CannotEdit('it has no value in the file');
    const next = this.#next(place);
    if (isAlias(node) && next !== undefined) {
      throw new CannotEdit(`it stands inside *${node.source}, which other places of the file share`);
    }
    if (isMap(node) && isObject(current) && isObject(value)) {
      const sharesKeys = Object.keys(current).some((key) => Object.hasOwn(value, key));
      const maps = { current: current as JsonObject, value: value as JsonObject, place };
      if (next !== undefined || sharesKeys) return this.#inMap(node, maps);
    }
    if (isSeq(node) && Array.isArray(current) && Array.isArray(value)) {
      const lists = { current, value, place };
      if (typeof next === 'number') return this.#inItem(node, [next, next], lists);
      if (current.length > 0 && value.length > 0) return this.#inList(node, lists);
    }
    return {
      change: { kind: 'set', path: place.path, value },
      splices: replaceNode(node, value, place),
    };
  }

  #inMap(map: YAMLMap, { current, value, place }: Differing<JsonObject>): Proposal | undefined {
    const keys = Object.keys(current).filter((key) => !jsonEqual(current[key], value[key]));
    const changed = keys.find((key) => Object.hasOwn(value, key));
    const added = Object.keys(value).find((key) => !Object.hasOwn(current, key));
    const key = changed ?? keys[0] ?? added ?? '';
    const pair = pairOf(map, key);
    const isOnTheWay = this.#next(place) !== undefined;
    if (changed !== undefined && pair !== undefined) {
      const inner = { current: current[key] as Json, value: value[key] as Json };
      return this.difference(nodeOf(pair.value), { ...inner, place: placeOfPair(map, pair, place) });
    }
    if (changed === undefined && keys.length > 0) {
      if (pair !== undefined) return removal(map, pair, place);
      const what = isOnTheWay ? 'it' : 'a part of it';
      throw new CannotEdit(`${what} is merged in with <<, which other places of the file share`);
    }
    // What is merged in has other parts beside the one that is meant.
    if (changed !== undefined && this.#path.length > place.path.length + 1) throw new CannotEdit(UNSAFE);
    const change = { kind: 'set', path: [...place.path, key], value: value[key] as Json } as const;
    return { change, splices: adding(map, { key, value: change.value, place }) };
  }

  #inList(list: YAMLSeq, { current, value, place }: Differing<readonly Json[]>): Proposal | undefined {
    let [before, after] = [0, 0];
    for (const [a, b] of [...alignment(current, value), [current.length, value.length] as const]) {
      if (before < a && after < b) return this.#inItem(list, [before, after], { current, value, place });
      const path = [...place.path, before];
      if (before < a) return { change: { kind: 'remove', path }, splices: removing(list, before, place) };
      if (after < b) {
        const item = { index: before, value: value[after] as Json };
        const splices = list.flow ? addToFlow(list, item, place) : insertIntoBlockList(list, item, place);
        return { change: { kind: 'insert', path, value: item.value }, splices };
      }
      [before, after] = [a + 1, b + 1];
    }
    return undefined;
  }

  /** @param indices of the item now and in the list as it is to be. */
  #inItem(
    list: YAMLSeq,
    [before, after]: readonly [number, number],
    { current, value, place }: Differing<readonly Json[]>,
  ): Proposal | undefined {
    const inner = { current: current[before] as Json, value: value[after] as Json };
    return this.difference(nodeOf(list.items[before]), { ...inner, place: placeOfItem(list, before, place) });
  }
}

function adding(
  map: YAMLMap,
  { key, value, place }: { key: string; value: Json; place: NodePlace },
): Proposal['splices'] {
  const first = map.items[0]?.key;
  const style = isScalar(first) && first.type !== 'PLAIN' ? first.type : undefined;
  if (map.flow) return addToFlow(map, { key, value, style }, place);
  return addToBlockMap(map, { key, value, style }, place);
}

function removal(map: YAMLMap, pair: Pair, place: NodePlace): Proposal {
  const key = isScalar(pair.key) ? String(pair.key.value) : '';
  const change = { kind: 'remove', path: [...place.path, key] } as const;
  if (map.items.length === 1) return { change, splices: replaceNode(map, {}, place) };
  return { change, splices: removing(map, map.items.indexOf(pair), place) };
}

function removing(node: Collection, index: number, place: NodePlace): Proposal['splices'] {
  return node.flow ? removeFromFlow(node, index, place) : removeFromBlock(node, index, place);
}

/** A merge key is none of the object's own. */
function pairOf(map: YAMLMap, key: string): Pair | undefined {
  return map.items.find(
    (pair) => isScalar(pair.key) && pair.key.value === key && !(key === '<<' && pair.key.type === 'PLAIN'),
  );
}
