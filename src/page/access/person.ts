import { type Role, roles } from '../../operator/roles.ts';
import type { ActionName, FreezeAction } from '../page-data.ts';

export interface Person {
  readonly name: string;
  readonly role: Role;
  /** The `sub` claim of a person who signed in with a provider. */
  readonly subject?: string;
}

const requiredRoles: Readonly<Record<ActionName | FreezeAction, Role>> = {
  run: 'approver',
  approve: 'approver',
  reject: 'approver',
  pause: 'admin',
  resume: 'admin',
  'close-orphan': 'admin',
  'compare-calls': 'approver',
  freeze: 'admin',
  unfreeze: 'admin',
};

export function mayPerform(person: Person | undefined, action: ActionName | FreezeAction): boolean {
  return person !== undefined && roles.indexOf(person.role) >= roles.indexOf(requiredRoles[action]);
}
