import { isFingerprint } from '../../engine/decide/compare.ts';
import { leavesOf, ruleOf, shownAt } from '../../engine/decide/field-rules.ts';
import { plainOf, recordedOf } from '../../engine/decide/state-entry.ts';
import type { Kind } from '../../kinds/kind.ts';
import { isMasked, mask } from '../../state/fingerprint.ts';
import { type Json, jsonEqual, mapParts } from '../../values/json.ts';
import type { LeafPath } from '../../values/path.ts';
import {
  isTainted,
  type Reference,
  references,
  revealed,
  type Value,
  withReferences,
} from '../../values/value.ts';
import type { Member, Side } from './side.ts';

/** A managed field of a record. May contain secrets: it must not be shown. */
export interface Held {
  /** The value with references as addresses; undefined if unknown. */
  readonly value: Json | undefined;
  /** False if the platform does not show it. */
  readonly verified: boolean;
  /** Replaces the value if the state has only its fingerprint. */
  readonly fingerprint: string | undefined;
  /** True if the value is or was secret. */
  readonly sensitive: boolean;
}

export interface HeldField {
  readonly kind: Kind;
  readonly path: LeafPath;
  /** The references of both manifests in this field. */
  readonly refs: readonly Reference[];
}

/** The value in the manifests; undefined if the field is not managed. */
export function desiredAt(
  member: Member,
  { kind, path }: Pick<HeldField, 'kind' | 'path'>,
): Value | undefined {
  return leavesOf(kind, member.resource.spec).get(path);
}

/** The value of the record as shown by the platform, else as last sent. */
export function heldAt(side: Side, member: Member, field: HeldField): Held {
  const { kind, path } = field;
  const rule = ruleOf(kind, path);
  const desired = desiredAt(member, field);
  const recorded = recordedOf(member.entry, path);
  const sensitive =
    rule.writeOnly === true || isMasked(recorded) || (desired !== undefined && isTainted(desired));
  const shown = shownAt(kind, member.record, path);
  if (shown !== undefined) {
    return {
      value: byAddress(shown as Json, side, field),
      verified: true,
      fingerprint: undefined,
      sensitive,
    };
  }
  const fingerprint = isFingerprint(recorded) ? recorded.$fingerprint : undefined;
  const sent = plainOf(recorded);
  const value = sent === undefined ? secretSent(side, { desired, recorded }) : byAddress(sent, side, field);
  return { value, verified: false, fingerprint, sensitive };
}

/** The secret of the manifest, if it was the last one sent. */
function secretSent(
  side: Side,
  { desired, recorded }: { desired: Value | undefined; recorded: Json | undefined },
): Json | undefined {
  if (desired === undefined || recorded === undefined) return undefined;
  const complete = withReferences(desired, (reference) => side.idOf(reference));
  if (references(complete).length > 0) return undefined;
  return jsonEqual(mask(complete, side.fingerprints), recorded) ? declaredValue(desired) : undefined;
}

/** The value in the manifests, with references as addresses and secrets revealed. It must not be shown. */
export function declaredValue(desired: Value): Json {
  return revealed(withReferences(desired, (reference) => reference.address));
}

/** The value with addresses instead of ids. */
function byAddress(value: Json, side: Side, { kind, path, refs }: HeldField): Json {
  const { refersTo } = ruleOf(kind, path);
  const named = new Map(refs.map((reference) => [side.idOf(reference), reference.address]));
  const translated = (text: string): string => {
    if (refersTo !== undefined) return side.addressOf(refersTo, text) ?? text;
    let result = text;
    for (const [id, address] of named) if (id !== undefined) result = result.replaceAll(id, address);
    return result;
  };
  return mapTexts(value, translated);
}

function mapTexts(value: Json, map: (text: string) => string): Json {
  if (typeof value === 'string') return map(value);
  return mapParts<Json, Json>(value, (part) => mapTexts(part, map));
}
