import { UserError } from '../problems/user-error.ts';
import { agent } from './agent.ts';
import type { Kind, Lookup } from './kind.ts';
import { knowledgeBase } from './knowledge-base.ts';
import { phoneNumber } from './phone-number.ts';
import { webhook } from './webhook.ts';
import { workspaceUser } from './workspace-user.ts';

/** Every kind that a manifest can declare, by name. */
export const kinds: ReadonlyMap<string, Kind> = byName([agent, phoneNumber, webhook, workspaceUser]);

/** Kinds of records that a `$ref` can name but no manifest can declare, by name. */
export const lookups: ReadonlyMap<string, Lookup> = byName([knowledgeBase]);

function byName<T extends { readonly name: string }>(members: readonly T[]): ReadonlyMap<string, T> {
  return new Map(members.map((member) => [member.name, member]));
}

/** @throws UserError for an unknown kind, which a state or a saved plan of a newer version may contain. */
export function kindNamed(name: string): Kind {
  const kind = kinds.get(name);
  if (kind !== undefined) return kind;
  throw new UserError(`unknown kind ${name}; this version supports ${[...kinds.keys()].join(', ')}`, {
    hint: 'Use the voxform version that wrote the state or the plan.',
  });
}
