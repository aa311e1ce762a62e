import { z } from 'zod';
import { about, lazyLooseObject, lazyStrictObject } from '../../values/described.ts';
import { anyFlag, anyText, anything, nameField } from './record-fields.ts';

export const userRoles = ['owner', 'admin', 'developer', 'member'] as const;
export const userModules = ['agents', 'knowledge_base', 'phone_numbers', 'call_history', 'analytics'] as const;

export const userRequest = lazyStrictObject(() => ({
  role: z.enum(userRoles).meta(about('Role of the user in the workspace.', 'member')),
  modules: z
    .array(z.enum(userModules))
    .meta(about('Modules of the user. The order is ignored.', ['agents', 'call_history']))
    .optional(),
  agent_ids: z
    .array(z.string())
    .meta(
      about('Agents that the user may access, as { $ref: Agent/<name> }. The order is ignored.', [
        { $ref: 'Agent/support-line' },
      ]),
    )
    .optional(),
}));

export const userRecord = lazyLooseObject(() => ({
  id: z.string().min(1),
  name: anything(),
  email: nameField(z.string()),
  role: anyText(),
  is_owner: anyFlag(),
  modules: anything(),
  agent_ids: anything(),
  workspace_id: anyText(),
}));

export type UserRequest = z.infer<ReturnType<typeof userRequest>>;
export type UserRecord = z.infer<ReturnType<typeof userRecord>>;
