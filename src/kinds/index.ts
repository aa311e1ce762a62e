import { agent } from './agent.ts';
import type { Kind, Lookup } from './kind.ts';
import { knowledgeBase } from './knowledge-base.ts';
import { phoneNumber } from './phone-number.ts';
import { webhook } from './webhook.ts';
import { workspaceUser } from './workspace-user.ts';

/** Every kind that a manifest can declare, by name. */
export const kinds: ReadonlyMap<string, Kind> = byName([agent, phoneNumber, webhook, workspaceUser]);

/** Everything else that a `$ref` can name. */
export const lookups: ReadonlyMap<string, Lookup> = byName([knowledgeBase]);

function byName<T extends { readonly name: string }>(members: readonly T[]): ReadonlyMap<string, T> {
  return new Map(members.map((member) => [member.name, member]));
}
