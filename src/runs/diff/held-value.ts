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

/** What is known of one managed field of a record. May hold secrets: for comparing, not for showing. */
export interface Held {
  /** The value with references as addresses; undefined where nobody knows it. */
  readonly value: Json | undefined;
  /** False where the platform does not show it. */
  readonly verified: boolean;
  /** In place of a value that is only remembered as a secret. */
  readonly fingerprint: string | undefined;
  /** True where the value is secret, or was. */
  readonly sensitive: boolean;
}

export interface HeldField {
  readonly kind: Kind;
  readonly path: LeafPath;
  /** All that either workspace's manifest refers to there. */
  readonly refs: readonly Reference[];
}

/** The managed value that the manifests have for a field; undefined where they leave it alone. */
export function desiredAt(
  member: Member,
  { kind, path }: Pick<HeldField, 'kind' | 'path'>,
): Value | undefined {
  return leavesOf(kind, member.resource.spec).get(path);
}

/** What the record has: as the platform shows it, else as it was sent last. */
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

/** The secret of the manifest, where it is what was sent. */
function secretSent(
  side: Side,
  { desired, recorded }: { desired: Value | undefined; recorded: Json | undefined },
): Json | undefined {
  if (desired === undefined || recorded === undefined) return undefined;
  const complete = withReferences(desired, (reference) => side.idOf(reference));
  if (references(complete).length > 0) return undefined;
  return jsonEqual(mask(complete, side.fingerprints), recorded) ? declaredValue(desired) : undefined;
}

/** The value that the manifests have, with references as addresses and secrets revealed: for comparing, not for showing. */
export function declaredValue(desired: Value): Json {
  return revealed(withReferences(desired, (reference) => reference.address));
}

/** The value with ids turned into the addresses that they have in this workspace. */
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
